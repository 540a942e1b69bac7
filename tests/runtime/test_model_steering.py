"""What people say to a model at work enters its conversation at the next turn, once, also after a crash."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentSpec
from engine.core.commands import Steer
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.models.records import ModelRequest
from engine.runtimes.functions.tools import idempotent
from tests.runtime.engines import Engines, running, soon
from tests.runtime.noting import REQUESTS

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("noted_requests")]


def team(*replies: Any) -> dict[str, Any]:
    return {"options": SupervisorOptions(models={"fake": ModelSpec(replies=replies)})}


HANGS: list[anyio.Event] = []


@idempotent
async def first_hang() -> str:
    """Hang while somebody waits for that."""
    if HANGS:
        HANGS[0].set()
        await anyio.sleep_forever()
    return "a tide"


CALL = {"calls": [{"name": "look", "arguments": {}}]}


def roles(request: ModelRequest) -> list[str]:
    return [message.role for message in request.messages[1:]]


async def test_what_a_person_says_is_heard_at_the_next_turn(engine: Engines) -> None:
    reached, go = anyio.Event(), anyio.Event()

    async def look() -> str:
        reached.set()
        await go.wait()
        return "a tide"

    ada = AgentSpec(name="ada", agent_type="ReactAgent", model="fake", tools=[look])
    async with engine(ada, **team(CALL, {"text": "You said: {text}"})) as running:
        run = await running.submit()
        await reached.wait()
        await running.host.order(Steer(target="ada", text="Only facts"))
        go.set()

        assert (await running.ended(run))[1] == "You said: Only facts"
        assert roles(REQUESTS[1]) == ["user", "assistant", "tool", "user"]


async def test_what_is_said_after_a_crash_leaves_answers_that_were_given_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    ada = AgentSpec(name="ada", agent_type="ReactAgent", model="fake", tools=[f"{__name__}:first_hang"])
    hang = {"calls": [{"name": "first_hang", "arguments": {}}]}
    HANGS.append(anyio.Event())
    async with running(path=path) as engine:
        await engine.hire(ada, **team(hang, {"text": "You said: {text}"}))
        run = await engine.submit()
        await HANGS[0].wait()

    HANGS.clear()
    async with running(path=path) as engine:
        await engine.host.order(Steer(target="ada", text="Only facts"))

        assert (await engine.ended(run))[1] == "You said: Only facts"
        assert [roles(one) for one in REQUESTS] == [["user"], ["user", "assistant", "tool", "user"]]


async def asked(count: int) -> None:
    """Return once models were asked so often."""

    async def look() -> bool:
        return len(REQUESTS) >= count

    await soon(look)


SLOW = {"text": "A long answer that nobody waits for", "every_s": 3_600, "tokens_in": 40, "tokens_out": 9}


async def test_now_cuts_the_answer_of_a_model_short_and_the_turn_begins_anew_with_the_message(engine: Engines) -> None:
    ada = AgentSpec(name="ada", agent_type="ReactAgent", model="fake")
    replies = [{**SLOW, "match": "go"}, {**SLOW, "match": "Only"}, {"text": "You said: {text}"}]
    async with engine(ada, **team(*replies)) as running:
        run = await running.submit()
        await asked(1)
        await running.host.order(Steer(target="ada", text="Only facts", now=True))
        await asked(2)
        await running.host.order(Steer(target="ada", text="In verse", now=True))

        summary, output = await running.ended(run)
        steps = [json.loads(one.body) for one in await running.journal("step_recorded")]

    assert output == "You said: In verse"
    assert [roles(one) for one in REQUESTS] == [["user"], ["user", "user"], ["user", "user", "user"]]
    assert [one["key"].partition(":")[0] for one in steps] == ["steered", "steered", "turn"]
    assert summary.usage.tokens_out == 6 + 6 + 5, "the pieces that came before they were cut short, and the answer"


async def test_a_message_that_is_not_urgent_waits_for_the_answer(engine: Engines) -> None:
    ada = AgentSpec(name="ada", agent_type="ReactAgent", model="fake", tools=[first_hang])
    slow = {"text": "I look at it, and then", "every_s": 0.1, "calls": [{"name": "first_hang", "arguments": {}}]}
    async with engine(ada, **team(slow, {"text": "You said: {text}"})) as running:
        run = await running.submit()
        await asked(1)
        await running.host.order(Steer(target="ada", text="Only facts"))

        assert (await running.ended(run))[1] == "You said: Only facts"
        assert [roles(one) for one in REQUESTS] == [["user"], ["user", "assistant", "tool", "user"]]


async def test_a_turn_that_was_cut_short_is_the_same_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    ada = AgentSpec(name="ada", agent_type="ReactAgent", model="fake", tools=[f"{__name__}:first_hang"])
    hang = {"match": "In verse", "calls": [{"name": "first_hang", "arguments": {}}]}
    HANGS.append(anyio.Event())
    async with running(path=path) as engine:
        await engine.hire(ada, **team({**SLOW, "match": "go"}, hang, {"text": "You said: {text}"}))
        run = await engine.submit()
        await asked(1)
        await engine.host.order(Steer(target="ada", text="In verse", now=True))
        await HANGS[0].wait()

    HANGS.clear()
    async with running(path=path) as engine:
        assert (await engine.ended(run))[1] == "You said: a tide"
        assert [roles(one) for one in REQUESTS] == [
            ["user"], ["user", "user"], ["user", "user", "assistant", "tool"],
        ]  # fmt: skip


async def test_what_is_said_to_a_team_that_is_one_agent_reaches_the_members_that_come_after(engine: Engines) -> None:
    reached, go = anyio.Event(), anyio.Event()
    heard: list[str] = []

    async def first(text: str) -> str:
        reached.set()
        await go.wait()
        return "a tide"

    async def second(text: str) -> str:
        heard.append(text)
        return "done"

    crew = AgentSpec(name="crew", agent_type="MultiAgent", options={"team": ["ada", "bob"]})
    members = [AgentSpec(name="ada", run=first), AgentSpec(name="bob", run=second)]
    async with engine(crew, *members, participants=["crew"]) as running:
        run = await running.submit("look")
        await reached.wait()
        await running.host.order(Steer(target="crew", text="Only facts"))
        go.set()

        assert (await running.ended(run))[1] == "done"
    assert heard == ["look\n\nA person says: Only facts\n\n## ada\n\na tide"]


SPOKEN: list[str] = []
SPEAKS: list[anyio.Event] = []


async def speak(text: str) -> str:
    """Speak, the first time for ever."""
    SPOKEN.append(text)
    if len(SPOKEN) == 1:
        SPEAKS[0].set()
        await anyio.sleep_forever()
    return "END" if "I say so" in text else "I say so"


async def moderate(text: str) -> str:
    """Let the two speak, one after the other."""
    turn = text.count(": I say so") + text.count(": END")
    return json.dumps({"next": ["ada", "bob", "nobody"][turn], "say": "over"})


def says(**decision: str) -> dict[str, Any]:
    return {"text": json.dumps(decision)}


MODERATES = [
    {"match": ": END", **says(next="nobody", say="over")},
    {"match": ": I say so", **says(next="bob")},
    says(next="ada"),
]


@pytest.mark.parametrize("moderator", [None, "chair", "its own model"])
async def test_what_is_said_to_a_conversation_is_heard_by_who_speaks_next_once_also_after_a_crash(
    tmp_path: Path, moderator: str | None
) -> None:
    path = tmp_path / "team.db"
    SPOKEN.clear()
    SPEAKS[:] = [anyio.Event()]
    talk: dict[str, Any] = {"speakers": ["ada", "bob"], **({"moderator": "chair"} if moderator == "chair" else {})}
    model = "fake" if moderator == "its own model" else None
    members = [
        AgentSpec(name="talk", agent_type="ConversationAgent", options=talk, model=model),
        AgentSpec(name="ada", run=f"{__name__}:speak"),
        AgentSpec(name="bob", run=f"{__name__}:speak"),
        AgentSpec(name="chair", run=f"{__name__}:moderate"),
    ]
    async with running(path=path) as engine:
        await engine.hire(*members, participants=["talk"], **team(*MODERATES))
        run = await engine.submit("Is it so?")
        await SPEAKS[0].wait()
        await engine.host.order(Steer(target="talk", text="Be brief"))

    async with running(path=path) as engine:
        output = (await engine.ended(run))[1]

    assert output == ("over" if moderator else "ada: I say so\n\nA person says: Be brief\n\nbob: END")
    assert SPOKEN[0] == SPOKEN[1], "what was asked before the crash is asked again"
    assert SPOKEN[2].startswith("Is it so?\n\nada: I say so\n\nA person says: Be brief\n\nYou are bob.")
    assert len(SPOKEN) == 3
