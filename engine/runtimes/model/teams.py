"""Agents made of others: `MultiAgent`, a team as one agent, and `ConversationAgent`, members who speak in turn.

Rule: what a member does is a delegation, what the model of the agent itself says is a turn; both are recorded, so an
attempt that goes on comes to where the one before it was cut off.
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
from engine.runtimes.attempts.people import steers_key
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.task import TaskInput, in_context
from engine.runtimes.model.calls import at_once
from engine.runtimes.model.conversation import Conversation
from engine.runtimes.model.errors import ModelStopped
from engine.runtimes.model.options import TalkOptions, TeamOptions
from engine.runtimes.model.output import Unfit, fits


class MemberFailed(ModelStopped):
    """A member of a `MultiAgent` or `ConversationAgent` failed."""


class BadModerator(ModelStopped):
    """The moderator of a conversation did not name the next speaker."""


async def given_to(work: Work, member: str, text: str) -> JsonValue:
    """Delegate to a member and return its output.

    Raises:
        MemberFailed: If the member fails.
    """
    try:
        (answer,) = await work.ask("delegate", work.key(f"delegate:{member}", text), member, [text])
    except DelegationFailed as failure:
        work.raise_if_stopping()
        raise MemberFailed(f"{member}: {failure.reason}") from failure
    if answer.error is not None:
        raise MemberFailed(f"{member} failed: {answer.error}")
    return answer.output


Says: TypeAlias = Callable[[str, JsonValue], Awaitable[JsonValue]]
"""Asks the agent's own model, optionally for structured output."""


async def run_team(work: Work, options: TeamOptions, says: Says | None) -> JsonValue:
    """Run a `MultiAgent`; if it has a model of its own, that one makes the final answer."""
    request = as_text(await work.value())
    listening, results = _Listening(work), list[TaskInput]()
    if options.mode == "parallel":
        request = await listening.added_to(request, partial(_was_asked, work, options.team[0]))
        results = await _all(work, options.team, request)
    else:
        for name in options.team:
            request = await listening.added_to(request, partial(_was_asked, work, name, results=results))
            results.append(TaskInput(name, name, await given_to(work, name, in_context(request, results))))
    if says is not None:
        request = await listening.added_to(request, lambda text: _was_said(work, in_context(text, results)))
        return await says(in_context(request, results), work.spec.output)
    if options.mode == "sequential":
        return results[-1].output
    return concat([Result(one.agent, one.title, one.output) for one in results])


async def _all(work: Work, names: Sequence[str], request: str) -> list[TaskInput]:
    found: dict[int, JsonValue] = {}

    async def run(place: int, name: str) -> None:
        found[place] = await given_to(work, name, request)

    await at_once([partial(run, place, name) for place, name in enumerate(names)])
    return [TaskInput(name, name, found[place]) for place, name in enumerate(names)]


async def run_talk(work: Work, options: TalkOptions, says: Says | None) -> JsonValue:
    """Run a `ConversationAgent`, and return the transcript, or the final words of its moderator.

    Raises:
        BadModerator: If the moderator does not name the next speaker.
        MemberFailed: If a member fails.
    """
    talk, listening = _Talk(work, options, says), _Listening(work)
    text = as_text(await work.value())
    request = len(text)
    for turn in range(options.turns):
        name = options.speakers[turn % len(options.speakers)]
        text = await listening.added_to(text, partial(talk.was_next, name=None if talk.is_moderated else name))
        if talk.is_moderated:
            decision = await talk.moderated(text)
            if decision["next"] == _OVER:
                return str(decision.get("say") or "") or text[request:].removeprefix("\n\n")
            name = str(decision["next"])
        words = as_text(await given_to(work, name, talk.asked(text, name)))
        text = f"{text}\n\n{name}: {words}"
        if re.search(rf"(?<!\w){re.escape(options.end)}(?!\w)", words) is not None:
            break
    if talk.is_moderated:
        text = await listening.added_to(text, partial(talk.was_next, name=None, over=True))
        decision = await talk.moderated(text, over=True)
        return str(decision.get("say") or "") or text[request:].removeprefix("\n\n")
    return text[request:].removeprefix("\n\n")


_OVER = "nobody"
"""The "next speaker" that ends the conversation."""


class _Talk:
    """The questions to speakers and to the moderator.

    Args:
        says: Asks its own model, which moderates if no member does.
    """

    def __init__(self, work: Work, options: TalkOptions, says: Says | None) -> None:
        self._work = work
        self._options = options
        self._says = says
        self.is_moderated = says is not None or options.moderator is not None

    def asked(self, transcript: str, name: str) -> str:
        """Return the text for a speaker."""
        return f"{transcript}\n\nYou are {name}. Speak now; say {self._options.end} where it is all said."

    def was_next(self, transcript: str, *, name: str | None, over: bool = False) -> bool:
        """Return whether an earlier attempt continued a transcript: with a speaker, or (None) with the moderator."""
        if name is not None:
            return _was_asked(self._work, name, self.asked(transcript, name))
        question = self._question(transcript, over=over)[0]
        if self._options.moderator is None:
            return _was_said(self._work, question)
        return _was_asked(self._work, self._options.moderator, question)

    async def moderated(self, transcript: str, *, over: bool = False) -> dict[str, JsonValue]:
        """Return the moderator's decision: the next speaker, or the end and its result."""
        asked, schema = self._question(transcript, over=over)
        if self._options.moderator is None and self._says is not None:
            decision = await self._says(asked, schema)
        else:
            moderator = self._options.moderator or ""
            try:
                decision = await fits(as_text(await given_to(self._work, moderator, asked)), schema)
            except Unfit as unfit:
                raise BadModerator(f"{moderator} was to say who speaks next, and {unfit}") from unfit
        assert isinstance(decision, dict)
        return decision

    def _question(self, transcript: str, *, over: bool) -> tuple[str, dict[str, JsonValue]]:
        who: list[JsonValue] = [_OVER] if over else [*self._options.speakers, _OVER]
        schema: dict[str, JsonValue] = {
            "type": "object",
            "properties": {"next": {"type": "string", "enum": who}, "say": {"type": "string"}},
            "required": ["next"],
        }
        asked = (
            f"{transcript}\n\nYou moderate. Answer with JSON alone:"
            f' {{"next": who speaks next, one of {json.dumps(who)}, "say": what has come of it, where nobody does}}.'
        )
        return asked, schema


class _Listening:
    """Messages of people to a composed agent: taken before the next member or its own model is asked."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._turn = 0

    async def added_to(self, text: str, was_given: Callable[[str], bool]) -> str:
        """Return a text with the messages since the last turn.

        Args:
            text: The text for the next member.
            was_given: Whether an earlier attempt has sent this text; then messages sent after a crash come later.
        """
        self._turn += 1
        if not self._work.is_recorded(steers_key(self._turn)) and was_given(text):
            return text
        said = await self._work.take_steers(self._turn)
        return "\n\n".join([text, *(f"A person says: {one}" for one in said)])


def _was_asked(work: Work, member: str, text: str, *, results: Sequence[TaskInput] = ()) -> bool:
    """Return whether an earlier attempt has asked a member the same, with the same results before it."""
    return work.was_asked(work.next_key(f"delegate:{member}", in_context(text, [*results])))


def _was_said(work: Work, text: str) -> bool:
    """Return whether the agent's own model has answered a text in an earlier attempt."""
    said = Conversation()
    said.begin(text)
    return work.is_recorded(work.next_key("turn:1", said.digest))
