"""The page of an agent: its panes, its keys, and the ways from it."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dashboard.frame import panels_screen
from dashboard.pages.agent import AgentScreen
from dashboard.pages.task import TaskScreen
from dashboard.views.drawing.lines import Line
from dashboard.views.event_log import Entry
from dashboard.views.facts.agent_says import event_lines
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from dashboard.widgets.panel import Panel
from engine.core.commands import AddAgent, Pause, SupervisorSpec, SwapAgent
from engine.core.records.records import copy_with
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened
from tests.pilot.talking import talking
from tests.story import attempt, done, member, submitted
from tests.world import World, agent, load, team_world

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def at_agent(
    tmp_path: Path, name: str, *, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[Hand, AgentScreen]]:
    work, live = talking()
    async with opened(tmp_path, work=work, size=size) as hand:
        hand.app.feed.live = live
        hand.clock[0] += 1_000
        hand.app.flush()
        agent = next(one for one in work.state.agents.values() if one.name == name)
        hand.app.open("agent", agent.id)
        await hand.press()
        page = hand.app.screen
        assert isinstance(page, AgentScreen)
        await until(hand.pilot, lambda: page.reading.entries)
        await hand.press()
        yield hand, page


def pane(page: AgentScreen, name: str) -> Panel:
    return page.query_one(f"#{name}", Panel)


async def test_a_window_of_another_size_has_the_page_drawn_once_for_all_of_its_panels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[ViewState] = []
    draw = AgentScreen.draw

    def noted(page: AgentScreen, view: ViewState) -> None:
        drawn.append(view)
        draw(page, view)

    monkeypatch.setattr(AgentScreen, "draw", noted)
    async with at_agent(tmp_path, "scout") as (hand, page):
        drawn.clear()
        await hand.pilot.resize_terminal(130, 44)
        await until(hand.pilot, lambda: page.size.width == 130)
        await hand.press()

    # By its panels, by the frame, and by the clock. How often the team is looked at meanwhile depends on the machine.
    assert max(Counter(map(id, drawn)).values()) <= 3


async def test_enter_unfolds_the_step_under_the_cursor_and_folds_it_again(tmp_path: Path) -> None:
    async with at_agent(tmp_path, "scout") as (hand, page):
        steps = pane(page, "steps")
        assert "3 ● now thinks" in steps.whole
        assert "tides.org" not in steps.whole
        await hand.press("k", "enter")
        assert "tides.org/spring" in steps.whole
        await hand.press("enter")
        assert "tides.org" not in steps.whole


async def test_the_prompt_unfolds_over_the_steps_and_escape_folds_it(tmp_path: Path) -> None:
    async with at_agent(tmp_path, "scout") as (hand, page):
        assert "Find three sources" in pane(page, "told").whole
        await hand.press("p")
        assert not pane(page, "steps").display
        assert "tool      search → " in pane(page, "told").whole
        await hand.press("escape")
        assert pane(page, "steps").display
        await hand.press("escape")
        assert hand.place == "network"


async def test_what_is_said_follows_its_end_until_it_is_held(tmp_path: Path) -> None:
    async with at_agent(tmp_path, "writer", size=(80, 24)) as (hand, page):
        said = pane(page, "says")
        task = next(iter(hand.work.state.agents[page.subject_id].running))

        async def write(lines: int) -> None:
            hand.app.feed.live = {f"output:{task}": "\n\n".join(f"line {number}" for number in range(lines))}
            hand.clock[0] += 1_000
            hand.app.flush()
            await hand.press()

        await write(40)
        assert "line 39 ▍" in said.text
        await hand.press("f")
        held = said.text.replace(" ▍", "").split("\n")[1:]
        await write(60)
        assert said.text.split("\n")[1:] == held
        await hand.press("f")
        assert "line 59 ▍" in said.text


async def test_a_wide_screen_shows_the_step_under_the_cursor_beside(tmp_path: Path) -> None:
    async with at_agent(tmp_path, "scout", size=(200, 60)) as (hand, page):
        beside = pane(page, "aside")
        assert "sea.net/why" in beside.whole
        await hand.press("k", "k")
        assert "sea.net/why" not in beside.whole
        assert "⚙ search" in beside.whole


async def test_an_agent_without_steps_shows_its_events_and_its_last_tasks_lead_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("j", "j", "j", "j", "enter")
        page = hand.app.screen
        assert isinstance(page, AgentScreen)
        await until(hand.pilot, lambda: " swapped to g2" in pane(page, "steps").whole)
        assert "lib/" in pane(page, "times").whole
        await hand.press("tab", "tab", "tab", "enter")
        assert isinstance(hand.app.screen, TaskScreen)


def _ended() -> World:
    """Return a team whose run has ended: its lead gave a page to a reader; the state has forgotten both tasks."""
    work = team_world(agent("lead"), agent("reader", "read"), participants=["lead"])
    submitted(work, "Read the log of the voyage")
    work.ask(attempt(work, "lead"), "read", [{"title": "page 7", "text": "The wind came from the west"}])
    done(work, "reader")
    done(work, "lead")
    for key in list(work.joins):
        work.join(key)
    assert not work.state.tasks
    return work


async def test_the_input_of_a_task_that_the_state_has_forgotten_is_read_from_its_plan(tmp_path: Path) -> None:
    async with opened(tmp_path, work=_ended(), size=(120, 40)) as hand:

        async def shown(kind: str, key: str, pane_id: str, text: str) -> None:
            hand.app.open(kind, key)
            await hand.press()
            panel = hand.app.screen.query_one(f"#{pane_id}", Panel)
            await until(hand.pilot, lambda: text in panel.whole)

        for name, given in (("reader", "The wind came from the west"), ("lead", "Read the log of the voyage")):
            agent_id = next(one.id for one in hand.work.state.agents.values() if one.name == name)
            await shown("agent", agent_id, "told", given)
            page = hand.app.screen
            assert isinstance(page, AgentScreen)
            await hand.press("p")
            assert given in pane(page, "told").whole
            assert page.events.task_id is not None
            await shown("task", page.events.task_id, "asked", given)


async def test_a_page_says_what_happened_with_the_present_name_of_a_member(tmp_path: Path) -> None:
    work = team_world(agent("ada", "parse"))
    work.order(Pause(target="ada"))
    async with opened(tmp_path, work=work) as hand:
        hand.app.open("agent", member(work, "ada").id)
        page = hand.app.screen
        assert isinstance(page, AgentScreen)
        await until(hand.pilot, lambda: page.reading.entries)
        assert "ada was paused: it starts nothing new" in [
            said.text for _, _, said in page.reading.sentences(hand.app.view)
        ]

        await hand.meanwhile(
            load(SupervisorSpec(name="chief", members=[copy_with(agent("ada", "parse"), name="grace")]))
        )

        assert "grace was paused: it starts nothing new" in [
            said.text for _, _, said in page.reading.sentences(hand.app.view)
        ]


async def test_nothing_is_told_beside_of_an_agent_that_was_not_in_the_team_yet(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"))
    before = work.state.seq
    work.order(AddAgent(supervisor="chief", spec=agent("late", "read")))
    work.order(SwapAgent(agent="late", spec=agent("later", "read", timeout_s=5.0)))
    added = next(one for one in work.state.agents.values() if one.name == "late")
    async with opened(tmp_path, work=work, size=(200, 60)) as hand:
        hand.app.open("agent", added.id)
        await hand.press()
        page = hand.app.screen
        assert isinstance(page, AgentScreen)
        await until(hand.pilot, lambda: pane(page, "aside").title)
        hand.app.past.goto_seq(before)
        await until(hand.pilot, lambda: "there is no such agent yet" in page.query_one("#facts", Lines).text)
        assert not pane(page, "aside").title


async def test_the_page_of_a_task_that_waits_follows_what_is_written_once_it_is(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"))
    submitted(work)
    task_id = attempt(work, "scout")[0]
    async with opened(tmp_path, work=work, size=(100, 24)) as hand:
        hand.app.open("task", task_id)
        await hand.press()
        page = hand.app.screen
        assert isinstance(page, TaskScreen)
        says = page.query_one("#says", Panel)

        hand.app.feed.live = {f"output:{task_id}": "\n\n".join(f"line {number}" for number in range(40))}
        hand.clock[0] += 1_000
        hand.app.flush()
        await hand.press()

        assert "line 39 ▍" in says.text
        assert "following · f holds" in says.text


async def test_the_events_of_a_page_are_put_into_words_once_and_not_in_every_frame(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def noted(entries: Sequence[Entry], *said: Any, **more: Any) -> list[Line]:
        made.append(len(entries))
        return event_lines(entries, *said, **more)

    monkeypatch.setattr(panels_screen, "event_lines", noted)
    work = team_world(agent("scout", "scan"))
    submitted(work)
    task_id = attempt(work, "scout")[0]
    async with opened(tmp_path, work=work) as hand:
        hand.app.open("task", task_id)
        await hand.press()
        page = hand.app.screen
        assert isinstance(page, TaskScreen)
        await until(hand.pilot, lambda: page.reading.entries)
        await hand.press()
        made.clear()
        for _ in range(3):
            hand.clock[0] += 1_000
            hand.app.flush()
            await hand.press()

    assert not made
