"""Pictures of every screen and dialog. After a change: look at each new one before it is kept."""

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from dashboard.app.app import QuarterdeckApp
from dashboard.dialogs.dialog import HelpScreen
from engine.core.state import TaskStatus
from tests.patience import PATIENCE_S
from tests.pilot.kept import feed_of, kept, led
from tests.pilot.rest import at_rest
from tests.pilot.scene import NOW_MS, StillFeed, audit, written
from tests.pilot.talking import asking, talking
from tests.pilot.trouble import trouble
from tests.world import World

Compare = Callable[..., bool]
PASTE = "paste:"
"""Text that is pasted: typing it would draw the screen once for each letter."""
SIZES = {"80x24": (80, 24), "120x40": (120, 40)}
SCREENS = {
    "network": (),
    "network_filtered": ("slash", "paste:scout"),
    "graph": ("2", "right"),
    "graph_team": ("2", "t"),
    "timeline": ("3", "j", "j", "j", "j", "j"),
    "agents": ("0", "greater_than_sign", "greater_than_sign"),
    "audit": ("f4", "j", "j"),
    "tasks": ("5",),
    "events": ("6",),
    "runs": ("7",),
    "supervisor": ("j", "j", "enter"),
    "agent": ("j", "j", "j", "j", "enter"),
    "task": ("5", "j", "enter"),
    "swap": ("j", "j", "j", "j", "h"),
    "strategy": ("S",),
    "rollback": ("j", "j", "j", "j", "B"),
    "remove": ("j", "j", "j", "ctrl+d"),
    "cancel": ("7", "ctrl+d"),
    "command": ("colon", "paste:strategy metrics "),
    "help": ("question_mark",),
    "past": ("colon", "paste:at 60", "enter"),
    "fork": ("colon", "paste:at 60", "enter", "F"),
    "edit": ("j", "j", "j", "e", "paste:timeout_s: 9\n"),
    "edit_faulty": ("j", "j", "j", "e", "paste:timeout: 9\n"),
    "new_agent": ("N",),
}


IN_TROUBLE = {
    "network": (),
    "graph": ("2", "t", "left"),
    "tasks": ("5", *["greater_than_sign"] * 4),
    "runs": ("7",),
    "run": ("7", "j", "j", "enter"),
    "agent": ("j", "j", "enter"),
    "described": ("j", "j", "d"),
    "raw": ("5", "y"),
    "inbox": ("8",),
    "answer": ("8", "down", "down", "enter", "4", "paste:by hand"),
    "swap": ("j", "j", "j", "j", "j", "h", "tab", "down"),
    "swap_several": ("0", "space", "space", "space", "h"),
    "strategy": ("colon", "paste:strategy audit sequential_with_validation returns=2", "enter"),
    "priority": ("7", "P", "2"),
    "deadline": ("colon", "paste:deadline t5 2h", "enter"),
    "reassign": ("colon", "paste:reassign t5 writer", "enter"),
    "move": ("j", "m"),
    "capability": ("j", "c", "paste:+sum"),
    "settings": ("o", "paste:balance=weight"),
    "request": ("n", "paste:Close the year"),
    "leading": ("E",),
    "steer": ("colon", "paste:steer t5 Begin with the oldest entry", "enter"),
    "cancel_several": ("5", "space", "space", "space", "ctrl+d"),
    "events": ("6",),
}


TALKING = {
    "network": (),
    "graph": ("2",),
    "timeline": ("3", "j", "j"),
    "agents": ("0",),
    "tasks": ("5",),
    "runs": ("7",),
    "writer": ("j", "j", "j", "j", "enter"),
    "scout": ("5", "j", "enter"),
    "seeker": ("5", "j", "j", "enter"),
}

ASKING = {
    "inbox": ("8", "space", "space"),
    "ask": ("8", "enter", "enter", "paste:The North Sea"),
    "approve": ("8", "j", "enter"),
    "approve_several": ("8", "j", "space", "space", "enter"),
}


KEPT = {
    "state": ("9", "j"),
    "engines": ("f7", "j", "j", "j"),
    "log": ("f8",),
    "teams": ("f9", "j"),
}


def app_on(work: World, *, alive: bool = True) -> QuarterdeckApp:
    db = written(Path("team.db"), work)
    running = [task.id for task in work.state.tasks.values() if task.status is TaskStatus.RUNNING]
    live = {f"progress:{task_id}": json.dumps({"done": 3, "total": 7, "note": "headers"}) for task_id in running[2:4]}
    return QuarterdeckApp(db, feed=StillFeed(db, work, alive=alive, live=live), clock=lambda: NOW_MS)


async def settled(pilot: Pilot[int]) -> None:
    await at_rest(pilot)
    assert isinstance(pilot.app, QuarterdeckApp)
    with anyio.fail_after(PATIENCE_S):
        while pilot.app.screen.query("Button.-active"):  # it looks pressed for a moment
            await pilot.pause(0.02)
    line = pilot.app.screen.focused
    if isinstance(pilot.app.screen, HelpScreen) and line is not None:  # its thumb says how many screens and words are
        line.styles.scrollbar_visibility = "hidden"
    if isinstance(line, Input | TextArea):  # of one without the focus the cursor would stay hidden when it gets it
        with anyio.fail_after(PATIENCE_S):
            while not line.has_focus:
                await pilot.pause()
        line.cursor_blink = False  # how long a key took must not decide whether the cursor is in the picture
        if isinstance(line, TextArea):
            line.notify_style_update()  # forgets a line that was drawn before the focus came, or between two blinks
        line.refresh()


