"""Questions of an attempt to people: what its code asks, and approvals of calls.

A question has a key like a step: a later attempt that asks under the same key finds the open question or its answer.
While it waits, the attempt holds no slot. See docs/reference/function-agents.md.
"""

import json
from collections.abc import Sequence
from typing import TypedDict

from engine.core.decide.people.asking import (
    ALLOW_ALWAYS,
    ALLOW_ONCE,
    ALLOWING_ANSWERS,
    APPROVE,
    REJECT_ALWAYS,
    REJECT_ONCE,
)
from engine.core.queries.people.grants import AskedCall, find_grant
from engine.core.records.records import JsonValue
from engine.core.records.values import StoredValue, as_text, preview
from engine.core.signals import AskGivenUp, PersonAsked, PersonKind
from engine.core.specs.guard import describe_guard
from engine.core.state import Grant, ParkedFor
from engine.core.validation.bounds import MAX_DURATION_S
from engine.errors import AttemptInterrupted, NotShown, ToolRejected
from engine.host.built_in.guards import requires_approval
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.attempt_slot import AttemptSlot
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.services import of_attempt
from engine.runtimes.values import clean, shown_whole, without_secrets

LONGEST_QUESTION = 2_000
"""Characters of a question; longer ones are cut."""
FOUR_OPTIONS = [ALLOW_ONCE, ALLOW_ALWAYS, REJECT_ONCE, REJECT_ALWAYS]
MOST_OPTIONS = 20
OPTION_CHARACTERS = 200


class Question(TypedDict):
    """A question to a person, with its default."""

    question: str
    options: list[str]
    default: str | None
    due_s: float | None


def checked_question(question: str, options: list[str], default: str | None, due_s: float | None) -> Question:
    """Return a checked question of an agent's code.

    Raises:
        ValueError: If it cannot be answered, or its deadline is invalid; one line.
    """
    if not question.strip():
        raise ValueError("ctx.ask: say what a person is asked")
    if len(options) > MOST_OPTIONS or any(not 0 < len(option.strip()) <= OPTION_CHARACTERS for option in options):
        raise ValueError(f"ctx.ask: give at most {MOST_OPTIONS} options, of 1 to {OPTION_CHARACTERS} characters each")
    if len(set(options)) != len(options):
        raise ValueError(f"ctx.ask: the options {', '.join(options)} are not all different")
    if default is not None and options and default not in options:
        raise ValueError(f"ctx.ask: the default {default!r} is none of the options {', '.join(options)}")
    if (default is None) != (due_s is None):
        raise ValueError("ctx.ask: give default and due_s together: the default is the answer after due_s seconds")
    if due_s is not None and not 0 < due_s <= MAX_DURATION_S:
        raise ValueError(f"ctx.ask: due_s must be a number above 0, at most {MAX_DURATION_S:,}, not {due_s!r}")
    return Question(question=question, options=options, default=default, due_s=due_s)


def approval_question(agent: str, tool: str, arguments: JsonValue) -> str:
    """Return the question whether an agent may call a tool, with the beginning of the arguments.

    The inbox shows them whole (`dashboard/views/drawing/call_lines.py`).
    """
    return f"{agent} wants to call {tool} with {preview(json.dumps(arguments, ensure_ascii=False), 300)}"


