"""Describe, JSON and the clipboard: whatever is under the cursor, on every list and page."""

import json
from functools import partial
from pathlib import Path

import pytest
from textual.widget import Widget

from dashboard.pages.describe import DescribeScreen
from dashboard.pages.event import EventScreen
from dashboard.pages.raw import RawScreen
from dashboard.pages.run import RunScreen
from dashboard.pages.supervisor import SupervisorScreen
from dashboard.pages.task import TaskScreen
from dashboard.screens.events import EventsScreen
from dashboard.views.drawing.raw import as_json, object_of, raw_lines
from dashboard.widgets.bar import Bar
from dashboard.widgets.lines import Lines
from dashboard.widgets.pane import Pane
from dashboard.widgets.panel import Panel
from dashboard.widgets.picks import Picks
from engine.core.commands import RemoveMember, SupervisorSpec
from tests.pilot.engines import until
from tests.pilot.hand import opened
from tests.pilot.scene import audit
from tests.pilot.trouble import trouble
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio


async def test_d_tells_all_that_is_known_and_escape_goes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("j", "j", "j", "j", "d")
        page = hand.app.screen
        assert isinstance(page, DescribeScreen)
        await until(hand.pilot, lambda: "was swapped to g2" in page.query_one(Pane).text)
        assert "rolls it back" in page.query_one(Pane).text
        await hand.press("escape", "g", "d")
        assert "members" in hand.app.screen.query_one(Pane).text
        await hand.press("escape")
        assert hand.place == "network"


async def test_the_header_says_how_a_page_was_come_to_and_a_click_there_goes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:

        def path() -> str:
            return hand.app.screen.query_one("#header", Bar).text

        team = hand.app.feed.state.roots[0].name
        supervisor = next(one for one in hand.app.feed.state.supervisors.values() if one.parent_id is not None)
        agent = hand.app.feed.state.agents[next(one for one in supervisor.members if one.startswith("a"))]
        hand.app.open("supervisor", supervisor.id)
        await hand.press()
        hand.app.open("agent", agent.id)
        await hand.press()  # enter opens what is under the cursor, once it has been read
        await hand.press("enter")
        assert f"{team}  ▸ {supervisor.name}  ▸ {agent.name}  ▸ event " in path()

        await hand.pilot.click("#header", offset=(path().index(f"▸ {supervisor.name}") + 3, 0))
        await hand.press()
        assert isinstance(hand.app.screen, SupervisorScreen)
        assert f"{team}  ▸ {supervisor.name}" in path()

        await hand.pilot.click("#header", offset=(path().index(team) + 1, 0))
        await hand.press()
        assert hand.place == "network"
        assert f"▸ {supervisor.name}" not in path()


def _has(page: Widget, word: str) -> bool:
    return isinstance(page, Pane | Panel) and word in page.text


async def test_words_are_found_on_every_page_by_lines_that_stand_out(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 24)) as hand:
        for key, pane, word in (("d", Pane, "swapped"), ("y", Panel, "generation")):
            await hand.press("g", "j", "j", "j", "j", key)
            page = hand.app.screen.query_one("#body", pane)
            await until(hand.pilot, partial(_has, page, word))
            await hand.press("slash", *word, "enter")
            assert hand.said.startswith("1 of "), key
            ground = page.tone("away").bgcolor
            drawn = [page.render_line(y) for y in range(page.size.height)]
            lit = [one.text for one in drawn if any(part.style and part.style.bgcolor == ground for part in one)]
            assert lit, key
            assert [text for text in lit if word not in text] == [], key
            await hand.press("escape", "escape")


async def test_a_line_about_a_run_that_has_ended_leads_to_the_page_of_that_run(tmp_path: Path) -> None:
    work = trouble()
    ended = work.state.finished[0]
    async with opened(tmp_path, work=work) as hand:
        hand.app.open_key(ended.id)
        await hand.press()

        assert isinstance(hand.app.screen, RunScreen)


async def test_the_page_of_a_supervisor_that_has_left_says_so(tmp_path: Path) -> None:
    work = team_world(agent("ada"), SupervisorSpec(name="below", members=[]))
    (gone,) = (one.id for one in work.state.supervisors.values() if one.name == "below")
    work.order(RemoveMember(target="below"))
    assert gone not in work.state.supervisors
    async with opened(tmp_path, work=work) as hand:
        hand.app.open("supervisor", gone)
        await hand.press()

        assert "this supervisor has left the team" in hand.app.screen.query_one("#facts", Lines).text