def pressing(*keys: str) -> Callable[[Pilot[int]], object]:
    async def press(pilot: Pilot[int]) -> None:
        await settled(pilot)
        for key in keys:
            if key.startswith(PASTE):
                await paste(pilot, key.removeprefix(PASTE))
            else:
                await pilot.press(key)
            await settled(pilot)

    return press


async def paste(pilot: Pilot[int], text: str) -> None:
    line = pilot.app.focused
    assert isinstance(line, Input | TextArea)
    pilot.app.post_message(Paste(text))
    with anyio.fail_after(PATIENCE_S):
        while text not in (line.value if isinstance(line, Input) else line.text):
            await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_looks_as_it_was_approved(snap_compare: Compare, screen: str, size: str) -> None:
    app = app_on(audit())

    assert snap_compare(app, terminal_size=SIZES[size], run_before=pressing(*SCREENS[screen]))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("screen", IN_TROUBLE)
def test_a_team_in_trouble_looks_as_it_was_approved(snap_compare: Compare, screen: str, size: str) -> None:
    app = app_on(trouble())

    assert snap_compare(app, terminal_size=SIZES[size], run_before=pressing(*IN_TROUBLE[screen]))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("screen", TALKING)
def test_what_agents_say_now_looks_as_it_was_approved(snap_compare: Compare, screen: str, size: str) -> None:
    work, live = talking()
    db = written(Path("team.db"), work)
    app = QuarterdeckApp(db, feed=StillFeed(db, work, live=live), clock=lambda: NOW_MS)

    assert snap_compare(app, terminal_size=SIZES[size], run_before=pressing(*TALKING[screen]))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("screen", ASKING)
def test_what_waits_for_a_person_looks_as_it_was_approved(snap_compare: Compare, screen: str, size: str) -> None:
    work, live = asking()
    db = written(Path("team.db"), work)
    app = QuarterdeckApp(db, feed=StillFeed(db, work, live=live), clock=lambda: NOW_MS)

    assert snap_compare(app, terminal_size=SIZES[size], run_before=pressing(*ASKING[screen]))


def app_on_kept() -> QuarterdeckApp:
    work = led()
    db = kept(Path("fleet"), work)
    return QuarterdeckApp(db, feed=feed_of(db, work), clock=lambda: NOW_MS)


@pytest.mark.parametrize("size", [*SIZES, "200x60"])
@pytest.mark.parametrize("screen", KEPT)
def test_what_is_kept_of_a_team_looks_as_it_was_approved(snap_compare: Compare, screen: str, size: str) -> None:
    app = app_on_kept()

    assert snap_compare(app, terminal_size=SIZES.get(size, (200, 60)), run_before=pressing(*KEPT[screen]))


@pytest.mark.parametrize("screen", KEPT)
def test_what_is_kept_of_a_team_is_as_readable_in_light(snap_compare: Compare, screen: str) -> None:
    app = app_on_kept()

    keys = ("colon", "paste:theme light", "enter", *KEPT[screen])
    assert snap_compare(app, terminal_size=SIZES["120x40"], run_before=pressing(*keys))


def test_a_graph_uses_much_room(snap_compare: Compare) -> None:
    app = app_on(audit())

    assert snap_compare(app, terminal_size=(200, 60), run_before=pressing("2", "right"))


def test_much_room_is_used(snap_compare: Compare) -> None:
    app = app_on(trouble())

    assert snap_compare(app, terminal_size=(200, 60), run_before=pressing("3"))


@pytest.mark.parametrize("screen", ["agents", "audit"])
def test_a_pane_below_a_table_uses_much_room(snap_compare: Compare, screen: str) -> None:
    app = app_on(audit())

    assert snap_compare(app, terminal_size=(200, 60), run_before=pressing(*SCREENS[screen]))


def test_many_idle_agents_are_folded_into_one_line(snap_compare: Compare) -> None:
    app = app_on(audit(idle=37))

    assert snap_compare(app, terminal_size=(120, 40), run_before=pressing("j", "j"))


def test_an_engine_that_is_gone_is_said_with_what_to_do(snap_compare: Compare) -> None:
    app = app_on(audit(), alive=False)

    assert snap_compare(app, terminal_size=(120, 24), run_before=pressing())


def test_an_empty_file_says_what_would_be_here(snap_compare: Compare) -> None:
    app = app_on(World())

    assert snap_compare(app, terminal_size=(80, 24), run_before=pressing())


def test_the_light_theme_is_as_readable(snap_compare: Compare) -> None:
    app = app_on(audit())

    assert snap_compare(app, terminal_size=(120, 24), run_before=pressing("colon", "paste:theme light", "enter"))
