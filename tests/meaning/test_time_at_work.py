"""Time at work is time with a slot: `time_s` of limits, and the time of a run (docs/reference/team-file.md)."""

from typing import Any

import pytest

from engine import DynamicSupervisor, Limits
from tests.meaning.diary import Body, Diary, told

pytestmark = pytest.mark.anyio


def asks(below: str) -> Body:
    """Return the code of an agent that works for a tenth of a second, asks another, and works as long again."""

    async def body(task: Any, ctx: Any) -> Any:
        await ctx.sleep(0.1)
        answer = await ctx.delegate(below, "go")
        await ctx.sleep(0.1)
        return answer

    return body


def levels(diary: Diary, **options: Any) -> DynamicSupervisor:
    specs = [
        diary.agent("one", body=asks("two")),
        diary.agent("two", body=asks("three")),
        diary.agent("three", body=asks("four")),
        diary.agent("four", takes_s=0.4),
    ]
    return diary.supervisor("chief", *specs, coordination_mode="delegate", lead="one", **options)


async def test_waiting_for_delegated_work_is_no_time_at_work_at_any_level() -> None:
    diary = Diary()

    async with levels(diary) as chief:
        result = await told(chief)

    assert [one.began_s for one in diary.entries] == [0, 0.1, 0.2, 0.3]
    assert diary.of("one")[0].ended_s == 1
    assert result.usage.time_ms == 1_000  # three times 0.2 s, and 0.4 s


async def test_a_budget_of_time_is_spent_by_work_alone() -> None:
    enough, short = Diary(), Diary()

    async with levels(enough, limits=Limits(time_s=1.05)) as chief:
        done = await told(chief)
    async with levels(short, limits=Limits(run_s=60)) as chief:
        cut = await told(chief, limits=Limits(time_s=0.5))

    assert (done.status, done.usage.time_ms) == ("done", 1_000)
    assert cut.status == "failed"
    assert cut.usage.time_ms == 500
    assert "0.5 s of work" in (cut.error or "")
    assert short.of("four")[0].ended_s is None
