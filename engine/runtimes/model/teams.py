"""Agents composed of others: `MultiAgent`, a team as one agent, and `ConversationAgent`, members that speak in turn.

Rule: work of a member is a delegation, an answer of the agent's own model is a turn. Both are recorded, so a later
attempt continues where the last one was interrupted.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.errors import DelegationFailed
from engine.host.built_in.joins import Result, concat
from engine.runtimes.attempts.steering import steers_key
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.task import TaskInput, with_earlier_results
from engine.runtimes.model.calls import run_concurrently
from engine.runtimes.model.conversation import Conversation
from engine.runtimes.model.errors import ModelStopped
from engine.runtimes.model.options import TalkOptions, TeamOptions
from engine.runtimes.model.output import SchemaMismatch, parse_output_in_thread


class MemberFailed(ModelStopped):
    """A member of a `MultiAgent` or `ConversationAgent` failed."""


class BadModerator(ModelStopped):
    """The moderator of a conversation did not name the next speaker."""


async def delegate_to(work: Work, member: str, text: str) -> JsonValue:
    """Delegate to a member and return its output.

    Raises:
        MemberFailed: If the member fails.
    """
    try:
        (answer,) = await work.delegations.ask("delegate", work.attempt.key(f"delegate:{member}", text), member, [text])
    except DelegationFailed as failure:
        work.attempt.raise_if_stopping()
        raise MemberFailed(f"{member}: {failure.reason}") from failure
    if answer.error is not None:
        raise MemberFailed(f"{member} failed: {answer.error}")
    return answer.output


AskModel: TypeAlias = Callable[[str, JsonValue], Awaitable[JsonValue]]
"""Asks the agent's own model, optionally for structured output."""


async def run_team(work: Work, options: TeamOptions, ask_model: AskModel | None) -> JsonValue:
    """Run a `MultiAgent`; if it has its own model, that gives the final answer."""
    request = as_text(await work.value())
    listener = _SteerListener(work)
    results = list[TaskInput]()
    if options.mode == "parallel":
        request = await listener.add_steers(request, partial(_has_delegated, work, options.team[0]))
        results = await _run_parallel(work, options.team, request)
    else:
        for name in options.team:
            request = await listener.add_steers(request, partial(_has_delegated, work, name, results=results))
            results.append(TaskInput(name, name, await delegate_to(work, name, with_earlier_results(request, results))))
    if ask_model is not None:
        request = await listener.add_steers(
            request, lambda text: _has_answered(work, with_earlier_results(text, results))
        )
        return await ask_model(with_earlier_results(request, results), work.spec.output)
    if options.mode == "sequential":
        return results[-1].output
    return concat([Result(result.agent, result.title, result.output) for result in results])


async def _run_parallel(work: Work, names: Sequence[str], request: str) -> list[TaskInput]:
    outputs: dict[int, JsonValue] = {}

    async def run(place: int, name: str) -> None:
        outputs[place] = await delegate_to(work, name, request)

    await run_concurrently([partial(run, place, name) for place, name in enumerate(names)])
    return [TaskInput(name, name, outputs[place]) for place, name in enumerate(names)]


async def run_talk(work: Work, options: TalkOptions, ask_model: AskModel | None) -> JsonValue:
    """Run a `ConversationAgent`, and return the transcript, or the final words of its moderator.

    Raises:
        BadModerator: If the moderator does not name the next speaker.
        MemberFailed: If a member fails.
    """
    talk = _Moderation(work, options, ask_model)
    listener = _SteerListener(work)
    text = as_text(await work.value())
    request = len(text)
    for turn in range(options.turns):
        name = options.speakers[turn % len(options.speakers)]
        text = await listener.add_steers(text, partial(talk.was_continued, name=None if talk.is_moderated else name))
        if talk.is_moderated:
            decision = await talk.ask_moderator(text)
            if decision["next"] == _NOBODY:
                return str(decision.get("say") or "") or text[request:].removeprefix("\n\n")
            name = str(decision["next"])
        words = as_text(await delegate_to(work, name, talk.speaker_prompt(text, name)))
        text = f"{text}\n\n{name}: {words}"
        if re.search(rf"(?<!\w){re.escape(options.end)}(?!\w)", words) is not None:
            break
    if talk.is_moderated:
        text = await listener.add_steers(text, partial(talk.was_continued, name=None, is_over=True))
        decision = await talk.ask_moderator(text, is_over=True)
        return str(decision.get("say") or "") or text[request:].removeprefix("\n\n")
    return text[request:].removeprefix("\n\n")


