"""The Memory screen: it filters while words are typed, shows one insight in full, forgets, follows the time bar."""

from pathlib import Path

import pytest

from dashboard.dialogs.dialog import Confirm
from dashboard.pages.task import TaskScreen
from dashboard.screens.memory import MemoryScreen
from dashboard.widgets.lines import Lines
from engine.core.commands import Forget, Remember
from engine.core.fold.memory import note_reads
from engine.core.signals import InsightNoted
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened
from tests.pilot.scene import audit
from tests.story import attempts, member
from tests.world import LONG, World

pytestmark = pytest.mark.anyio


def remembering() -> World:
    """A team with an insight of an agent, one of a person in two versions, and an unimportant one."""
    work = audit()
    task_id, number = next(iter(attempts(work, "scout")))
    note = InsightNoted(
        task_id=task_id,
        attempt=number,
        key="remember:1",
        text=f"The harbour is deep. \x1b[31m {LONG}",
        tags=["sea"],
        importance=0.9,
        segment="results",
    )
    work.say(note)
    work.order(Remember(text="The tides turn at six", segment="facts", tags=("sea", "tide tables")))
    work.order(Remember(text="The tides turn at seven", segment="facts", supersedes="m2"))
    work.order(Remember(text="It rained", segment="facts", importance=0.1))
    note_reads(work.state, member(work, "scout").id, ["m3"])
    return work


async def go(hand: Hand, filter_line: str = "") -> MemoryScreen:
    await hand.press("colon", *"memory", "enter")
    screen = hand.app.screen
    assert isinstance(screen, MemoryScreen)
    await until(hand.pilot, lambda: "looking" not in "".join(screen.table.rows.empty))
    if filter_line:
        await type_filter(hand, filter_line)
    return screen


async def type_filter(hand: Hand, line: str) -> None:
    await hand.press("slash", *line, "enter")
    screen = hand.app.screen
    assert isinstance(screen, MemoryScreen)
    await until(hand.pilot, lambda: screen._found is not None and screen._found.needle == line)


@pytest.mark.parametrize(
    ("line", "ids"),
    [
        ("", ["m1", "m3", "m4"]),
        ("tides", ["m3"]),
        ("harbour", ["m1"]),
        ("segment:fact", ["m3", "m4"]),
        ("tag:sea", ["m1"]),
        ("author:scout", ["m1"]),
        ("unused", ["m1", "m4"]),
        ("superseded", ["m2"]),
        ('superseded tag:"tide tables" six', ["m2"]),
        ("rained tides", ["m4", "m3"]),
        ("nothing", []),
    ],
)
async def test_a_filter_takes_words_and_what_only_insights_have(tmp_path: Path, line: str, ids: list[str]) -> None:
    async with opened(tmp_path, work=remembering()) as hand:
        screen = await go(hand, line)

        assert [*screen.table.rows.keys] == ids


async def test_the_pane_has_the_text_the_step_the_readers_and_the_other_versions_and_enter_opens_the_task(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, work=remembering(), size=(200, 60)) as hand:
        screen = await go(hand)
        pane = screen.query_one("#below", Lines)
        await until(hand.pilot, lambda: "held by reference" in pane.text)
        first = pane.text
        task_id = hand.work.state.insights["m1"].evidence.task_id  # type: ignore[union-attr]
        await hand.press("j")
        second = pane.text
        await hand.press("k", "enter")

        assert "\x1b" not in first
        assert all(words in first for words in ("by scout", "importance 0.9", f"task        {task_id}", "by no step"))
        assert all(words in second for words in ("The tides turn at seven", "last by scout", "version 1   m2"))
        assert isinstance(hand.app.screen, TaskScreen)


async def test_marked_insights_are_forgotten_after_a_question_that_names_them(tmp_path: Path) -> None:
    async with opened(tmp_path, work=remembering()) as hand:
        await go(hand)
        await hand.press("j", "space", "space", "R")
        assert isinstance(hand.app.screen, Confirm)
        assert "The tides turn at seven" in hand.told("details")
        assert "1 of them was read by a step" in " ".join(hand.told("details").split())
        await hand.press("enter")

        assert hand.ordered == Forget(insights=["m3", "m4"])


async def test_an_unknown_insight_is_one_line_and_sends_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, work=remembering()) as hand:
        await hand.press("colon", *"forget m99", "enter")

        assert ("there is no insight 'm99'" in hand.said, hand.app.orders) == (True, [])


async def test_the_time_bar_shows_the_insights_as_they_were(tmp_path: Path) -> None:
    async with opened(tmp_path, work=remembering()) as hand:
        screen = await go(hand)
        hand.app.past.goto_seq(hand.work.state.seq - 4)
        await until(hand.pilot, lambda: [*screen.table.rows.keys] == ["m1", "m2"])
        await hand.press("L")
        await until(hand.pilot, lambda: [*screen.table.rows.keys] == ["m1", "m3", "m4"])


async def test_a_team_without_insights_says_how_they_come_about(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        screen = await go(hand)

        assert "agents write insights: ctx.memory.write" in "".join(screen.table.rows.empty)
