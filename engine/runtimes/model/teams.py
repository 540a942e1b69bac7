"""Agents made of others: `MultiAgent`, a team as one agent, and `ConversationAgent`, members who speak in turn.

Rule: what a member does is a delegation, what the model of the agent itself says is a turn; both are recorded, so an
attempt that goes on comes to where the one before it was cut off.
"""

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Literal, TypeAlias

import anyio
from pydantic import Field

from engine.core.fact import JsonValue
from engine.errors import AttemptInterrupted, DelegationFailed
from engine.joins import Result, concat
from engine.runtimes.model.endings import ModelStopped
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.output import Unfit, fitting
from engine.runtimes.task import TaskInput, as_text, in_context
from engine.runtimes.work import Work

MemberName = Annotated[str, Field(min_length=1, max_length=200)]


class TeamOptions(ModelOptions):
    """Options of a `MultiAgent`."""

    team: Annotated[list[MemberName], Field(min_length=1, max_length=100)]
    """Names of the members that it is made of, in their order."""
    mode: Literal["sequential", "parallel"] = "sequential"
    """One after the other, each with the results before it; or all at once."""


class TalkOptions(ModelOptions):
    """Options of a `ConversationAgent`."""

    speakers: Annotated[list[MemberName], Field(min_length=2, max_length=100)]
    """Names of the members who speak, in their order."""
    moderator: MemberName | None = None
    """The member who says who speaks next and when it is over; else its own model does, else they take turns."""
    end: Annotated[str, Field(min_length=1, max_length=100)] = "END"
    """The word with which a speaker ends the conversation."""


class MemberFailed(ModelStopped):
    """A member of a team that is one agent did not come to a result."""


class BadModerator(ModelStopped):
    """The moderator of a conversation said something else than who speaks next."""


async def given_to(work: Work, member: str, text: str) -> JsonValue:
    """Return what a member answers.

    Raises:
        MemberFailed: If it does not.
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
"""Lets the model of the agent itself answer a text, in the form of a JSON Schema where one is given."""


async def run_team(work: Work, options: TeamOptions, says: Says | None) -> JsonValue:
    """Return what the members of a `MultiAgent` come to; in the words of its own model, where it has one."""
    request = as_text(await work.value())
    results: list[TaskInput] = []
    if options.mode == "parallel":
        results = await _all(work, options.team, request)
    else:
        for name in options.team:
            results.append(TaskInput(name, name, await given_to(work, name, in_context(request, results))))
    if says is not None:
        return await says(in_context(request, results), work.spec.output)
    if options.mode == "sequential":
        return results[-1].output
    return concat([Result(one.agent, one.title, one.output) for one in results])


async def _all(work: Work, names: Sequence[str], request: str) -> list[TaskInput]:
    found: dict[int, JsonValue] = {}
    raised: list[BaseException] = []

    async def run(place: int, name: str) -> None:
        try:
            found[place] = await given_to(work, name, request)
        except (MemberFailed, AttemptInterrupted) as error:  # the others come to their ends first
            raised.append(error)

    async with anyio.create_task_group() as group:
        for place, name in enumerate(names):
            group.start_soon(run, place, name)
    if raised:
        raise next((one for one in raised if isinstance(one, AttemptInterrupted)), raised[0])
    return [TaskInput(name, name, found[place]) for place, name in enumerate(names)]


async def run_talk(work: Work, options: TalkOptions, says: Says | None) -> JsonValue:
    """Let the members of a `ConversationAgent` speak in turn, and return what was said, or its moderator's last words.

    Raises:
        BadModerator: If the moderator says something else than who speaks next.
        MemberFailed: If one of them fails.
    """
    request, said = as_text(await work.value()), list[str]()
    is_moderated = says is not None or options.moderator is not None
    for turn in range(options.turns):
        name = options.speakers[turn % len(options.speakers)]
        if is_moderated:
            decision = await _moderated(work, options, says, _transcript(request, said))
            if decision["next"] == _OVER:
                return str(decision.get("say") or "") or "\n\n".join(said)
            name = str(decision["next"])
        asked = f"{_transcript(request, said)}\n\nYou are {name}. Speak now; say {options.end} where it is all said."
        words = as_text(await given_to(work, name, asked))
        said.append(f"{name}: {words}")
        if re.search(rf"(?<!\w){re.escape(options.end)}(?!\w)", words) is not None:
            break
    if is_moderated:
        decision = await _moderated(work, options, says, _transcript(request, said), over=True)
        return str(decision.get("say") or "") or "\n\n".join(said)
    return "\n\n".join(said)


_OVER = "nobody"
"""Who speaks next when it is over."""


async def _moderated(
    work: Work, options: TalkOptions, says: Says | None, transcript: str, *, over: bool = False
) -> dict[str, JsonValue]:
    """Return what the moderator decides: who speaks next, or that it is over and what has come of it."""
    who: list[JsonValue] = [_OVER] if over else [*options.speakers, _OVER]
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"next": {"type": "string", "enum": who}, "say": {"type": "string"}},
        "required": ["next"],
    }
    asked = (
        f"{transcript}\n\nYou moderate. Answer with JSON alone:"
        f' {{"next": who speaks next, one of {json.dumps(who)}, "say": what has come of it, where nobody does}}.'
    )
    if options.moderator is None and says is not None:
        decision = await says(asked, schema)
    else:
        moderator = options.moderator or ""
        try:
            decision = fitting(as_text(await given_to(work, moderator, asked)), schema)
        except Unfit as unfit:
            raise BadModerator(f"{moderator} was to say who speaks next, and {unfit}") from unfit
    assert isinstance(decision, dict)
    return decision


def _transcript(request: str, said: Sequence[str]) -> str:
    return "\n\n".join([request, *said])
