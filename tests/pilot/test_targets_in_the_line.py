"""Every word of the `:` line that changes a member or work reaches the same object by each form of naming it."""

from functools import cache
from pathlib import Path

import pytest

from dashboard.actions import WORDS
from dashboard.actions.command_line import parse_line
from dashboard.dialogs.dialog import Dialog
from dashboard.frame.frame import Frame
from engine.core.commands import AddSupervisor, SupervisorSpec, SwapAgent
from engine.core.queries.targets import find_agent, find_any
from tests.pilot.hand import Hand, opened
from tests.story import applied, submitted
from tests.unit.test_targets_everywhere import forms
from tests.world import World, agent, team_world


def team() -> World:
    """Return a team of three levels at work, whose agents were swapped; two are called dan."""
    low = SupervisorSpec(name="low", members=[agent("cyd"), agent("dan")])
    world = team_world(agent("ada"), SupervisorSpec(name="sub", members=[agent("bea"), agent("dan"), low]))
    submitted(world)
    for one in list(world.state.agents.values()):
        applied(world, SwapAgent(agent=f"@{one.id}", spec=agent(one.name, "more")))
    return world


@cache
def offered(name: str) -> tuple[str, ...]:
    """Return the objects with which a word of the line that changes something is completed."""
    of = WORDS[name].targets
    return tuple(of(team().state, "")) if of is not None and WORDS[name].writes else ()


TAKES_AGENTS = [name for name in WORDS if "cyd" in offered(name)]
TAKES_SUPERVISORS = [name for name in WORDS if "low" in offered(name)]
TAKES_WORK = [name for name in WORDS if "t2" in offered(name)]


async def reached(hand: Hand, line: str) -> object:
    """Carry out a line, and return the dialog, the page or the command that came of it, or what was said."""
    app, place = hand.app, hand.app.screen
    before, orders = len(app.says), len(app.orders)
    assert isinstance(place, Frame)
    action, said = parse_line(line)
    action.call(place, said)
    await hand.press()
    screen = app.screen
    result = (
        screen.title_line()
        if isinstance(screen, Dialog)
        else (type(screen).__name__, getattr(screen, "subject_id", "")),
        app.orders[orders:],
        app.says[before:],
    )
    while app.screen is not place:
        app.pop_screen()
        await hand.press()
    return result


@pytest.mark.anyio
async def test_a_word_of_the_line_reaches_the_same_object_by_each_form(tmp_path: Path) -> None:
    assert {"swap", "rollback", "edit", "capability", "move", "remove", "pause", "steer"} <= {*TAKES_AGENTS}
    async with opened(tmp_path, work=team()) as hand:
        state = hand.app.feed.state
        for names, word in ((TAKES_AGENTS, "cyd"), (TAKES_SUPERVISORS, "low"), (TAKES_WORK, "t2")):
            by_id, *others = forms(state, find_any(state, word))
            target = others[-1]  # the name alone; of work the bare id
            for name in names:
                expected = await reached(hand, f"{name} {by_id}")
                assert await reached(hand, f"{name} {target}") == expected, f":{name} {target}"


@pytest.mark.anyio
async def test_a_word_for_agents_means_the_agent_where_a_team_has_its_name_too(tmp_path: Path) -> None:
    world = team()
    applied(world, AddSupervisor(parent="sub", team=SupervisorSpec(name="cyd")))
    async with opened(tmp_path, work=world) as hand:
        by_id = find_agent(hand.app.feed.state, "cyd").id
        for name in ("swap", "rollback", "edit", "capability"):
            assert await reached(hand, f"{name} cyd") == await reached(hand, f"{name} @{by_id}"), name


@pytest.mark.anyio
async def test_a_name_that_may_mean_two_agents_and_an_unknown_one_are_refused_alike(tmp_path: Path) -> None:
    both = "'dan' is not unique; say one of sub/dan (@a3), low/dan (@a5)"
    async with opened(tmp_path, work=team()) as hand:
        for name in TAKES_AGENTS:
            assert both in str(await reached(hand, f"{name} dan")), name
        for name in {*TAKES_AGENTS, *TAKES_SUPERVISORS, *TAKES_WORK}:
            assert "no " in str(await reached(hand, f"{name} nobody")), name