class AttemptQuestions:
    """The questions of one attempt."""

    def __init__(self, attempt: Attempt, slot: AttemptSlot) -> None:
        self._attempt = attempt
        self._slot = slot
        self._effect = attempt.effect
        self._pending: dict[str, Pending[StoredValue]] = {}
        """Open questions, by key."""

    async def ask(
        self,
        key: str,
        question: str,
        options: Sequence[str] = (),
        default: str | None = None,
        due_s: float | None = None,
        *,
        kind: PersonKind = "ask",
        detail: dict[str, JsonValue] | None = None,
    ) -> str:
        """Ask a person and wait for the answer without a slot.

        Args:
            key: Key of the question within the task, stable across attempts (`Attempt.key`).
            question: One line, for a person to read.
            options: Possible answers; none lets the person write a text.
            default: The answer if none is given in time; one of `options`, if there are any.
            due_s: Time limit for the person, in seconds; None waits without limit.
            kind: Kind of the question, for the inbox.
            detail: Details to show in the inbox.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop meanwhile; the question stays for the next one.
        """
        attempt = self._attempt
        attempt.raise_if_over()
        if attempt.is_recorded(key):
            return as_text(await attempt.recorded_output(key))
        attempt.raise_if_stopping()  # the core ignores the question then, so the wait would never end
        pending: Pending[StoredValue] = attempt.open_wait()
        attempt.stoppable_waits[id(pending)] = self._pending[key] = pending
        until_ms = None if due_s is None else attempt.now_ms() + round(due_s * 1000)
        signal = PersonAsked(
            **of_attempt(self._effect),
            key=key,
            kind=kind,
            question=" ".join(without_secrets(clean(question)).split())[:LONGEST_QUESTION],
            options=[clean(option) for option in options],
            default=default,
            due_s=due_s,
            detail=detail or {},
        )
        attempt.services.signal(signal, lambda error: self.accept_answer(key) if error is None else pending.fail(error))
        reason: ParkedFor = "ask" if kind == "ask" else "approval"
        async with self._slot.parked(reason, until_ms):
            try:
                answer = await pending.wait()
                await attempt.wait_state_written()  # `accept_answer` may have read the answer ahead of the disk
            except AttemptInterrupted:
                raise
            except BaseException:
                # The agent's code has cancelled the wait and may go on: nobody needs the answer, so withdraw the
                # question. If the attempt itself is stopped, the question stays open for the next attempt.
                if not (attempt.over or attempt.stopping or attempt.scope.cancel_called):
                    attempt.services.signal(AskGivenUp(**of_attempt(self._effect), key=key))
                raise
            finally:
                del attempt.stoppable_waits[id(pending)], self._pending[key]
        return as_text(await attempt.services.text(answer))

    def has_asked(self, key: str) -> bool:
        """Return whether an attempt has asked under this key; the answer may have come since this one began."""
        task = self._attempt.state.tasks.get(self._effect.task_id)
        return task is not None and (key in task.asks or key in task.steps)

    async def find_grant(self, tool: str, arguments: JsonValue) -> bool | None:
        """Return the standing permission for a call by this generation of the agent; None if there is none.

        It is on disk: a permission that is lost with the engine was never given.

        Raises:
            AttemptInterrupted: If the engine stops first.
        """
        grant = self._grant(tool, arguments)
        while grant is not None:
            await self._attempt.wait_state_written()
            checked_grant = grant
            grant = self._grant(tool, arguments)  # it may have ended meanwhile, and another one been given
            if grant is not None and grant.id == checked_grant.id:
                return grant.allows
        return None

    def _grant(self, tool: str, arguments: JsonValue) -> Grant | None:
        attempt, effect = self._attempt, self._effect
        call = AskedCall(effect.agent_id, effect.generation, tool, effect.task_id, effect.run_id, arguments)
        return find_grant(attempt.state, call, attempt.now_ms())

    async def approve(
        self,
        tool: str,
        arguments: JsonValue,
        rule: JsonValue,
        *,
        is_exact: bool = True,
        once: bool = False,
        due_s: float | None = None,
    ) -> None:
        """Wait until `tool` may be called, asking a person if the rule says so.

        Args:
            tool: Name of the tool, to which grants apply.
            arguments: What it is called with; shown whole, with the names of secrets in their place.
            rule: `never`, `always`, or a guard over the arguments for which a person is asked.
            is_exact: False if the call passes on more than JSON can show; then a guard cannot look at it.
            once: Offer no standing answer.
            due_s: Time limit for the person, in seconds; after it the call is rejected.

        Raises:
            ToolRejected: If the call is rejected.
            NotShown: If a person has to be asked and cannot be shown the arguments whole.
            AttemptInterrupted: If the attempt is asked to stop meanwhile.
        """
        # Before the rule is looked at: the occurrence is counted in every attempt, also if the rule has changed since.
        key = self._attempt.key(f"{APPROVE}{tool}", arguments)
        if rule in (None, "never"):
            return
        if rule != "always" and is_exact and not await requires_approval(rule, arguments):
            return
        is_allowed = await self.find_grant(tool, arguments)
        if is_allowed is None:
            try:
                shown_args, has_secret = shown_whole(arguments)
            except ValueError as error:
                raise NotShown(tool, str(error)) from error
            because = "" if rule == "always" else f" ({describe_guard(rule)})"
            answer = await self.ask(
                key,
                f"{approval_question(self._effect.agent, tool, shown_args)}{because}",
                [ALLOW_ONCE, REJECT_ONCE] if has_secret or once else FOUR_OPTIONS,
                REJECT_ONCE if due_s is not None else None,
                due_s,
                kind="approval",
                detail={"tool": tool, "arguments": shown_args},
            )
            is_allowed = answer in ALLOWING_ANSWERS
        if not is_allowed:
            raise ToolRejected(tool)

    def accept_answer(self, key: str) -> None:
        """Deliver the answer to a question, if there is one; called by the host."""
        pending, task = self._pending.get(key), self._attempt.state.tasks.get(self._effect.task_id)
        if pending is not None and task is not None and key in task.steps:
            pending.put(task.steps[key])
