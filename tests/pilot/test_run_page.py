"""The page of a run: its panes, its report, and the ways from it."""

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from textual.dom import DOMNode
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock

from dashboard.pages.run import RunScreen
from dashboard.widgets.board import Board
from dashboard.widgets.lines import Lines
from dashboard.widgets.pane import Pane
from dashboard.widgets.panel import Panel
from dashboard.widgets.report import Report
from engine.core.commands import Submit
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened
from tests.pilot.trouble import trouble
from tests.story import done
from tests.world import World, agent, team_world

pytestmark = pytest.mark.anyio
REPORT = "# Findings\n\n1. **One** is [here](http://x.y).\n\n| a | b |\n|---|---|\n| 1 | \x1b[31m2 |\n"


LONG = "".join(f"## Part {at}\n\n{'Words of the report. ' * 30}\n\n" for at in range(1, 13))


def finished(report: str = REPORT) -> World:
    work = team_world(agent("writer"))
    work.order(Submit(request="Write it up", supervisor="chief"))
    done(work, "writer", report)
    for key in list(work.joins):
        work.join(key)
    return work


def panel(hand: Hand, name: str) -> Panel:
    return hand.app.screen.query_one(f"#{name}", Panel)


async def test_a_finished_run_shows_its_report_rendered_and_its_tasks_from_the_journal(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished()) as hand:
        await hand.press("7", "enter")
        assert isinstance(hand.app.screen, RunScreen)
        page = hand.app.screen
        await until(hand.pilot, lambda: "Findings" in page.report.text)
        blocks = [type(block).__name__ for block in page.query_one(Markdown).walk_children()]
        assert {"MarkdownH1", "ReportTable", "MarkdownOrderedList"} <= set(blocks)
        assert "\x1b" not in page.report.text
        await until(hand.pilot, lambda: "writer" in panel(hand, "at_work").whole)


async def test_the_last_line_names_no_key_that_does_nothing_to_a_run_that_has_ended(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished()) as hand:
        await hand.press("7", "enter")
        assert isinstance(hand.app.screen, RunScreen)
        named = dict(hand.app.screen.keys())
        assert not {"D", "P", "ctrl+d", "f"} & named.keys()
        assert "r" in named


async def test_the_line_above_a_report_says_the_way_to_its_whole_screen_and_back(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished()) as hand:
        await hand.press("7", "enter")
        heading = hand.app.screen.query_one("#heading", Lines)
        await until(hand.pilot, lambda: heading.text.endswith("o whole screen ─"))
        await hand.press("o")
        await until(hand.pilot, lambda: heading.text.endswith("o shows its tasks ─"))
        await hand.press("o")
        await until(hand.pilot, lambda: heading.text.endswith("o whole screen ─"))


async def test_words_are_found_in_a_report_one_place_after_the_other(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished(LONG)) as hand:
        await hand.press("7", "enter")
        report = hand.app.screen.query_one(Report)
        await until(hand.pilot, lambda: report.text == LONG)

        await hand.press("slash", *"PART 1", "enter")
        assert hand.said == "1 of 4 · / and enter: the next place"
        hits = [str(block.render()) for block in report.query(".-hit").results(MarkdownBlock)]
        assert hits == ["Part 1", "Part 10", "Part 11", "Part 12"]

        await hand.press("slash", "enter")
        assert hand.said.startswith("2 of 4")
        await until(hand.pilot, lambda: report.region.contains_region(report.query(".-hit")[1].region))
        await hand.press("slash", *"tides", "enter")
        assert hand.said == "nowhere on this page"
        assert not report.query(".-hit")
        await hand.press("escape")
        assert isinstance(hand.app.screen, RunScreen)
        assert hand.app.screen.finding.needle == ""


async def test_a_long_report_is_drawn_whole_section_by_section(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished(LONG)) as hand:
        await hand.press("7", "enter")
        report = hand.app.screen.query_one(Report)
        await until(hand.pilot, lambda: report.text == LONG)
        assert len(report.query(Markdown)) > 1
        assert [str(block.render()) for block in report.query("MarkdownH2")] == [f"Part {at}" for at in range(1, 13)]
        edges = [
            block.region for block in report.query("MarkdownBlock").results() if isinstance(block.parent, Markdown)
        ]
        assert {below.y - above.bottom for above, below in itertools.pairwise(edges)} == {1}

        report.show("# Another\n")
        await until(hand.pilot, lambda: report.text == "# Another\n")
        assert len(report.query(Markdown)) == 1


