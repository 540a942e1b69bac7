"""What a description comes to on a team that was changed meanwhile: laws over teams and operators that chance draws.

`declared` makes a team as it is described, whatever happened to it; `current` leaves all that happened; a description
that nobody contradicted is taken without a conflict; and to say it once more changes nothing.
"""

from random import Random
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from engine.core.commands import AddAgent, AddSupervisor, Declare, LoadTeam, SupervisorSpec, SwapAgent
from engine.core.decide.teams.loading import plan_of
from engine.core.decisions.decision_context import DecisionContext
from engine.core.errors import Refused
from engine.core.events import CommandApplied, CommandRefused
from engine.core.queries.targets import id_target
from engine.core.queries.team.code import references_in_command
from engine.core.queries.team.declared import describe_member
from engine.core.records.records import copy_with
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.simulation.operators import choose_command
from engine.simulation.teams import draw_options, draw_spec, draw_team, load_command
from tests.depth import examples
from tests.legal import assert_legal
from tests.world import World

OPERATORS = (
    "swap_agent", "rollback", "change_capabilities", "move", "change_supervisor", "switch_strategy", "remove_member",
    "add_agent", "add_supervisor", "replace_team", "swap_agents",
)  # fmt: skip
seeds = st.integers(0, 2**32)


def loaded(world: World, command: LoadTeam | Declare) -> dict[str, Any] | None:
    """Return the result of a description; None where it is refused."""
    events = world.order(command)
    for event in events:
        if isinstance(event, CommandRefused):
            assert events == [event]
            return None
        if isinstance(event, CommandApplied):
            assert_legal(world.state)
            return dict(event.result)
    raise AssertionError(events)


def operated(world: World, draw: Random, most: int = 8) -> None:
    """Let operators change the team, but for its root."""
    for number in range(draw.randint(1, most)):
        command = choose_command(draw.choice(OPERATORS), draw, world.state, number)
        if isinstance(command, AddAgent | AddSupervisor):
            command = copy_with(command, declared=False)
        if command is not None and not isinstance(command, LoadTeam | Declare):
            world.order(command)
    assume("s1" in world.state.supervisors)


def edited(draw: Random, team: SupervisorSpec) -> SupervisorSpec:
    """Return a team as somebody might have edited it: other settings, specs and order, some gone, some new."""
    members: list[AgentSpec | SupervisorSpec] = []
    for member in team.members:
        if draw.random() < 0.2:
            continue
        if isinstance(member, SupervisorSpec):
            members.append(edited(draw, member))
        else:
            members.append(draw_spec(draw, member.name) if draw.random() < 0.4 else member)
    members += [draw_spec(draw, f"new{number}") for number in range(draw.choice([0, 0, 1, 2]))]
    draw.shuffle(members)
    names = [one.name for one in members]
    agents = [one.name for one in members if isinstance(one, AgentSpec)]
    return copy_with(
        team,
        members=members,
        max_parallel=draw.choice([team.max_parallel, 4]),
        default_agent=draw.choice(agents) if agents else None,
        options=draw_options(draw, team.mode, names, agents),
    )


def top_of(state: State) -> str:
    """Return the id of what a file of the team describes: a root of its name, else the root that was moved."""
    name = state.supervisors["s1"].name
    return next((root.id for root in state.roots if root.name == name), "s1")


def tree(state: State) -> SupervisorSpec:
    team = describe_member(state, top_of(state))
    assert isinstance(team, SupervisorSpec)
    return team


def only(team: SupervisorSpec, like: SupervisorSpec) -> SupervisorSpec:
    """Return `team` without the members that `like` does not have."""
    wanted = {one.name: one for one in like.members}
    members = [
        only(one, wanted[one.name]) if isinstance(one, SupervisorSpec) else one  # type: ignore[arg-type]
        for one in team.members
        if one.name in wanted
    ]
    return copy_with(team, members=members)


def team_and_world(draw: Random) -> tuple[SupervisorSpec, World]:
    team, world = draw_team(draw), World()
    while loaded(world, load_command(team)) is None:
        team = draw_team(draw)
    return team, world


def plan(world: World, command: LoadTeam) -> list[Any]:
    granted = dict.fromkeys(references_in_command(command), "")
    return plan_of(world.state, command, DecisionContext(now_ms=world.now_ms, jitter=0.5, granted=granted))


