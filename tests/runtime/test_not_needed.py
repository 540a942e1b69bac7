"""What a run does not need any more is stopped hard: a coroutine is cancelled, a process killed, a thread left."""

import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from engine import AgentSpec, DynamicSupervisor
from tests.patience import PATIENCE_S
from tests.runtime import crew_for_processes as crew
from tests.runtime.engines import soon
from tests.runtime.test_function_in_process import gone

pytestmark = pytest.mark.anyio


async def quick(text: str) -> str:
    return "quick"


def race(slow: Any, other: Any = quick, **fields: Any) -> DynamicSupervisor:
    """Return a team that needs one answer, and has one agent that gives it at once."""
    specs = [AgentSpec(name="slow", run=slow, **fields), AgentSpec(name="quick", run=other)]
    return DynamicSupervisor(
        "chief", agent_specs=specs, coordination_mode="parallel", coordination_settings={"need": 1}
    )


async def until_it_is_back(chief: DynamicSupervisor) -> None:
    """Return once nothing of an attempt that has ended takes a slot of the agent."""
    with anyio.fail_after(PATIENCE_S):
        while chief._state.agents["a1"].stuck:
            await checkpoint()


async def test_a_coroutine_is_cancelled_and_cleans_up() -> None:
    ended = []

    async def slow(text: str) -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(text)
        return "never"

    with anyio.fail_after(PATIENCE_S):
        result = await race(slow).arun("go")

    assert (result.output, ended) == ("quick", ["go"])


async def test_a_thread_is_left_behind_and_keeps_its_slot_until_it_returns() -> None:
    go_on = threading.Event()

    def slow(text: str) -> str:
        go_on.wait(PATIENCE_S)
        return "never"

    async with race(slow) as chief:
        with anyio.fail_after(PATIENCE_S):
            result = await chief.arun("go")
        assert (result.output, chief._state.agents["a1"].stuck, go_on.is_set()) == ("quick", 1, False)
        go_on.set()
        await until_it_is_back(chief)


async def test_a_process_is_killed_with_what_it_started(tmp_path: Path) -> None:
    pids: list[int] = []

    async def once_it_is_at_work(folder: str) -> str:
        async def two_pids() -> bool:
            there = anyio.Path(folder, "pids")
            pids[:] = map(int, (await there.read_text()).split()) if await there.exists() else []
            return len(pids) == 2

        await soon(two_pids)
        return "quick"

    async with race(crew.long_work, once_it_is_at_work, run_in="process") as chief:
        with anyio.fail_after(PATIENCE_S):
            result = await chief.arun(str(tmp_path))
        await until_it_is_back(chief)

        assert result.output == "quick"
        assert await gone(pids)


async def test_what_does_not_let_itself_be_stopped_is_left_behind() -> None:
    go_on = anyio.Event()

    async def slow(text: str) -> str:
        with anyio.CancelScope(shield=True):
            await go_on.wait()
        return "never"

    async with race(slow) as chief:
        with anyio.fail_after(PATIENCE_S):
            result = await chief.arun("go")
        assert (result.output, chief._state.agents["a1"].stuck) == ("quick", 1)
        go_on.set()
        await until_it_is_back(chief)
