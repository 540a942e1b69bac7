"""One supervisor with everything under it, taken elsewhere."""

from typing import Any

import pytest

from engine.archive.reading import complete_state, read_state
from engine.core.commands import Move, ReplaceTeam, SupervisorSpec
from engine.core.errors import Refused
from engine.core.signals import EngineBegan
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry
from engine.core.state import RunStatus, State
from tests.exports import exported, ready
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, ended, submitted, works
from tests.world import World, agent, team_world


def part(world: World, supervisor_id: str) -> tuple[State, World]:
    """Return what an archive of a part holds, and an empty team that took it in."""
    state, texts = exported(world, only=supervisor_id)
    checked = read_state(complete_state(state, texts)).state
    twin = World()
    twin.say(EngineBegan(pid=2, token=3, version="test"))
    twin.say(ready(state, texts))
    assert_legal(twin.state)
    return checked, twin


def newsroom(**desk: Any) -> World:
    """A chief with an agent of its own, and two desks below it."""
    return team_world(
        agent("lead"),
        SupervisorSpec(name="desk", members=[agent("ada"), agent("bob", "sum")], **desk),
        SupervisorSpec(name="archive", members=[agent("cyd", "dig")]),
        participants=["lead"],
        options=SupervisorOptions(on_failure=(Retry(2),), grace_s=7, limits=Limits(tokens=9), max_total=30),
    )


def test_a_part_is_a_supervisor_with_its_agents_and_the_runs_submitted_to_it() -> None:
    world = newsroom()
    submitted(world)
    inside = submitted(world, supervisor="desk")

    found, twin = part(world, "s2")

    assert [one.name for one in found.supervisors.values()] == ["desk"]
    assert [one.name for one in found.agents.values()] == ["ada", "bob"]
    assert list(found.runs) == [inside]
    assert works(twin) == ["ada"]
    twin.settle()
    assert ended(twin).status is RunStatus.DONE
    assert [one.name for one in twin.state.roots] == ["desk"]


def test_what_it_had_from_above_it_has_by_itself() -> None:
    found, _ = part(newsroom(), "s2")

    options = found.supervisors["s2"].options
    assert (options.on_failure, options.grace_s) == ((Retry(2),), 7.0)
    assert (options.limits, options.max_total) == (None, None)


def test_what_a_run_asked_of_others_is_asked_again_where_it_goes_on() -> None:
    world = newsroom(participants=["ada"])
    submitted(world, supervisor="desk")
    world.record(attempt(world, "ada"), "read", "three")
    world.ask(attempt(world, "ada"), "dig", [1, 2], call="k1")
    world.succeed(attempts(world, "cyd")[0], "a hole")

    found, twin = part(world, "s2")

    assert [task.kind for task in found.tasks.values()] == ["group", "agent"]
    (start,) = twin.starts
    assert start.steps == {"read": "three"}
    key = attempt(twin, "ada")
    assert [event.type for event in twin.ask(key, "dig", [1, 2], call="k1")] == ["call_refused"]
    twin.ask(key, "sum", [1, 2], call="k2")
    twin.settle()
    assert ended(twin).status is RunStatus.DONE


def test_a_node_of_a_graph_for_others_is_cancelled_and_the_rest_goes_on() -> None:
    world = newsroom()
    submitted(world, supervisor="desk")
    applied(world, Move(target="ada", parent="archive"))

    _, twin = part(world, "s2")

    assert works(twin) == ["bob"]
    twin.settle()
    assert ended(twin).status is RunStatus.DONE


def test_an_agent_that_moved_in_is_in_the_part_with_the_work_it_brought() -> None:
    world = newsroom()
    submitted(world, supervisor="desk")
    applied(world, Move(target="cyd", parent="desk"))
    applied(world, Move(target="bob", parent="archive"))
    applied(world, Move(target="bob", parent="desk"))

    _, twin = part(world, "s2")
    twin.settle()

    assert [start.agent for start in twin.starts] == ["ada", "bob"]
    assert ended(twin).status is RunStatus.DONE


def test_a_part_of_a_team_that_has_finished_counts_its_own_runs_alone() -> None:
    world = newsroom()
    submitted(world)
    submitted(world, supervisor="desk")
    world.settle()

    found, _ = part(world, "s2")

    assert (found.runs_total, found.tasks_total, found.tasks_done) == (1, 2, 2)
    assert [run.supervisor_id for run in found.finished] == ["s2"]


def test_a_supervisor_of_which_nothing_is_left_once_its_work_has_stopped_is_no_part() -> None:
    world = team_world(SupervisorSpec(name="below", members=[agent("ada")]), agent("bob"))
    submitted(world, supervisor="below")
    applied(
        world, ReplaceTeam(supervisor="chief", team=SupervisorSpec(name="chief", members=[agent("bob")]), mode="abort")
    )

    with pytest.raises(Refused, match="'below' is being removed"):
        part(world, "s2")


def test_agents_elsewhere_that_work_in_processes_are_no_concern_of_a_part() -> None:
    world = team_world(SupervisorSpec(name="below", members=[agent("ada")]), agent("bob", run_in="process"))
    submitted(world, supervisor="below")

    checked, twin = part(world, "s2")

    assert list(checked.agents) == ["a1"]
    assert works(twin) == ["ada"]


def test_no_run_is_given_the_id_of_a_finished_one_that_came_in() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    world.settle()
    world.say(ready(*exported(world)))
    assert {run.id for run in world.state.finished} == {"r1", "r2"}

    assert submitted(world) == "r3"
