"""The Recipes screen: a tree by maker with rights and references, removal after a question, the time bar."""

from pathlib import Path

import pytest

from dashboard.dialogs.dialog import Confirm
from dashboard.pages.agent import AgentScreen
from dashboard.screens.recipes import RecipesScreen
from dashboard.widgets.lines import Lines
from engine.core.commands import CreateAgent, RetireRecipes
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened
from tests.pilot.scene import audit
from tests.story import attempts, member
from tests.world import World

pytestmark = pytest.mark.anyio


def making() -> World:
    """The audit, whose scout has made a digger, which has made a sorter; the scout keeps the digger in its state."""
    work = audit()
    scout = member(work, "scout").id
    work.order(CreateAgent(maker=scout, name="digger", primer="You dig.\x1b[31m", capabilities=["agents"], model="x/y"))
    made = next(agent.id for agent in work.state.agents.values() if agent.name == "digger")
    work.order(CreateAgent(maker=made, name="sorter", primer="You sort.", model="x/y"))
    changes = {"mine": [{"$agent": "k1"}]}
    work.record(next(iter(attempts(work, "scout"))), "save", state_changes=changes, state_versions={"mine": 0})
    return work


async def go(hand: Hand) -> RecipesScreen:
    await hand.press("colon", *"recipes", "enter")
    screen = hand.app.screen
    assert isinstance(screen, RecipesScreen)
    return screen


async def test_recipes_stand_below_their_makers_and_enter_opens_the_agent(tmp_path: Path) -> None:
    async with opened(tmp_path, work=making()) as hand:
        screen = await go(hand)
        scout = member(hand.work, "scout").id

        assert [*screen.table.rows.keys] == [scout, "k1", "k2"]
        names = [screen.table.rows.cells(row)[0] for row in range(3)]
        assert [f"{cell.lead}{cell.text}" for cell in names] == ["scout", "└ digger", "  └ sorter"]
        await hand.press("slash", *"sort", "enter")
        assert [*screen.table.rows.keys] == [scout, "k1", "k2"]
        await hand.press("slash", *["backspace"] * 4, *"nobody", "enter")
        assert [*screen.table.rows.keys] == []
        await hand.press("escape", "j", "enter")
        assert isinstance(hand.app.screen, AgentScreen)


async def test_the_pane_says_who_refers_to_a_recipe_and_shows_no_control_characters(tmp_path: Path) -> None:
    async with opened(tmp_path, work=making(), size=(120, 40)) as hand:
        screen = await go(hand)
        await hand.press("j")
        pane = screen.query_one("#below", Lines)
        await until(hand.pilot, lambda: "RECIPE k1" in pane.text)

        assert "\x1b" not in pane.text
        assert all(words in pane.text for words in ("mine of scout", "rights      agents", "scout/digger/sorter (k2)"))


async def test_a_recipe_is_removed_with_what_its_agent_made_after_a_question(tmp_path: Path) -> None:
    async with opened(tmp_path, work=making()) as hand:
        await go(hand)
        await hand.press("R")
        assert "which recipe?" in hand.said
        await hand.press("j", "R")
        assert isinstance(hand.app.screen, Confirm)
        told = " ".join(hand.told("details").split())
        assert "k2 scout/digger/sorter" in told
        assert "2 agents will leave" in told
        assert "ctx.state still names it: mine of scout" in told
        await hand.press("enter")

        assert hand.ordered == RetireRecipes(recipes=["k1", "k2"])


async def test_the_time_bar_shows_recipes_as_they_were(tmp_path: Path) -> None:
    async with opened(tmp_path, work=making()) as hand:
        screen = await go(hand)
        seq = next(seq for seq, event in enumerate(hand.work.journal, 1) if event.type == "recipe_made")
        hand.app.past.goto_seq(seq)
        await until(hand.pilot, lambda: [*screen.table.rows.keys][1:] == ["k1"])
        await hand.press("L")
        await until(hand.pilot, lambda: [*screen.table.rows.keys][1:] == ["k1", "k2"])


async def test_made_agents_stand_below_their_maker_in_the_network(tmp_path: Path) -> None:
    async with opened(tmp_path, work=making()) as hand:
        rows = [line for line in map(hand.line, range(24)) if "digger" in line or "sorter" in line]

        assert rows[0].index("digger") + 2 == rows[1].index("sorter")


async def test_a_team_without_recipes_says_how_they_come_about(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        screen = await go(hand)

        assert "functions do it with ctx.create_agent" in "".join(screen.table.rows.empty)