@given(seeds)
@example(497)  # the root is moved, and an operator adds another one of its name
@settings(max_examples=examples(20))
def test_a_team_is_as_it_is_declared_whatever_operators_did(seed: int) -> None:
    draw = Random(seed)
    team, world = team_and_world(draw)
    operated(world, draw)

    if loaded(world, load_command(team)) is None:
        return
    assert only(tree(world.state), team) == team
    assert plan(world, load_command(team)) == []


@given(seeds)
@example(3728920)  # a declared member is removed, and another one is given what it was
@example(497)
@settings(max_examples=examples(20))
def test_what_operators_did_stays_where_the_team_as_it_is_wins(seed: int) -> None:
    draw = Random(seed)
    team, world = team_and_world(draw)
    operated(world, draw)
    before = tree(world.state)
    teams = {one for one in world.state.supervisors if one not in world.state.declared}

    for _ in range(2):
        result = loaded(world, copy_with(load_command(team), on_conflict="current"))
        if result is not None:
            # Where an operator put another supervisor in the place of a declared one, it gets its members.
            assert (only(tree(world.state), before) if teams else tree(world.state)) == before


@given(seeds)
@settings(max_examples=examples(20))
def test_an_edited_team_that_nobody_changed_meanwhile_is_taken_without_a_conflict(seed: int) -> None:
    draw = Random(seed)
    team, world = team_and_world(draw)
    after = edited(draw, team)
    command = copy_with(
        load_command(after), prune=draw.random() < 0.5, on_conflict=draw.choice(["declared", "current"])
    )
    planned = _planned(world, command)

    result = loaded(world, command)
    assert (result is None) == (planned is None)
    if result is None:
        return
    assert "conflicts" not in result
    assert only(tree(world.state), after) == after
    if command.prune:
        assert tree(world.state) == after
    assert plan(world, load_command(after)) == []


@pytest.mark.parametrize("on_conflict", ["declared", "current"])
@given(seed=seeds)
@settings(max_examples=examples(15))
def test_no_agent_is_doubled_where_the_file_renamed_or_moved_members_and_operators_swapped_them(
    on_conflict: Any, seed: int
) -> None:
    draw = Random(seed)
    team, world = team_and_world(draw)
    ids = set(world.state.agents)
    after = shuffled(draw, team)
    for agent in [*world.state.agents.values()] if draw.random() < 0.7 else []:
        for number in range(draw.randint(0, 2)):
            spec = copy_with(draw_spec(draw, agent.name), description=f"swapped {number}")
            world.order(SwapAgent(agent=id_target(agent.id), spec=spec))

    if loaded(world, copy_with(load_command(after), prune=True, on_conflict=on_conflict)) is not None:
        assert set(world.state.agents) == ids
        if on_conflict == "declared":
            assert only(tree(world.state), after) == after
        assert {change.change for change in plan(world, load_command(after))} <= {"swapped"}


def shuffled(draw: Random, team: SupervisorSpec) -> SupervisorSpec:
    """Return a team in which one agent has another name, and one stands elsewhere; settings name no members."""
    team = _plain(team)
    agents = [one for one in team.members if isinstance(one, AgentSpec)]
    teams = [one for one in team.members if isinstance(one, SupervisorSpec)]
    if not agents:
        return team
    gone = draw.choice(agents)
    members = [one.with_name("other") if one is gone else one for one in team.members]
    if teams and draw.random() < 0.5:
        to = draw.choice(teams)
        members = [one for one in members if one.name not in ("other", to.name)]
        members.append(copy_with(to, members=[*to.members, gone.with_name("other")]))
    return copy_with(team, members=members)


def _plain(team: SupervisorSpec) -> SupervisorSpec:
    below = [_plain(one) if isinstance(one, SupervisorSpec) else one for one in team.members]
    return SupervisorSpec(name=team.name, members=below)


def _planned(world: World, command: LoadTeam) -> list[Any] | None:
    try:
        return plan(world, command)
    except Refused:
        return None


@pytest.mark.parametrize("on_conflict", ["declared", "current"])
@given(seed=seeds)
@settings(max_examples=examples(10))
def test_a_program_that_says_the_same_again_changes_nothing(on_conflict: Any, seed: int) -> None:
    draw = Random(seed)
    team, world = team_and_world(draw)
    before = tree(world.state)

    result = loaded(world, Declare(parent=None, member=team, on_conflict=on_conflict))

    assert result is not None
    assert "conflicts" not in result
    assert tree(world.state) == before
