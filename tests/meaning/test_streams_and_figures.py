"""What a program sees of its runs: the events of a stream, where a run stands, and the figures after known work."""

import math
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from engine import Retry, RunFailed, StreamEvent, UnknownRun
from tests.meaning.diary import Diary, during, told
from tests.meaning.stages import IN_TEAMS, STAGES, staged

pytestmark = pytest.mark.anyio
EACH = ["task_started", "task_ended"]
ONCE_FAILED = [*EACH, *EACH]


def fails_once_at(text: str) -> Any:
    """Return what an agent says that fails at a text, the first time."""
    texts = [text]

    def says(task: Any) -> Any:
        if task.text not in texts:
            return "done"
        texts.remove(task.text)
        return RuntimeError("no")

    return says


async def kinds(events: AsyncIterator[StreamEvent]) -> list[str]:
    """Return what a stream gives, all of it about one run."""
    found = [event async for event in events]
    assert len({event.run_id for event in found}) == 1
    return [event.kind for event in found]


@pytest.mark.parametrize("stage", STAGES)
async def test_a_stream_gives_each_event_of_its_run_once_in_order_and_then_ends(stage: str) -> None:
    diary = Diary()
    retry = Retry(1, base_s=0.001, cap_s=0.001)
    ada = diary.agent("ada", takes_s=1, says=fails_once_at("go"), on_failure=[retry])

    async with staged(stage, diary, ada, diary.agent("bob", takes_s=1), participants=["ada", "bob"]) as chief:
        other = await chief.submit("other")
        found = await kinds(chief.stream("go"))
        await chief.wait(other)

    parts = [["task_started", *one, "task_ended"] if stage in IN_TEAMS else one for one in (ONCE_FAILED, EACH)]
    assert found == ["started", *parts[0], *parts[1], "completed"]


async def test_a_stream_of_a_run_that_fails_ends_with_its_end_and_then_raises() -> None:
    diary = Diary()
    found: list[tuple[str, str | None]] = []

    async def listen() -> None:
        async for event in chief.stream("go"):
            found.append((event.kind, event.status))

    async with diary.supervisor("chief", diary.agent("ada", says=lambda task: RuntimeError("no"))) as chief:
        with pytest.raises(RunFailed, match="no"):
            await listen()

    assert found[-2:] == [("task_ended", "failed"), ("completed", "failed")]


@pytest.mark.parametrize("stage", ["alone", "teams", "twins", "above", "attached"])
async def test_where_a_run_stands_is_counted_in_tasks_of_agents(stage: str) -> None:
    diary = Diary()
    workers = [
        diary.agent("ada", takes_s=2),
        diary.agent("bob", takes_s=1, says=lambda task: RuntimeError("no")),
        diary.agent("cyd", takes_s=4),
    ]
    settings: dict[str, Any] = {"coordination_mode": "parallel", "coordination_settings": {"need": 2}}
    seen: list[tuple[str, int, int, int, int, int]] = []

    async with staged(stage, diary, *workers, participants=["ada", "bob", "cyd"], **settings) as chief:

        async def act(run_id: str) -> None:
            for moment_s in (0.5, 1.5, 2.5):
                async with diary.at(moment_s):
                    run, team = await chief.status(run_id), chief.get_supervision_metrics()
                    seen.append((run.status.value, run.tasks, run.done, run.failed, team.busy, team.runs_open))

        result = await during(diary, chief, act)
        run = await chief.status(result.run_id)
        with pytest.raises(UnknownRun):
            await chief.status("r99")

    assert seen == [("running", 3, 0, 0, 3, 1), ("running", 3, 0, 1, 2, 1), ("running", 3, 1, 1, 1, 1)]
    assert (run.status, run.tasks, run.done, run.failed, run.output) == ("done", 3, 2, 1, result.output)
    assert (result.tasks, result.usage.time_ms) == (3, 7000)


@pytest.mark.parametrize("stage", ["alone", "teams", "twins", "above", "paused", "broken", "lame", "attached"])
async def test_the_figures_after_known_work(stage: str) -> None:
    diary = Diary()

    async def pays(task: Any, ctx: Any) -> str:
        ctx.spent(tokens_in=10, tokens_out=5, cost_usd="0.5")
        return "paid"

    workers = [
        diary.agent("ada", "machine learning", takes_s=1, body=pays),
        diary.agent(
            "bob", takes_s=4, category="research", says=lambda task: RuntimeError("no") if "bad" in task.text else 1
        ),
    ]

    async with staged(stage, diary, *workers, participants=["ada", "bob"], coordination_mode="parallel") as chief:
        before = chief.get_supervision_metrics()
        for text in 2 * ("bad", "good", "good", "bad", "good"):
            await told(chief, text)
        team, agents = chief.get_supervision_metrics(), chief.active_agents

    assert math.isnan(before.success_rate)
    assert math.isnan(before.p50_ms)
    assert (team.tasks_done, team.tasks_failed, team.success_rate, team.busy, team.runs_open) == (16, 4, 0.8, 0, 0)
    assert (team.machine_learning_success_rate, team.research_success_rate) == (1, 0.6)
    assert math.isnan(team.singing_success_rate)
    assert team.p50_ms == 1000  # of ten that took 1 s and six that took 4 s and ended well
    assert (team.usage.tokens_in, team.usage.tokens_out, team.usage.cost_usd) == (100, 50, Decimal("5.0"))
    assert team.usage.time_ms == 10 * 1000 + 10 * 4000
    if stage not in IN_TEAMS:
        told_of = [(one.tasks, one.success_rate, one.error_count, one.p50_ms) for one in agents.values()]
        assert told_of[:2] == [(10, 1, 0, 1000), (10, 0.6, 4, 4000)]


async def test_a_share_is_taken_from_ten_attempts_on_and_a_team_counts_what_is_under_it() -> None:
    diary = Diary()
    top, north, south = (diary.supervisor(name, diary.agent("ada", "dig")) for name in ("top", "north", "south"))
    for team in (north, south):
        await top.add_sub_supervisor(team.name, team)

    async with top:
        for _ in range(6):
            await told(north)
        for _ in range(4):
            await told(south)
        figures = [team.get_supervision_metrics() for team in (top, north, south)]

    assert [(one.agents, one.tasks_done) for one in figures] == [(3, 10), (1, 6), (1, 4)]
    assert [one.dig_success_rate for one in figures[:1]] == [1]
    assert all(math.isnan(one.success_rate) and math.isnan(one.dig_success_rate) for one in figures[1:])
