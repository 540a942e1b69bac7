"""What agents say is hostile: on no screen does any of it reach the terminal as more than text."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from dashboard.app.app import QuarterdeckApp
from dashboard.deck.places import HOME
from dashboard.frame.table_screen import TableScreen
from dashboard.widgets.table import Table
from engine.core.commands import RegisterSpec, Submit
from engine.core.signals import AgentUnusable, AttemptSucceeded
from engine.core.specs.spec import AgentSpec
from tests.pilot.journey import SIZE, Journey
from tests.pilot.rest import at_rest
from tests.pilot.scene import NOW_MS, StillFeed, audit, write
from tests.pilot.trouble import trouble
from tests.world import World

EVIL = (
    "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066 "
    "[@click=app.exit]x[/] [/x] \x00\t\r\nnext\ud800\u200bz\u0301\u0301\u0301"
)
SAFE = EVIL.replace("\ud800", "")
"""The same without what no journal can hold."""


def evil_world() -> World:
    work = audit(*(f"{number} {SAFE}" for number in range(6)))
    for key in list(work.started)[1:3]:
        work.fail(key, f"failed {SAFE}")
    broken = next(iter(work.state.agents.values()))
    work.say(AgentUnusable(agent_id=broken.id, generation=1, error=SAFE))
    spec = AgentSpec(name="evil", run="crew:evil", description=SAFE, specialties=("scan", SAFE), options={"x": SAFE})
    work.order(RegisterSpec(spec=spec))
    work.order(Submit(request=SAFE, supervisor="metrics"))
    for key in list(work.started)[1:3]:
        work._over(key)
        work.say(AttemptSucceeded(task_id=key[0], attempt=key[1], output={"said": SAFE * 20}, duration_ms=3))
    return work


async def evil_app(folder: Path) -> QuarterdeckApp:
    work, db = evil_world(), folder / "team.db"
    await write(db, work)
    live = {"engine.banner": EVIL}
    for task in work.state.tasks.values():
        live[f"progress:{task.id}"] = '{"done": 1, "total": 2, "note": "\\u001b[2J\\u202e"}'
        live[f"text:{task.id}"] = EVIL
    return QuarterdeckApp(db, feed=StillFeed(db, work, live=live), clock=lambda: NOW_MS)


def drawn(app: QuarterdeckApp) -> str:
    """Every character that the terminal would get, beside our own style codes."""
    lines = app.screen._compositor.render_strips()
    return "".join(segment.text for line in lines for segment in line)


def assert_harmless(app: QuarterdeckApp, where: str) -> None:
    odd = {character for character in drawn(app) if not character.isprintable()}
    assert odd == set(), where


async def press(pilot: Pilot[int], *keys: str) -> None:
    await pilot.press(*keys)
    await at_rest(pilot)


WAYS = {
    "network": (),
    "network filtered": ("slash", "s", "c", "enter"),
    "agents": ("0",),
    "graph": ("2",),
    "graph of the team": ("2", "t", "i", "f", "right", "down"),
    "timeline": ("3", "down", "down", "plus", "left", "g"),
    "tasks": ("5",),
    "events": ("6",),
    "runs": ("7",),
    "agent page": ("j", "j", "j", "enter"),
    "task page": ("5", "enter"),
    "failed task page": ("5", "j", "j", "j", "enter"),
    "run page": ("7", "enter"),
    "event page": ("6", "k", "k", "enter"),
    "swap": ("j", "j", "j", "h"),
    "edit": ("j", "j", "j", "e"),
    "edit, garbage": ("j", "j", "j", "e", "left_square_bracket"),
    "new agent": ("N",),
    "cancel several": ("5", "space", "space", "ctrl+d"),
    "swap, another": ("j", "j", "j", "h", "down", "down"),
    "strategy": ("S",),
    "remove": ("j", "j", "j", "ctrl+d"),
    "cancel": ("5", "ctrl+d"),
    "cancel run": ("7", "ctrl+d"),
    "request": ("n",),
    "export": ("x",),
    "import": ("i",),
    "help": ("question_mark",),
    "palette": ("ctrl+p", "s", "c", "o"),
    "command line": ("colon", "c", "a", "n", "c", "e", "l", "space"),
}


IN_TROUBLE = {
    "network": (),
    "network marked": ("j", "space", "j", "space"),
    "tasks": ("5",),
    "runs": ("7",),
    "run page": ("7", "j", "j", "enter"),
    "agent page": ("j", "j", "j", "j", "j", "enter"),
    "inbox": ("8",),
    "inbox filtered": ("8", "slash", "l", "e", "d", "enter"),
    "answer": ("8", "enter"),
    "answer with an output": ("8", "enter", "right", "right", "right", "enter", "x"),
    "swap in each mode": ("j", "j", "j", "j", "j", "h", "tab", "down", "down"),
    "swap of several": ("0", "space", "space", "space", "h"),
    "roll back": ("j", "B"),
    "strategy and its settings": ("S", "down", "down", "tab", "x", "equals_sign", "1"),
    "priority": ("7", "j", "j", "P", "1"),
    "deadline": ("7", "j", "j", "D", "9", "s"),
    "reassign": ("5", "j", "a"),
    "move": ("j", "m"),
    "capability": ("j", "c", "plus", "x"),
    "settings": ("o", "x"),
    "request": ("n", "tab", "right", "tab", "right"),
    "who leads": ("E",),
    "events": ("6",),
}


async def assert_harmless_everywhere(app: QuarterdeckApp, ways: dict[str, tuple[str, ...]]) -> None:
    """Go each way from the first row of the first screen, and hold what the terminal would get at its end."""
    seen: dict[str, str] = {}
    async with app.run_test(size=SIZE) as pilot:
        journey = Journey(pilot, lambda where: None)
        for way, keys in ways.items():
            await journey.until(lambda: app.screen.query_one("#body", Table).selected)
            await press(pilot, *keys)
            app.messages.say(f"refused: {EVIL}", "error")
            await pilot.pause()

            assert_harmless(app, way)
            assert app.is_running
            assert drawn(app) not in seen.values(), f"{way} leads to where another one has led"
            seen[way] = drawn(app)
            await journey.back()
            await journey.press("escape")  # marks and filters
            screen = await journey.go(HOME)
            assert isinstance(screen, TableScreen)
            screen.table.go_to(0)


@pytest.mark.anyio
async def test_nor_does_it_when_the_team_is_in_trouble(tmp_path: Path) -> None:
    work, db = trouble(SAFE), tmp_path / "team.db"
    await write(db, work)
    app = QuarterdeckApp(db, feed=StillFeed(db, work), clock=lambda: NOW_MS)

    await assert_harmless_everywhere(app, IN_TROUBLE)


@pytest.mark.anyio
async def test_nothing_an_agent_says_reaches_the_terminal_as_more_than_text(tmp_path: Path) -> None:
    await assert_harmless_everywhere(await evil_app(tmp_path), WAYS)


def test_the_scene_is_as_hostile_as_it_says() -> None:
    work = evil_world()

    assert any("\x1b" in task.title for task in work.state.tasks.values())
    assert any("\x1b" in (agent.error or "") for agent in work.state.agents.values())
    assert any("\x1b" in run.title for run in work.state.runs.values())
