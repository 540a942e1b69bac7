"""Strict priority: with `ageing_s: 0` waiting never raises urgency (docs/reference/team-file.md, `ageing_s`)."""

from typing import Any

import pytest

from engine import SupervisorOptions
from tests.meaning.diary import Diary, during
from tests.meaning.stages import staged

pytestmark = pytest.mark.anyio
TAKES_S = 10
COME = 6


@pytest.mark.parametrize("stage", ["alone", "teams", "twins", "above", "paused", "spent"])
@pytest.mark.parametrize(("ageing_s", "place"), [(0, COME + 1), (TAKES_S, 2)])
async def test_what_waits_for_ever_stays_behind_all_that_is_more_urgent(
    stage: str, ageing_s: float, place: int
) -> None:
    diary = Diary()

    async with staged(
        stage,
        diary,
        diary.agent("ada", takes_s=TAKES_S),
        participants=["ada"],
        options=SupervisorOptions(ageing_s=ageing_s),
    ) as chief:

        async def act(run_id: str) -> None:
            runs = [await chief.submit("old", priority=9)]
            for number in range(COME):
                async with diary.at(number * TAKES_S + 5):
                    runs.append(await chief.submit(f"new {number}", priority=8))
            for one in runs:
                await chief.wait(one)

        await during(diary, chief, act, "first")

    texts = [one.text for one in diary.entries]
    assert texts.index("old") == place
    texts.remove("old")
    assert texts == ["first", *(f"new {number}" for number in range(COME))]


async def test_a_day_of_waiting_is_worth_nothing() -> None:
    diary = Diary()
    order: list[Any] = []

    async with diary.supervisor(
        "chief", diary.agent("ada", takes_s=86_400), options=SupervisorOptions(ageing_s=0)
    ) as chief:

        async def act(run_id: str) -> None:
            old = await chief.submit("old", priority=6)
            async with diary.at(86_399):
                new = await chief.submit("new", priority=5)
            for one in (old, new):
                await chief.wait(one)

        await during(diary, chief, act, "first")
        order += [one.text for one in diary.entries]

    assert order == ["first", "new", "old"]
