"""Keys and the mouse on a team that stands still."""

from pathlib import Path

import anyio
import pytest
from textual import events
from textual.widgets import OptionList

from dashboard.dialogs.dialog import HelpScreen
from dashboard.dialogs.swap import SwapDialog
from dashboard.frame.frame import Frame
from dashboard.pages.agent import AgentScreen
from dashboard.pages.event import EventScreen
from dashboard.screens.agents import AgentsScreen
from dashboard.views.drawing.rows import Listing
from dashboard.views.drawing.sorting import title_of
from dashboard.widgets.bar import Bar
from dashboard.widgets.lines import Lines
from dashboard.widgets.pane import Pane
from dashboard.widgets.prompt import Prompt
from dashboard.widgets.scrubber import Scrubber
from dashboard.widgets.table import FRESH_MS, HEADINGS, Log, Table
from engine.core.commands import Command, Undo
from engine.core.signals import AttemptSucceeded
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened

pytestmark = pytest.mark.anyio


async def test_numbers_and_clicks_on_tabs_go_to_the_screens(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        for key, place in zip("056781", ("agents", "tasks", "events", "runs", "inbox", "network"), strict=True):
            await hand.press(key)
            assert hand.place == place

        drawn = "".join(segment.text for segment in hand.app.screen.query_one("#tabs", Bar).render_line(0))
        await hand.pilot.click("#tabs", offset=(drawn.index("Tasks"), 0))
        await hand.press()
        assert hand.place == "tasks"


async def test_on_80_columns_every_tab_has_a_name_and_a_page_shows_from_which_it_was_opened(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24)) as hand:
        await hand.press("0", "enter")
        assert isinstance(hand.app.screen, AgentScreen)
        drawn = hand.app.screen.query_one("#tabs", Bar).render_line(0)
        own = [one.text.split() for one in drawn if one.style is not None and one.style.bold]

        named = "1 Net 2 Graph 3 Time 4 Metrics 5 Tasks 6 Events 7 Runs 8 Inbox 9 State 0 Agents"
        assert drawn.text.strip() == named
        assert own == [["0"], ["Agents"]]


