"""The metrics: a window, one agent, one plot."""

from decimal import Decimal
from pathlib import Path

import pytest

from dashboard.views.words.amounts import clock
from dashboard.widgets.lines import Lines
from engine.core.commands import RemoveMember
from engine.core.events import AttemptDone
from engine.core.records.values import Usage
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened
from tests.pilot.scene import NOW_MS
from tests.story import attempt, submitted
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio


def drawn(hand: Hand) -> str:
    return hand.app.screen.query_one("#plots", Lines).text


async def look(hand: Hand) -> None:
    hand.clock[0] += 1_000
    hand.app.flush()
    await hand.press()


async def show_an_hour(hand: Hand) -> None:
    for _ in range(4):
        if "window 1 h" not in hand.app.screen.query_one("#tabs").text:  # type: ignore[attr-defined]
            await hand.press("w")
    await look(hand)


def ended(hand: Hand) -> int:
    """How many attempts the table counts."""
    return sum(int(hand.table.rows.cells(place)[1].text) for place in range(len(hand.table.rows.keys)))


async def test_plots_and_the_table_show_what_the_window_holds(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("4")
        assert hand.place == "metrics"
        await look(hand)
        assert ended(hand) > 5
        await show_an_hour(hand)
        assert "THROUGHPUT" in drawn(hand)
        assert "AT WORK" in drawn(hand)
        assert "−60 min" in drawn(hand)
        assert ended(hand) > 5


async def test_the_table_says_of_which_window_its_figures_are_also_on_a_small_screen(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24)) as hand:
        await hand.press("4")
        await show_an_hour(hand)
        assert hand.line(0).split("  ")[0].strip() == "AGENT, LAST 1 h"
        await hand.press("w")
        await look(hand)
        assert hand.line(0).split("  ")[0].strip() == "AGENT, LAST 1 m"
        means = {column.title: column.meaning for column in hand.table.rows.columns}
        assert "window" in means["DONE"]


async def test_what_ended_before_is_read_again_after_the_file_could_not_be_read_for_a_moment(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.app.feed.activity.ends.clear()
        away = hand.app.path.rename(tmp_path / "away.db")
        await hand.press("4")
        assert "team.db" in hand.said
        away.rename(hand.app.path)
        hand.clock[0] += 60_000
        hand.app.flush()
        await show_an_hour(hand)
        assert ended(hand) > 5


async def test_what_ended_before_is_read_once_the_file_is_open(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        feed, seq = hand.app.feed, hand.work.state.seq
        feed.activity.ends.clear()  # of a long journal the feed learns only the newest
        feed._opening_seq = seq + 1
        hand.clock[0] += 1_000
        hand.app.flush()
        await hand.press("4")
        assert hand.app.view.situation.opening
        feed._opening_seq = seq
        await look(hand)
        await show_an_hour(hand)
        assert ended(hand) > 5


async def test_in_the_past_events_of_the_same_second_are_told_apart(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"), agent("writer", "write"))
    submitted(work)
    work.succeed(attempt(work, "scout"))
    assert len({event.at_ms // 1_000 for event in work.journal}) == 1
    seq = next(seq for seq, event in enumerate(work.journal, 1) if isinstance(event, AttemptDone))
    async with opened(tmp_path, work=work) as hand:
        await hand.press("4")
        for moment, count in ((seq, 1), (seq - 1, 0), (seq, 1)):
            hand.app.past.goto_seq(moment)
            await until(hand.pilot, lambda moment=moment: hand.app.past.is_shown and hand.app.view.state.seq == moment)  # type: ignore[misc]
            await hand.press()
            assert ended(hand) == count


async def test_one_agent_alone_and_one_plot_alone_and_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("4", "w", "w", "j", "enter")
        await look(hand)
        assert "only " in hand.app.screen.query_one("#tabs").text  # type: ignore[attr-defined]
        await hand.press("p")
        await look(hand)
        assert "QUEUE" not in drawn(hand)
        await hand.press("escape")
        await look(hand)
        assert "QUEUE" in drawn(hand)
        assert "only " not in hand.app.screen.query_one("#tabs").text  # type: ignore[attr-defined]


async def test_a_low_window_has_plots_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 20)) as hand:
        await hand.press("4")
        await look(hand)
        assert not hand.table.display
        assert "THROUGHPUT" in drawn(hand)


async def test_of_a_file_without_an_engine_the_window_ends_at_its_newest_event(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.clock[0] += 400 * 86_400_000
        feed = hand.app.feed
        feed.engine = None
        hand.app.flush()
        await hand.press("4")
        await look(hand)

        assert clock(hand.work.state.at_ms) in drawn(hand)
        assert " now " not in drawn(hand)
        assert f"─ {hand.app.view.counts.waiting} ─" in drawn(hand)
        assert ended(hand) > 5


async def test_what_steps_have_spent_is_plotted_also_where_the_ends_of_their_attempts_report_nothing(
    tmp_path: Path,
) -> None:
    work = team_world(agent("ada"))
    work.now_ms = NOW_MS - 5_000
    submitted(work)
    work.record(
        attempt(work, "ada"),
        "turn:1",
        usage=Usage(tokens_in=90, tokens_out=10, cost_usd=Decimal("0.25")),
        duration_ms=1,
    )
    work.now_ms += 1_000
    work.succeed(attempt(work, "ada"))
    async with opened(tmp_path, work=work, size=(200, 60)) as hand:
        await hand.press("4")
        await look(hand)
        await until(hand.pilot, lambda: "$0.25 in the window" in drawn(hand))
        meant = {column.title: column.meaning for column in hand.table.rows.columns}
        assert all("in all, also before the window" in meant[title] for title in ("TOKENS", "COST"))


async def test_the_team_is_plotted_again_where_the_one_that_was_alone_has_left(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"), agent("writer", "write"), agent("spare", "rest"), participants=["scout"])
    submitted(work)
    work.ask(attempt(work, "scout"), "write", [f"page {number}" for number in range(9)])
    async with opened(tmp_path, work=work) as hand:
        await hand.press("4")
        await look(hand)
        waiting = _queue(hand)
        assert waiting != "0"
        hand.table.select(next(one.id for one in work.state.agents.values() if one.name == "spare"))
        await hand.press("enter")
        assert _queue(hand) == "0"
        await hand.meanwhile(RemoveMember(target="spare", mode="abort"))
        await look(hand)
        assert "of 2 agents" in drawn(hand)
        assert _queue(hand) == waiting


def _queue(hand: Hand) -> str:
    """What stands beside the title of the plot of the queue."""
    line = next(line for line in drawn(hand).splitlines() if "QUEUE" in line)
    return line.partition("QUEUE")[2].replace("─", " ").split()[0]
