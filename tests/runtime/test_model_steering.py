"""What people say to a model at work enters its conversation at the next turn, once, also after a crash."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from engine import AgentSpec
from engine.core.commands import Steer
from engine.core.model_spec import ModelSpec
from engine.core.options import SupervisorOptions
from engine.models.records import ModelRequest
from engine.runtimes.tools import idempotent
from tests.runtime.engines import Engines, running
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