async def test_the_graph_of_a_run_that_has_ended_is_drawn_from_the_journal(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished(), size=(160, 50)) as hand:
        await hand.press("7", "enter")
        page = hand.app.screen
        await until(hand.pilot, lambda: "writer" in page.query_one("#graph", Lines).text)
        await hand.press("escape", "2", "t")
        board = hand.app.screen.query_one(Board)
        await until(hand.pilot, lambda: "RUN r1" in board.text and "writer" in board.text)
        await hand.press("t")
        await until(hand.pilot, lambda: "RUN r1" not in board.text)


async def test_the_graph_of_a_run_that_has_ended_is_read_again_after_the_file_could_not_be_read(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished(), size=(160, 50)) as hand:
        away = hand.app.path.rename(tmp_path / "away.db")
        await hand.press("7", "enter")
        assert "team.db" in hand.said
        away.rename(hand.app.path)
        hand.clock[0] += 60_000
        hand.app.flush()
        page = hand.app.screen
        await until(hand.pilot, lambda: "writer" in page.query_one("#graph", Lines).text)


async def test_a_run_that_has_ended_is_replayed_on_a_page_and_an_open_one_is_not(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished()) as hand:
        await hand.press("7", "w")
        page = hand.app.screen
        await until(hand.pilot, lambda: "r1 gives the same result" in page.query_one(Pane).text)
        assert "quarterdeck replay r1 --db" in page.query_one(Pane).text
        assert "--with-model" in page.query_one(Pane).text
    (tmp_path / "other").mkdir()
    async with opened(tmp_path / "other", work=trouble()) as hand:
        await hand.press("7", "j", "w")
        assert "cannot be replayed; a run that has ended can" in hand.said


async def test_tab_goes_through_the_panes_and_enter_opens_the_task_under_the_cursor(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("7", "j", "j", "enter")
        assert hand.app.focused is panel(hand, "at_work")
        await hand.press("tab")
        assert hand.app.focused is panel(hand, "waiting")
        await hand.press("j", "enter")
        assert not isinstance(hand.app.screen, RunScreen)
        await hand.press("escape")
        assert isinstance(hand.app.screen, RunScreen)


async def test_the_report_stands_over_all_until_it_is_put_back(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished()) as hand:
        await hand.press("7", "enter")
        page = hand.app.screen
        assert isinstance(page, RunScreen)
        before = page.report.size.width
        await hand.press("o")
        assert page.report.size.width > before
        await hand.press("escape")
        assert page.report.size.width == before
        await hand.press("escape")
        assert hand.place == "runs"


async def test_a_page_is_left_while_its_report_is_being_drawn(tmp_path: Path) -> None:
    async with opened(tmp_path, work=finished()) as hand:
        for turns in range(0, 48, 6):
            hand.app.open("run", "r1")
            await hand.pilot.pause()
            report = hand.app.screen.query_one(Report)
            await until(hand.pilot, partial(getattr, report, "text"))
            report.show(LONG)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            hand.app.pop_screen()
            await hand.pilot.pause()


async def test_to_show_the_report_over_all_looks_for_no_style_of_what_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, work=finished(LONG)) as hand:
        await hand.press("7", "enter")
        page = hand.app.screen
        assert isinstance(page, RunScreen)
        await until(hand.pilot, lambda: page.report.text == LONG)
        await hand.press()
        styled: list[object] = []
        apply = hand.app.stylesheet.apply

        def noted(node: DOMNode, **said: Any) -> None:
            styled.append(node)
            apply(node, **said)

        monkeypatch.setattr(hand.app.stylesheet, "apply", noted)
        wide = page.report.size.width
        await hand.press("o")

        assert page.report.size.width > wide
        assert not [node for node in styled if isinstance(node, MarkdownBlock)]
        await hand.press("escape")
        assert page.report.size.width == wide


async def test_panes_that_stood_side_by_side_stand_in_one_where_the_window_became_narrow(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(140, 44)) as hand:
        await hand.press("7", "enter")
        await hand.press()
        assert panel(hand, "waiting").display
        await hand.pilot.resize_terminal(90, 30)
        await until(hand.pilot, lambda: not panel(hand, "waiting").display)
        await hand.press()
        work = hand.app.screen.query_one("#work")
        assert not panel(hand, "failed").display
        assert panel(hand, "at_work").size.height == work.size.height

        await hand.pilot.resize_terminal(140, 44)
        await until(hand.pilot, lambda: panel(hand, "waiting").display)