async def test_y_shows_what_the_state_has_as_json_and_copies_it(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("5", "y")
        page = hand.app.screen
        assert isinstance(page, RawScreen)
        shown = json.loads(page.query_one("#body", Panel).whole)
        assert hand.app.feed.state.tasks[shown["id"]].title == shown["title"]
        await hand.press("Y")
        assert json.loads(hand.app.clipboard) == shown
        assert hand.said.startswith(f"✓ copied {shown['id']} as JSON")


async def test_y_on_an_event_shows_its_record(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("6", "y")
        page = hand.app.screen
        assert isinstance(page, RawScreen)
        await until(hand.pilot, lambda: '"type"' in page.query_one("#body", Panel).whole)
        assert page.query_one("#body", Panel).title.startswith("event ")


async def test_upper_y_copies_the_marked_rows_else_the_row_under_the_cursor(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("0", "Y")
        assert hand.app.clipboard.split("\t")[0] == hand.chosen
        await hand.press("space", "space", "Y")
        assert [row.split("\t")[0] for row in hand.app.clipboard.split("\n")] == ["planner", "scout"]


@pytest.mark.parametrize("place", ["events", "audit"])
async def test_an_event_is_described_by_its_own_page(tmp_path: Path, place: str) -> None:
    async with opened(tmp_path) as hand:
        hand.app.action_go(place)
        await hand.press()
        await until(hand.pilot, lambda: hand.table.selected)
        await hand.press("d")
        assert isinstance(hand.app.screen, EventScreen)
        depth = len(hand.app.screen_stack)
        await hand.press("d")
        assert len(hand.app.screen_stack) == depth


@pytest.mark.parametrize(("place", "rows"), [("state", "moments and files"), ("teams", "databases")])
async def test_what_is_no_object_of_the_team_is_not_described_as_one(tmp_path: Path, place: str, rows: str) -> None:
    async with opened(tmp_path) as hand:
        hand.app.action_go(place)
        await hand.press()
        await until(hand.pilot, lambda: hand.table.selected)
        for key in ("d", "y"):
            await hand.press(key)
            assert hand.place == place
            assert f"these rows are {rows}" in hand.said


async def test_every_object_of_a_team_is_json_that_keeps_its_fields() -> None:
    for work in (audit(), trouble()):
        state = work.state
        for key in (*state.agents, *state.supervisors, *state.tasks, *state.runs, *state.escalations):
            text = as_json(object_of(state, key))
            lines = raw_lines(text, 200)
            assert json.loads(text)["id"] == key
            assert json.loads("\n".join("".join(span.text for span in line.spans) for line in lines)) == json.loads(
                text
            )


async def test_a_task_that_no_attempt_began_on_counts_none(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        waits = next(one for one in hand.work.state.tasks.values() if one.kind == "agent" and not one.attempts)
        hand.app.open("task", waits.id)
        await hand.press()
        assert hand.app.screen.query_one("#steps", Panel).text.splitlines()[0].strip("─ ") == "ATTEMPTS"


async def test_a_task_shows_its_attempts_what_it_was_asked_and_leads_to_what_it_asked_for(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        clerk = next(one for one in hand.work.state.tasks.values() if one.title == "clerk")
        hand.app.open("task", clerk.id)
        await hand.press()
        page = hand.app.screen
        assert isinstance(page, TaskScreen)
        steps = page.query_one("#steps", Panel)
        await until(hand.pilot, lambda: "ATTEMPTS" in steps.text and "ledger 13" in steps.whole)
        assert "Read every ledger" in page.query_one("#asked", Panel).whole
        assert "waits for 14 delegated tasks" in page.query_one("#facts", Lines).text
        first = hand.work.state.tasks[clerk.children[0]]
        while steps.selected != first.id:
            await hand.press("down")
        await hand.press("enter")
        assert first.title in hand.app.screen.query_one("#facts", Lines).text


async def test_y_shows_what_the_cursor_is_on_in_a_pane_beside_the_tree(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(160, 44)) as hand:
        hand.table.select(next(one.id for one in hand.work.state.agents.values() if one.name == "scout"))
        pane = hand.app.screen.query_one("#pane", Picks)
        pane.focus()
        await hand.press("down")
        assert pane.chosen in hand.work.state.tasks
        task_id = pane.chosen
        await hand.press("y")
        assert isinstance(hand.app.screen, RawScreen)
        assert hand.app.screen.subject_id == task_id


async def test_the_page_of_an_event_that_is_not_there_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.app.open("event", "999999")
        await hand.press()
        page = hand.app.screen
        assert isinstance(page, EventScreen)
        await until(hand.pilot, lambda: "999,999" in page.query_one(Pane).text or "999999" in page.query_one(Pane).text)


async def test_events_of_another_day_have_their_date_also_where_a_filter_found_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("6")

        def shown() -> tuple[int, set[int]]:
            rows = hand.table.rows
            newest = range(len(rows.keys))[-5:]
            return rows.columns[1].width, {len(rows.cells(place)[1].text) for place in newest}

        await hand.press("slash", *"attempt_done", "enter")
        await until(hand.pilot, lambda: shown() == (8, {8}))
        hand.clock[0] += 2 * 86_400_000
        hand.app.flush()
        await hand.press()
        assert shown() == (16, {16})
        await hand.press("escape")
        assert shown() == (16, {16})


async def test_a_search_of_the_events_begins_after_a_pause_in_typing_or_with_enter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.screens.events.TYPED_S", 3_600.0)
    async with opened(tmp_path) as hand:
        await hand.press("6", "slash", *"attempt_done")
        screen = hand.app.screen
        assert isinstance(screen, EventsScreen)
        assert screen.finding.needle == ""

        await hand.press("enter")
        assert screen.finding.needle == "attempt_done"

        monkeypatch.setattr("dashboard.screens.events.TYPED_S", 0.01)
        await hand.press("slash", "x")
        await until(hand.pilot, lambda: screen.finding.needle == "attempt_donex")