_NOBODY = "nobody"
"""The "next speaker" that ends the conversation."""


class _Moderation:
    """The questions to speakers and to the moderator.

    Args:
        ask_model: Asks its own model, which moderates if no member does.
    """

    def __init__(self, work: Work, options: TalkOptions, ask_model: AskModel | None) -> None:
        self._work = work
        self._options = options
        self._ask_model = ask_model
        self.is_moderated = ask_model is not None or options.moderator is not None

    def speaker_prompt(self, transcript: str, name: str) -> str:
        """Return the text for a speaker."""
        return f"{transcript}\n\nYou are {name}. Speak now; say {self._options.end} where it is all said."

    def was_continued(self, transcript: str, *, name: str | None, is_over: bool = False) -> bool:
        """Return whether an earlier attempt continued a transcript: with a speaker, or (None) with the moderator."""
        if name is not None:
            return _has_delegated(self._work, name, self.speaker_prompt(transcript, name))
        question, _ = self._question(transcript, is_over=is_over)
        if self._options.moderator is None:
            return _has_answered(self._work, question)
        return _has_delegated(self._work, self._options.moderator, question)

    async def ask_moderator(self, transcript: str, *, is_over: bool = False) -> dict[str, JsonValue]:
        """Return the moderator's decision: the next speaker, or the end and its result."""
        question, schema = self._question(transcript, is_over=is_over)
        if self._options.moderator is None and self._ask_model is not None:
            decision = await self._ask_model(question, schema)
        else:
            moderator = self._options.moderator or ""
            try:
                answer = await delegate_to(self._work, moderator, question)
                decision = await parse_output_in_thread(as_text(answer), schema)
            except SchemaMismatch as mismatch:
                raise BadModerator(f"{moderator} was to say who speaks next, and {mismatch}") from mismatch
        assert isinstance(decision, dict)
        return decision

    def _question(self, transcript: str, *, is_over: bool) -> tuple[str, dict[str, JsonValue]]:
        names: list[JsonValue] = [_NOBODY] if is_over else [*self._options.speakers, _NOBODY]
        schema: dict[str, JsonValue] = {
            "type": "object",
            "properties": {"next": {"type": "string", "enum": names}, "say": {"type": "string"}},
            "required": ["next"],
        }
        text = (
            f"{transcript}\n\nYou moderate. Answer with JSON alone:"
            f' {{"next": who speaks next, one of {json.dumps(names)}, "say": what has come of it, where nobody does}}.'
        )
        return text, schema


class _SteerListener:
    """Messages of people to a composed agent: taken before the next member or its own model is asked."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._turn = 0

    async def add_steers(self, text: str, was_sent: Callable[[str], bool]) -> str:
        """Return a text with the messages since the last turn.

        Args:
            text: The text for the next member.
            was_sent: Returns whether an earlier attempt has sent this text; then newer messages have to come later.
        """
        self._turn += 1
        if not self._work.attempt.is_recorded(steers_key(self._turn)) and was_sent(text):
            return text
        steers = await self._work.steering.take_steers(self._turn)
        return "\n\n".join([text, *(f"A person says: {steer}" for steer in steers)])


def _has_delegated(work: Work, member: str, text: str, *, results: Sequence[TaskInput] = ()) -> bool:
    """Return whether an earlier attempt has asked a member the same, with the same results before it."""
    key = work.attempt.next_key(f"delegate:{member}", with_earlier_results(text, [*results]))
    return work.delegations.has_delegated(key)


def _has_answered(work: Work, text: str) -> bool:
    """Return whether the agent's own model has answered a text in an earlier attempt."""
    conversation = Conversation()
    conversation.begin(text)
    return work.attempt.is_recorded(work.attempt.next_key("turn:1", conversation.digest))
