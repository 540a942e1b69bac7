"""The graph under the hands of an operator."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from dashboard.app.app import QuarterdeckApp
from dashboard.screens.graph import UNFOLDS_AFTER_MS, GraphScreen
from engine.core.commands import RemoveMember, Submit, SupervisorSpec
from tests.pilot.hand import opened
from tests.pilot.rest import at_rest
from tests.pilot.scene import NOW_MS, StillFeed, audit, write
from tests.story import submitted
from tests.world import World, agent, team_world


@asynccontextmanager
async def graph_on(folder: Path, work: World) -> AsyncIterator[tuple[Pilot[int], GraphScreen]]:
    db = folder / "team.db"
    await write(db, work)
    app = QuarterdeckApp(db, feed=StillFeed(db, work), clock=lambda: NOW_MS)
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "2")
        assert isinstance(app.screen, GraphScreen)
        yield pilot, app.screen


async def press(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await at_rest(pilot)


@pytest.mark.anyio
async def test_arrows_walk_and_enter_opens_what_the_box_is_about(tmp_path: Path) -> None:
    async with graph_on(tmp_path, audit()) as (pilot, screen):
        await press(pilot, "right", "down")
        assert screen.selected_key() == next(
            one.id for one in screen.state.agents.values() if one.name == "scout-careful"
        )
        await press(pilot, "enter")
        assert type(pilot.app.screen).__name__ == "AgentScreen"
        await press(pilot, "escape")
        assert pilot.app.screen is screen


@pytest.mark.anyio
async def test_t_shows_the_team_instead_of_the_run_and_the_run_again(tmp_path: Path) -> None:
    async with graph_on(tmp_path, audit()) as (pilot, screen):
        assert "RUN r1 Audit" in screen.board.text
        await press(pilot, "greater_than_sign")
        assert "RUN r2" in screen.board.text
        await press(pilot, "t")
        assert "TEAM chief" in screen.board.text
        await press(pilot, "t")
        assert "RUN" in screen.board.text


@pytest.mark.anyio
async def test_those_at_rest_are_shown_and_folded_by_a_key(tmp_path: Path) -> None:
    async with graph_on(tmp_path, audit(idle=20)) as (pilot, screen):
        await press(pilot, "t")
        assert "+15 idle" in screen.board.text
        await press(pilot, "i")
        assert "+15 idle" not in screen.board.text
        assert "scout-19" in screen.board.text


@pytest.mark.anyio
async def test_a_filter_leaves_what_matches_with_its_chain(tmp_path: Path) -> None:
    async with graph_on(tmp_path, audit()) as (pilot, screen):
        await press(pilot, "slash", *"careful", "enter")
        assert "scout-careful" in screen.board.text
        assert "planner" in screen.board.text
        assert "scout-thorough" not in screen.board.text


@pytest.mark.anyio
async def test_one_chain_is_shown_and_all_again(tmp_path: Path) -> None:
    async with graph_on(tmp_path, audit()) as (pilot, screen):
        await press(pilot, "right", "full_stop")
        assert "scout-careful" not in screen.board.text.split("folded")[0]
        await press(pilot, "escape")
        assert "scout-careful" in screen.board.text


@pytest.mark.anyio
async def test_a_click_puts_the_cursor_on_a_box_and_a_second_one_opens_it(tmp_path: Path) -> None:
    async with graph_on(tmp_path, audit()) as (pilot, screen):
        text = screen.board.text.splitlines()
        y = next(y for y, line in enumerate(text) if "writer" in line)
        x = text[y].index("writer")
        await pilot.click("#body", offset=(x, y))
        assert screen.target() is not None
        assert any(line.startswith("─ writer") for line in screen.board.text.splitlines()[-8:])
        await pilot.click("#body", offset=(x, y), times=2)
        await at_rest(pilot)
        assert type(pilot.app.screen).__name__ == "TaskScreen"


@pytest.mark.anyio
async def test_acting_is_about_the_box_under_the_cursor(tmp_path: Path) -> None:
    async with graph_on(tmp_path, audit()) as (pilot, _):
        await press(pilot, "right", "h")
        assert type(pilot.app.screen).__name__ == "SwapDialog"


@pytest.mark.anyio
async def test_an_empty_team_says_what_to_do(tmp_path: Path) -> None:
    async with graph_on(tmp_path, World()) as (pilot, screen):
        await press(pilot, "right", "enter", "t", "f", "full_stop")
        assert "quarterdeck demo" in screen.board.text


@pytest.mark.anyio
async def test_one_node_is_counted_as_one(tmp_path: Path) -> None:
    work = team_world(agent("ada"))
    submitted(work)
    async with graph_on(tmp_path, work) as (_, screen):
        assert next(one.text for one in screen.facts()) == "1 node"


@pytest.mark.anyio
async def test_a_chain_is_named_no_longer_once_its_node_is_gone(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"), agent("writer", "write"))
    async with opened(tmp_path, work=work) as hand:
        await hand.press("2", "i", "right", "full_stop")
        screen = hand.app.screen
        assert isinstance(screen, GraphScreen)
        assert "one chain" in screen.facts()[1].text
        gone = screen.selected_key()
        await hand.meanwhile(RemoveMember(target=f"@{gone}", mode="abort"))
        assert not any("one chain" in cell.text for cell in screen.facts())


@pytest.mark.anyio
async def test_a_graph_that_did_not_fit_is_whole_again_soon_after_it_does(tmp_path: Path) -> None:
    crews = [
        SupervisorSpec(
            name=f"team-{team}", mode="parallel", members=[agent(f"a{team}-{one}", "go") for one in range(12)]
        )
        for team in range(4)
    ]
    work = team_world(*crews, mode="parallel")
    work.order(Submit(request="go"))
    async with opened(tmp_path, work=work) as hand:
        await hand.press("2")
        screen = hand.app.screen
        assert isinstance(screen, GraphScreen)
        assert "● a3-1" not in screen.board.text
        while ended := [key for key in work.started if not _name(work, key[0]).startswith("a3-")]:
            for key in ended:
                work.succeed(key)
        for key in list(work.joins):
            work.join(key)
        hand.clock[0] += UNFOLDS_AFTER_MS
        hand.app.flush()
        await hand.press()
        assert "● a3-1" in screen.board.text


@pytest.mark.anyio
async def test_times_in_boxes_grow_while_nothing_happens(tmp_path: Path) -> None:
    work = team_world(agent("ada"))
    submitted(work)
    async with opened(tmp_path, work=work) as hand:
        hand.clock[0] = work.now_ms + 20_000
        await hand.press("2")
        screen = hand.app.screen
        assert isinstance(screen, GraphScreen)
        assert "20 s" in screen.board.text
        hand.clock[0] += 3_000
        hand.app.flush()
        await hand.press()
        assert "23 s" in screen.board.text


def _name(work: World, task_id: str) -> str:
    return work.state.agents[work.state.tasks[task_id].agent_id or ""].name
