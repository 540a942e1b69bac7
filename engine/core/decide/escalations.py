"""Questions to a person: asked, answered, answered by their default. What has ended asks no more (`fold.ending`).

What an answer means is said where the question is asked: each kind of question has its handler in `ON_ANSWER`.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from engine.core.commands import Answer
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.mint import Mint
from engine.core.errors import Refused
from engine.core.events import Escalated, EscalationAnswered, Event
from engine.core.fact import JsonValue
from engine.core.prompts import Answered
from engine.core.state import Escalation, State, Timer

OnAnswer: TypeAlias = Callable[[State, Answered, Context], list[Event]]
ON_ANSWER: dict[str, OnAnswer] = {}
"""What follows from an answer, by the kind of the question; each subject adds its own when `decide` is put together."""


def ask(
    state: State, ctx: Context, *, kind: str, subject: str, run_id: str | None, question: str, options: list[str],
    default: str | None = None, after_ms: int | None = None, detail: Mapping[str, JsonValue] | None = None,
    mint: Mint | None = None,
) -> Escalated:  # fmt: skip
    """Return the event that asks a person.

    Args:
        state: The state of the moment.
        ctx: Its time.
        kind: A key of `ON_ANSWER`.
        subject: Id of the task, run, agent or supervisor that it is about.
        run_id: The run that waits for it, if one does.
        question: One line: what happened, and what is to be decided.
        options: The answers that there are.
        default: The answer when nobody gives one in time.
        after_ms: How long to wait for a person, in milliseconds; None waits for ever.
        detail: What the handler of the kind needs besides.
        mint: Gives the id; the same one for all that a decision asks, because `state` does not change meanwhile.
    """
    return Escalated(
        escalation_id=(mint or Mint(state))("e"),
        kind=kind,
        subject=subject,
        run_id=run_id,
        task_id=subject if subject in state.tasks else None,
        question=question,
        options=options,
        default=default,
        due_ms=None if after_ms is None else ctx.now_ms + after_ms,
        detail=dict(detail or {}),
    )


def answer(state: State, command: Answer, ctx: Context) -> Applied:
    """Give a question its answer."""
    found = _found(state, command.escalation)
    if command.answer not in found.options:
        raise Refused(f"{command.answer!r} is no answer to {found.id}; say one of {', '.join(found.options)}")
    event = answered(found, command.answer, by="person", output=command.output)
    return Applied(
        events=[event],
        summary=f"answered {found.id}: {command.answer}",
        result={"escalation_id": found.id, "subject": found.subject},
    )


def _found(state: State, target: str) -> Escalation:
    an_id = target.removeprefix("@")
    if an_id in state.escalations:
        return state.escalations[an_id]
    for escalation in state.escalations.values():
        if escalation.subject == an_id:
            return escalation
    open_ones = ", ".join(state.escalations) or "none"
    raise Refused(f"no question {target!r} waits for an answer; there are: {open_ones}")


def answered(found: Escalation, said: str, *, by: str, output: JsonValue = None) -> EscalationAnswered:
    """Return the event that answers a question."""
    return EscalationAnswered(
        escalation_id=found.id,
        kind=found.kind,
        subject=found.subject,
        run_id=found.run_id,
        answer=said,
        output=output,
        by=by,
        detail=found.detail,
    )


def overdue(state: State, timer: Timer, ctx: Context) -> list[Event]:
    """Answer by the default what nobody answered in time."""
    found = state.escalations.get(timer.subject)
    if found is None or found.default is None:
        return []
    return [answered(found, found.default, by="default")]


def after_answer(state: State, prompt: Answered, ctx: Context) -> list[Event]:
    """Let follow what an answer means."""
    return ON_ANSWER[prompt.kind](state, prompt, ctx)
