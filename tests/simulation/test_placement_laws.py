"""Where delegated work goes, against an oracle that looks at everybody and measures how far away they are."""

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.core.commands import AddAgent, ChangeCapabilities, Move, SupervisorSpec
from engine.core.errors import NoAgentMatches
from engine.core.fold import fold
from engine.core.queries.targets import id_target
from engine.core.queries.work.placement import place_for
from engine.core.state import Agent, State, Supervisor
from tests.depth import examples
from tests.world import World, agent, team_world

NAMES = ("ada", "bob", "dig", "team")
SKILLS = ("dig", "sing", "ada")

Draw = Callable[[st.SearchStrategy[Any]], Any]


def tree(draw: Draw, depth: int, name: str) -> SupervisorSpec:
    """Draw a team in which names and skills come again on other levels."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    members: list[Any] = []
    for one in names:
        if depth and draw(st.booleans()):
            members.append(tree(draw, depth - 1, one))
        else:
            members.append(agent(one, draw(st.sampled_from(SKILLS))))
    return SupervisorSpec(name=name, members=members)


@st.composite
def teams(draw: Draw) -> World:
    """Draw a tree whose members are paused, in error, exhausted, shut out or leaving."""
    top = tree(draw, 3, "top")
    world = team_world(*top.members, agent("asker", "dig"), mode="parallel")
    for one in world.state.agents.values():
        trouble = draw(st.sampled_from(["", "", "", "paused", "error", "exhausted", "open", "removing"]))
        if one.name == "asker":
            continue
        if trouble == "paused":
            one.paused = True  # type: ignore[misc]
        elif trouble == "error":
            one.error = "no code"  # type: ignore[misc]
        elif trouble == "exhausted":
            one.exhausted = "spent"  # type: ignore[misc]
        elif trouble == "open":
            one.circuit = "open"  # type: ignore[misc]
        elif trouble == "removing":
            one.removing = "drain"  # type: ignore[misc]
    for team in world.state.supervisors.values():
        if team.parent_id is not None and draw(st.integers(0, 5)) == 0:
            team.exhausted = "spent"  # type: ignore[misc]
    return world


def up(state: State, supervisor: Supervisor) -> list[str]:
    """Return a supervisor and all above it."""
    return [
        supervisor.id,
        *([] if supervisor.parent_id is None else up(state, state.supervisors[supervisor.parent_id])),
    ]


def distance(state: State, home: Supervisor, there: Supervisor) -> tuple[int, int]:
    """Return how many levels up, and then down, it is from one supervisor to another."""
    mine, theirs = up(state, home), up(state, there)
    common = next(one for one in mine if one in theirs)
    return mine.index(common), theirs.index(common)


def can(state: State, one: Agent) -> bool:
    """Return whether an agent is able to work at all."""
    broken = one.removing or one.error or one.exhausted or one.circuit != "closed"
    above = [state.supervisors[each] for each in up(state, state.supervisors[one.supervisor_id])]
    return not broken and not any(team.exhausted or team.error for team in above)


def does(state: State, one: Agent, target: str) -> bool:
    """Return whether an agent has a name or a capability."""
    return target == one.name or target in state.spec_of(one).specialties


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow])
@given(teams(), st.sampled_from(["dig", "sing", "ada", "team"]), st.data())
def test_work_goes_to_the_nearest_who_are_able(world: World, target: str, data: st.DataObject) -> None:
    state = world.state
    asker = data.draw(st.sampled_from([one for one in state.agents.values() if one.removing is None]))
    home = state.supervisors[asker.supervisor_id]
    named: dict[tuple[int, int], set[str]] = {}
    able: dict[tuple[int, int], set[str]] = {}
    for one in state.agents.values():
        where = distance(state, home, state.supervisors[one.supervisor_id])
        if can(state, one) and one.name == target:
            named.setdefault(where, set()).add(one.id)
        if can(state, one) and does(state, one, target) and one.id != asker.id:
            able.setdefault(where, set()).add(one.id)
    for team in state.supervisors.values():
        inside = [one for one in state.agents.values() if team.id in up(state, state.supervisors[one.supervisor_id])]
        if team.name == target and team.parent_id is not None and any(can(state, one) for one in inside):
            named.setdefault(distance(state, home, state.supervisors[team.parent_id]), set()).add(team.id)
    try:
        place = place_for(state, home, target, asker=asker)
    except NoAgentMatches:
        assert not named
        assert not able
        return

    nearest = min([*named, *able], default=None)
    if nearest is None:
        assert place.waits
    elif nearest in named and len(named[nearest]) == 1:
        assert not place.waits
        assert {place.worker_id} == named[nearest]
    elif nearest in named:
        assert place.queue_event is not None
        assert not place.waits
        theirs = {one.id: {one.id, *up(state, state.supervisors[one.supervisor_id])} for one in state.agents.values()}
        assert all(theirs[one] & named[nearest] for one in place.queue_event.agent_ids)
        assert all(any(member in theirs[one] for one in place.queue_event.agent_ids) for member in named[nearest])
    else:
        takers = (
            place.queue_event.agent_ids if place.queue_event is not None else state.queues[place.queue or ""].agents
        )
        assert not place.waits
        assert able[nearest] <= set(takers)
        teams = {state.agents[one].supervisor_id for one in takers}
        assert {distance(state, home, state.supervisors[team]) for team in teams} == {nearest}


def levels(draw: Draw, deep: int, name: str) -> SupervisorSpec:
    """Draw a team in which only those so many levels below are able to dig."""
    below = draw(st.integers(2, 3)) if deep else 0
    worker = agent(f"{name}-worker", "dig" if not deep else "sing")
    teams = [levels(draw, deep - 1, f"{name}{one}") for one in range(below)]
    return SupervisorSpec(name=name, members=[worker, *teams])


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_who_comes_near_shared_work_takes_from_it_as_those_who_are_there_do(data: st.DataObject) -> None:
    draw: Draw = data.draw
    world = team_world(*levels(draw, draw(st.integers(0, 2)), "t").members, mode="parallel")
    state = world.state
    teams = list(state.supervisors.values())
    asking, before, home = (draw(st.sampled_from(teams)) for _ in range(3))
    made = place_for(state, asking, "dig", asker=None).queue_event
    assert made is not None
    fold(state, [made])
    able = draw(st.booleans())

    world.order(AddAgent(supervisor=id_target(before.id), spec=agent("newcomer", "dig" if able else "sit")))
    if home is not before:
        world.order(Move(target="newcomer", parent=id_target(home.id)))
    if not able:
        world.order(ChangeCapabilities(agent="newcomer", add=["dig"]))

    queue = state.queues[made.key]
    (came,) = (one for one in state.agents.values() if one.name == "newcomer")
    anchor = state.supervisors[queue.supervisor_id]
    near = {distance(state, anchor, state.supervisors[state.agents[one].supervisor_id]) for one in made.agent_ids}
    assert (came.id in queue.agents) == (distance(state, anchor, home) in near)
