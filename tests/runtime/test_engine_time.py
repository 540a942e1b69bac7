"""Times are those of the engine, on every screen: also where its clock, or this computer's, was wrong."""

import json
import re
import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from engine.platform.clock import RealClock
from quarterdeck import AgentSpec, DynamicSupervisor
from tests.runtime.engines import soon
from tests.runtime.shell import shell_on

pytestmark = pytest.mark.anyio

AHEAD_MS = 5 * 3_600_000 + 60_000


def ahead() -> RealClock:
    """Return a clock that tells a time a little more than five hours from now."""
    return RealClock(wall_ns=lambda: time.time_ns() + AHEAD_MS * 1_000_000)


async def test_a_file_whose_clock_was_ahead_is_shown_by_its_own_time_and_doctor_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "team.db"
    begun = anyio.Event()

    async def hang(text: str) -> str:
        begun.set()
        await anyio.sleep_forever()
        return text

    run = shell_on(path, capsys)
    agents = [AgentSpec(name="a", run=hang)]
    async with DynamicSupervisor("team", agent_specs=agents, store=path, clock=ahead()) as team:
        await team.submit("x")
        await begun.wait()

        async def recent() -> str:
            status, out, _ = await anyio.to_thread.run_sync(run, "events", "--since", "10m", "--json")
            assert status == 0
            return out if "attempt_started" in out else ""

        events = [json.loads(line) for line in (await soon(recent)).splitlines()]
        _, runs, _ = await anyio.to_thread.run_sync(run, "runs")
    _, doctor, _ = run("doctor")
    _, since, _ = run("events", "--since", "10m")

    assert [one["kind"] for one in events][-1] == "attempt_started"
    assert re.search(r"\br1 .* \d+ (ms|s) ", runs)
    assert re.search(r"team\.db \(time\): its newest event is 5 h.* ahead of this computer's clock: if", doctor)
    assert since.count("\n") > len(events)


async def test_a_file_of_now_has_no_note_about_its_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "team.db"

    async def answer(text: str) -> str:
        return text

    await DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=answer)], store=path).arun("x")
    _, said, _ = shell_on(path, capsys)("doctor")

    assert "(time)" not in said