async def test_the_cursor_moves_by_keys_and_by_mouse_and_stays_on_its_row(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("j", "down", "k")
        assert hand.chosen == "planner"
        await hand.press("G")
        assert hand.chosen == "writer"
        await hand.press("g")
        assert hand.chosen == "chief"
        await hand.pilot.click("#body", offset=(10, HEADINGS + 3))
        await hand.press()
        assert hand.chosen == "scout"

        await hand.press("slash", *"scout", "enter")
        assert hand.chosen == "scout"
        await hand.press("escape")
        assert hand.chosen == "scout"
        assert len(hand.table.rows.keys) == 11


@pytest.mark.parametrize("returns", [[events.AppFocus()], []], ids=["the terminal says so", "a key says so"])
async def test_a_screen_that_opened_while_the_terminal_was_not_in_front_takes_keys_afterwards(
    tmp_path: Path, returns: list[events.AppFocus]
) -> None:
    async with opened(tmp_path) as hand:
        hand.app.post_message(events.AppBlur())
        await hand.press()
        hand.app.action_go("tasks")
        await hand.press()
        before = hand.table.selected

        for event in returns:
            hand.app.post_message(event)
            await hand.press()
        await hand.press("down", "down")

        assert hand.table.selected not in (None, before)


async def test_enter_opens_an_agent_and_escape_goes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("j", "j", "j", "j", "enter")
        assert isinstance(hand.app.screen, AgentScreen)
        text = hand.app.screen.query_one("#facts", Lines).text
        assert "scout-thorough  g2 ◆ swapped by drain" in text

        await hand.press("escape", "escape", "escape")
        assert hand.place == "network"


async def test_a_filter_acts_while_it_is_typed_and_escape_takes_it_off(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("5", "slash", *"json")
        assert {hand.line(y).split()[0] for y in (1, 2)} == {"lib/json/decoder.py", "lib/json/encoder.py"}
        await hand.press("escape")
        assert len(hand.table.rows.keys) > 20


def end_one(hand: Hand) -> None:
    """Let a scout end its task: the rows of Tasks change places."""
    key = next(key for key in hand.work.started if hand.work.state.tasks[key[0]].title.startswith("lib/"))
    hand.work.say(AttemptSucceeded(task_id=key[0], attempt=key[1], output="x", duration_ms=10))
    hand.clock[0] += 1_000
    hand.app.flush()


async def test_rows_hold_still_while_the_cursor_is_on_one_of_them(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(100, 16)) as hand:
        await hand.press("5", *["j"] * 5)
        shown, chosen = [hand.line(y)[:18] for y in range(1, 6)], hand.table.selected
        for _ in range(3):
            end_one(hand)
            await hand.press()
        assert hand.table.selected == chosen
        assert [hand.line(y)[:18] for y in range(1, 6)] == shown
        assert "order held" in hand.app.screen.query_one("#tabs", Bar).text

        await hand.press("escape")
        assert hand.table.line == 0
        assert "order held" not in hand.app.screen.query_one("#tabs", Bar).text


async def test_a_row_under_the_cursor_stays_in_sight_when_rows_above_it_come_and_go(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(100, 16)) as hand:
        await hand.press("5", "G")
        table, chosen = hand.table, hand.table.selected
        keys = list(table.rows.keys)
        for shorter in (keys[4:], keys, [keys[-1], *keys[:-1]]):
            assert isinstance(table.rows, Listing)
            table.show(Listing(table.rows.columns, shorter, table.rows.make), hand.clock[0])
            await hand.press()
            assert table.selected == chosen
            assert 0 <= table.line - table.scroll_offset.y < table.room


async def test_the_cursor_comes_along_when_the_wheel_scrolls(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(100, 16)) as hand:
        await hand.press("5")
        for _ in range(4):
            hand.table.scroll_down(animate=False)
        await hand.press()
        assert hand.table.scroll_offset.y == 4
        assert hand.table.line == 4


async def test_the_log_filters_while_it_is_typed(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("6", "slash", *"agent_broke")
        await until(hand.pilot, lambda: len(hand.table.rows.keys) == 1)
        assert hand.app.screen.query_one(Prompt).is_open


async def test_the_log_follows_until_somebody_looks_elsewhere(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(100, 20)) as hand:
        await hand.press("6")
        log = hand.app.screen.query_one(Log)
        last = hand.work.state.seq
        assert log.selected == str(last)

        await hand.press("k", "k")
        assert (log.following, log.selected) == (False, str(last - 2))
        await hand.press("g")
        assert hand.line(1).split()[0] == "1"
        await hand.press("end")
        assert (log.following, log.selected) == (True, str(last))


async def test_the_log_finds_events_by_agent_by_kind_and_by_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("6", "slash", *"agent:parser", "enter")
        await hand.press()
        assert "failed at its part of" in hand.line(3)
        await hand.press("escape", "slash", *"agent_broke", "enter")
        await hand.press()
        assert "counter cannot work" in hand.line(1)
        await hand.press("enter")
        assert isinstance(hand.app.screen, EventScreen)
        assert '"type": "agent_broke"' in hand.app.screen.query_one(Pane).text


async def test_idle_agents_are_folded_and_unfolded(tmp_path: Path) -> None:
    async with opened(tmp_path, idle=60) as hand:
        folded = len(hand.table.rows.keys)
        await hand.press("j", "j", "full_stop")
        assert len(hand.table.rows.keys) > folded + 40
        await hand.press("full_stop")
        assert len(hand.table.rows.keys) == folded


async def test_a_row_of_folded_agents_says_how_to_come_at_one(tmp_path: Path) -> None:
    async with opened(tmp_path, idle=60) as hand:
        fold = next(key for key in hand.table.rows.keys if key.startswith("fold:"))
        hand.table.select(fold)
        await hand.press("h")
        assert hand.said == "these are several agents; space shows them"


async def test_tab_completes_a_command_and_a_wrong_one_is_one_line(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("colon", *"age", "tab", "enter")
        assert hand.place == "agents"
        await hand.press("colon", *"fly", "enter")
        assert hand.said == "no command 'fly'; ? lists them"
        await hand.press("colon", *"pause nobody", "enter")
        assert hand.said.startswith("there is no 'nobody' here")
        assert hand.app.focused is hand.table


async def test_the_next_that_needs_a_person_is_one_key_away(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("7", "exclamation_mark")
        assert hand.place == "agents"
        assert hand.chosen == "counter"


async def test_sorting_goes_through_the_orders(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("0", "greater_than_sign")
        assert hand.line(1).split()[0] == "scout-thorough"
        assert "sorted: slowest" in hand.app.screen.query_one("#tabs", Bar).text
        await hand.press("greater_than_sign")
        assert hand.line(1).split()[0] == "counter"
        assert "STATE▾" in hand.line(0)


async def test_a_click_on_a_heading_sorts_every_table_also_one_that_knows_no_orders(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        for place, title in (("0", "AGENT"), ("5", "TASK"), ("7", "REQUEST"), ("8", "FROM"), (":audit\r", "COMMAND")):
            await hand.press(*("colon" if key == ":" else "enter" if key == "\r" else key for key in place))
            await hand.pilot.click("#body", offset=(hand.line(0).index(title) + 1, 0))
            await hand.press()
            assert f"{title}▾" in hand.line(0), place
        await hand.press("0")
        await hand.pilot.click("#body", offset=(hand.line(0).index("NOW") + 1, 0))
        assert "cannot be sorted by NOW" in hand.said


async def test_what_changed_is_bright_for_two_seconds_and_nothing_else_is_painted(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.app.animation_level = "full"
        key = next(key for key in hand.work.started if hand.work.state.tasks[key[0]].title == "lib/hashlib.py")
        bright = hand.table.tone("fresh").color

        def fresh() -> list[str]:
            row = hand.table.render_line(HEADINGS + 5)
            return [segment.text.strip() for segment in row if segment.style and segment.style.color == bright]

        assert fresh() == []
        hand.work.say(AttemptSucceeded(task_id=key[0], attempt=key[1], output="x", duration_ms=10))
        hand.clock[0] += 1_000
        hand.app.flush()
        assert "5" in fresh()
        assert not any(one.startswith(("●", "○")) for one in fresh()), "a state keeps its colour"
        hand.clock[0] += FRESH_MS
        hand.app.flush()
        assert fresh() == []


async def test_help_tells_the_keys_of_the_screen_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("1", "question_mark")
        told = hand.app.screen.query_one(Pane).text
        assert told.startswith("HERE")
        assert told.index("fold") < told.index("COLUMNS") < told.index("EVERYWHERE")
        await hand.press("escape", "5", "question_mark")
        assert "sort" in hand.app.screen.query_one(Pane).text
        await hand.press("escape")
        assert hand.place == "tasks"


async def test_quitting_ends_the_app(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.pilot.press("q")
        await hand.pilot.pause()

        assert hand.app.return_value == 0


async def test_a_click_on_a_key_of_the_last_line_does_what_the_key_does(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("j", "j", "j", "j")
        behind_enter_open = 14
        await hand.pilot.click("#keys", offset=(behind_enter_open, 0))
        await hand.press()

        assert isinstance(hand.dialog, SwapDialog)


async def click(hand: Hand, bar: str, text: str) -> None:
    """Click where a text stands in one of the lines of the frame."""
    drawn = "".join(segment.text for segment in hand.app.screen.query_one(bar, Bar).render_line(0))
    await hand.pilot.click(bar, offset=(drawn.index(text), 0))
    await hand.press()


async def test_a_click_on_any_key_presses_it_where_it_stands(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await click(hand, "#keys", "space")
        assert len(hand.app.screen.query_one(Table).marked) == 1
        await click(hand, "#keys", "v pane")
        assert hand.app.screen.query_one("#pane").size.width == 0
        await click(hand, "#keys", ": command")
        assert hand.app.screen.query_one(Prompt).purpose == "command"
        await hand.press("escape", "escape", "escape")
        await click(hand, "#tabs", "/ filter")
        assert hand.app.screen.query_one(Prompt).purpose == "filter"
        await hand.press("escape")
        await click(hand, "#header", "⚑")
        assert hand.app.screen.query_one(Table).selected in hand.app.view.counts.needs_person
        await click(hand, "#keys", "? keys")
        assert isinstance(hand.app.screen, HelpScreen)


async def test_a_click_on_a_key_does_what_it_does_on_this_screen(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("2")
        before = hand.app.screen.query_one("#keys", Bar).text
        await click(hand, "#keys", "t run or team")
        assert not hand.app.past.is_shown
        await hand.press("1", "left_square_bracket")
        assert before != hand.app.screen.query_one("#keys", Bar).text
        seq = hand.app.view.state.seq
        await click(hand, "#keys", ", .")
        earlier = hand.app.view.state.seq
        await click(hand, "#keys", ". event")
        assert earlier < seq == hand.app.view.state.seq


async def test_sorting_by_key_goes_by_the_columns_that_there_is_room_for(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(60, 24)) as hand:
        await hand.press("0")
        screen, titles = hand.app.screen, hand.table.titles
        assert isinstance(screen, AgentsScreen)
        assert len(titles) < len(hand.table.rows.columns)
        seen = set()
        for _ in screen.ORDERS:
            await hand.press("greater_than_sign")
            seen.add(title_of(screen.sorting.order, screen.HEADS))

        assert seen <= {"", *titles}
        assert len(seen) > 1


@pytest.mark.parametrize("at", ["#title", None])
async def test_the_help_is_closed_by_a_click_on_its_title_or_beside_it(tmp_path: Path, at: str | None) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("question_mark")
        await hand.pilot.click("#details")
        assert isinstance(hand.app.screen, HelpScreen)
        await hand.pilot.click(at, offset=(1, 0))
        await hand.press()
        assert not isinstance(hand.app.screen, HelpScreen)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_click_on_what_was_said_undoes_it_where_that_is_offered_and_goes_nowhere_in_time(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with opened(tmp_path, size=size) as hand:
        await until(hand.pilot, lambda: bool(hand.app.history.spans))
        hand.app.commands.undoable.append(("c1",))
        undone: list[Command] = [Undo(command_id="c1")]
        for text, orders in (("opened", []), ("✓ swapped ada, applied at seq 9 · u undo", undone)):
            hand.app.messages.say(text)
            await hand.pilot.pause()
            for _ in range(2):  # the first click names what is taken back
                assert hand.app.orders == []
                await hand.pilot.click(Scrubber, offset=(40 if size[0] == 80 else 60, 0))
                await hand.press()
            assert hand.app.orders == orders
            assert not hand.app.past.is_shown


@pytest.mark.parametrize("key", ["question_mark", "ctrl+p", "n", "g"])
async def test_a_double_click_beside_what_is_shown_closes_nothing_below(tmp_path: Path, key: str) -> None:
    async with opened(tmp_path) as hand:
        await hand.press(*(("5", "colon", *"jump", "enter") if key == "g" else ("5", key)))
        below = len(hand.app.screen_stack) - 1
        over = hand.app.screen
        for _ in range(3):  # as clicks that wait in its queue while it closes
            over.dismiss()
        await hand.press()
        assert hand.place == "tasks"
        assert len(hand.app.screen_stack) == below


@pytest.mark.parametrize("keys", [("ctrl+p",), ("0", "h"), ("S",)])
async def test_pages_of_a_list_that_has_no_room_or_is_not_laid_out_yet_are_passed_over(
    tmp_path: Path, keys: tuple[str, ...]
) -> None:
    async with opened(tmp_path) as hand:
        await hand.press(*keys)
        await until(hand.pilot, lambda: bool(hand.app.screen.query_one(OptionList).option_count))
        listed = hand.app.screen.query_one(OptionList)
        await hand.pilot.resize_terminal(1, 1)
        await hand.press()
        listed.highlighted = 0
        for way in ("page_down", "page_up"):
            await listed.run_action(way)
            await hand.press("pagedown", "pageup")
        assert hand.app.is_running


@pytest.mark.parametrize("y", [-60, -1, 60])
async def test_a_click_beside_lines_that_moved_under_a_pressed_button_is_passed_over(tmp_path: Path, y: int) -> None:
    async with opened(tmp_path, size=(140, 40)) as hand:
        for lines in hand.app.screen.query(Lines):
            lines.post_message(events.Click(lines, 1, y, 0, 0, 1, False, False, False))
        await hand.press()
        assert isinstance(hand.app.screen, Frame)


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("agent", "a2"),
        ("task", "t5"),
        ("run", "r1"),
        ("supervisor", "s1"),
        ("raw", "a2"),
        ("event", "5"),
    ],
)
async def test_a_page_is_left_before_it_is_laid_out(tmp_path: Path, kind: str, key: str) -> None:
    async with opened(tmp_path) as hand:
        for turns in range(6):
            hand.app.open(kind, key)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            hand.app.pop_screen()
            await hand.pilot.pause()
        assert hand.place == "network"
