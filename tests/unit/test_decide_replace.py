"""What is under a supervisor becomes like a description of it; settings change with it, or by themselves."""

import pytest

from engine.core.commands import AddAgent, ChangeSupervisor, ReplaceTeam, Submit, SupervisorSpec
from engine.core.events import StrategySwitched, SupervisorChanged
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryChange, DiscoveryConfig
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus, Supervisor
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, ended, member, only, refused, submitted, works
from tests.world import World, agent, load, team_world

TRUSTED = [f"crew:{name}" for name in ("ada", "bob", "cyd", "dan", "eve", "new")]
DEEP = SupervisorSpec(name="deep", members=[agent("cyd")])


def supervisor(world: World, name: str) -> Supervisor:
    return next(one for one in world.state.supervisors.values() if one.name == name)


def names(world: World) -> list[str]:
    agents = [one.name for one in world.state.agents.values()]
    return sorted([*agents, *(one.name for one in world.state.supervisors.values())])


def replace(*members: object, mode: str = "drain", **fields: object) -> ReplaceTeam:
    team = SupervisorSpec(name="left", members=list(members), **fields)  # type: ignore[arg-type]
    return ReplaceTeam(supervisor="left", team=team, mode=mode)


def left_of(*members: object) -> World:
    """A chief with one sub-supervisor that has these members."""
    left = SupervisorSpec(name="left", members=list(members))  # type: ignore[arg-type]
    return team_world(agent("lead"), left, participants=["lead"])


def test_what_differs_is_swapped_what_is_new_is_added_and_the_rest_is_removed() -> None:
    world = left_of(agent("ada"), agent("bob"), DEEP)

    result = applied(world, replace(agent("ada", timeout_s=5), agent("new"), DEEP))

    assert result == {
        "supervisor_id": "s2", "agents_added": 1, "agents_swapped": 1, "agents_removed": 1, "supervisors_added": 0,
        "supervisors_removed": 0, "supervisors_changed": 0, "strategies_switched": 0, "members_moved": 0,
        "members_renamed": 0,
    }  # fmt: skip
    assert names(world) == ["ada", "chief", "cyd", "deep", "lead", "left", "new"]
    assert member(world, "ada").generation == 2


def test_a_supervisor_that_is_not_named_leaves_with_everything_under_it() -> None:
    world = left_of(agent("ada"), SupervisorSpec(name="deep", members=[agent("cyd"), SupervisorSpec(name="deeper")]))

    assert applied(world, replace(agent("ada")))["supervisors_removed"] == 2

    assert names(world) == ["ada", "chief", "lead", "left"]
    assert not world.state.leaving


def test_a_supervisor_at_work_goes_once_its_work_has_ended_and_gets_nothing_new_until_then() -> None:
    world = left_of(agent("ada"), DEEP)
    submitted(world, supervisor="deep")

    applied(world, replace(agent("ada")))

    assert supervisor(world, "deep").leaving == "drain"
    assert "is being removed" in refused(world, Submit(request="go", supervisor="deep"))
    assert "is being removed" in refused(world, AddAgent(supervisor="deep", spec=agent("new")))
    run = submitted(world, supervisor="left")
    assert [world.state.tasks[one].title for one in world.state.runs[run].tasks] == ["go", "ada"]
    world.succeed(attempt(world, "cyd"))
    assert names(world) == ["ada", "chief", "lead", "left"]
    assert_legal(world.state)


def test_abort_stops_the_work_of_a_supervisor_that_leaves() -> None:
    world = left_of(agent("ada"), DEEP)
    submitted(world, supervisor="deep")

    applied(world, replace(agent("ada"), mode="abort"))
    world.settle()

    assert ended(world).status is RunStatus.CANCELLED
    assert names(world) == ["ada", "chief", "lead", "left"]


def test_an_open_graph_above_goes_on_with_a_supervisor_that_leaves() -> None:
    world = left_of(agent("ada"), DEEP)
    submitted(world, supervisor="left")

    applied(world, replace(agent("ada")))
    world.settle()

    assert [start.agent for start in world.starts] == ["ada", "cyd"]
    assert ended(world).status is RunStatus.DONE
    assert "deep" not in names(world)


def test_what_waits_for_a_capability_of_a_supervisor_that_leaves_is_done_first() -> None:
    world = left_of(agent("ada"), SupervisorSpec(name="deep", members=[agent("cyd", "sum")]))
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", [1, 2, 3])

    applied(world, replace(agent("ada")))
    world.settle()

    assert ended(world).status is RunStatus.DONE
    assert names(world) == ["ada", "chief", "lead", "left"]


def test_work_of_a_removed_agent_goes_to_others_where_that_is_asked_for() -> None:
    world = left_of(agent("ada", "sum"), agent("bob", "sum"))
    submitted(world)
    world.ask(attempt(world, "lead"), "ada", [1])

    applied(world, replace(agent("bob", "sum"), mode="requeue"))
    world.stop(min(world.stopping))

    assert works(world) == ["lead", "bob"]


def test_nothing_happens_where_one_thing_cannot_be() -> None:
    world = left_of(agent("ada"), agent("bob"))
    before = len(world.journal)

    reason = refused(world, replace(agent("ada", timeout_s=5), SupervisorSpec(name="bob", members=[agent("cyd")])))

    assert reason == "bob is an agent of left and would be a supervisor; remove it first"
    assert len(world.journal) == before + 1
    assert member(world, "ada").generation == 1


def test_a_description_of_what_is_there_is_refused_as_nothing_new() -> None:
    world = left_of(agent("ada"), DEEP)

    assert "nothing to replace" in refused(world, replace(agent("ada"), DEEP))


@pytest.mark.parametrize("mode", ["migrate", "abort"])
def test_swaps_are_made_in_the_mode_that_is_asked_for(mode: str) -> None:
    world = left_of(agent("ada"))
    submitted(world, supervisor="left")

    applied(world, replace(agent("ada", timeout_s=5), mode=mode))

    assert attempts(world, "ada")[0] in world.stopping


def test_an_unknown_mode_is_refused() -> None:
    assert "no mode 'swiftly'" in refused(left_of(agent("ada")), replace(agent("new"), mode="swiftly"))


def test_a_replacement_changes_settings_and_strategy_in_flight() -> None:
    world = left_of(agent("ada"), agent("bob"))
    submitted(world, supervisor="left")

    applied(world, replace(agent("ada"), agent("bob"), mode="drain", max_parallel=3))
    events = world.order(ReplaceTeam(
        supervisor="left",
        team=SupervisorSpec(
            name="left", mode="parallel", aggregation="synthesis", aggregator="new", max_parallel=3,
            members=[agent("ada"), agent("bob"), agent("new")],
        ),
    ))  # fmt: skip

    assert isinstance(only(events, "strategy_switched"), StrategySwitched)
    assert supervisor(world, "left").max_parallel == 3
    assert works(world) == ["ada", "bob"]
    world.settle()
    assert [start.agent for start in world.starts] == ["ada", "bob", "new"]


def test_a_changed_file_changes_settings_of_supervisors_and_switches_strategies_in_flight() -> None:
    world = team_world(agent("ada"), agent("bob"), SupervisorSpec(name="left", members=[agent("cyd")]))
    submitted(world)

    result = applied(
        world,
        load(
            SupervisorSpec(
                name="chief",
                mode="parallel",
                options=SupervisorOptions(limits=Limits(depth=3)),
                members=[
                    agent("ada"),
                    agent("bob"),
                    SupervisorSpec(name="left", max_parallel=2, members=[agent("cyd")]),
                ],
            )
        ),
    )

    assert result == {"agents_added": 0, "agents_swapped": 0, "supervisors_changed": 2, "strategies_switched": 1}
    changes = [event for event in world.journal if isinstance(event, SupervisorChanged)]
    assert [event.fields for event in changes] == [["limits"], ["max_parallel"]]
    assert works(world) == ["ada", "bob", "cyd"]


def test_a_file_that_cannot_be_is_refused_whole() -> None:
    world = team_world(agent("ada"), SupervisorSpec(name="left", members=[agent("cyd")]))

    reason = refused(
        world,
        load(
            SupervisorSpec(
                name="chief",
                mode="parallel",
                options=SupervisorOptions(limits=Limits(depth=1)),
                members=[agent("ada", timeout_s=3)],
            )
        ),
    )

    assert "2 levels deep already" in reason
    assert (member(world, "ada").generation, supervisor(world, "chief").mode) == (1, "sequential")


def test_settings_change_by_a_command_and_what_it_leaves_out_stays() -> None:
    world = team_world(agent("ada"), options=SupervisorOptions(max_total=7))
    applied(world, ChangeSupervisor(supervisor="chief", options=SupervisorOptions(grace_s=2), max_agents=9))

    chief = supervisor(world, "chief")
    assert (chief.max_agents, chief.max_parallel) == (9, 10)
    assert (chief.options.grace_s, chief.options.max_total) == (2.0, 7)


def test_how_agents_are_found_changes_by_a_command_and_what_it_leaves_out_stays() -> None:
    world = team_world(agent("ada"), max_matches=7)
    to_catalogue = DiscoveryChange(modes=[AgentDiscoveryMode.CATALOGUE], max_new=1)
    applied(world, ChangeSupervisor(supervisor="chief", auto_discover=True, discovery=to_catalogue))
    applied(world, ChangeSupervisor(supervisor="chief", discovery=DiscoveryChange(approve="granted")))

    chief = supervisor(world, "chief")
    expected = DiscoveryConfig(modes=(AgentDiscoveryMode.CATALOGUE,), max_matches=7, max_new=1, approve="granted")
    assert (chief.auto_discover, chief.discovery) == (True, expected)


def test_more_slots_are_used_at_once() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel", max_parallel=1)
    submitted(world)
    assert works(world) == ["ada"]

    applied(world, ChangeSupervisor(supervisor="chief", max_parallel=2))

    assert works(world) == ["ada", "bob"]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (ChangeSupervisor(supervisor="chief"), "nothing to change"),
        (ChangeSupervisor(supervisor="chief", max_parallel=10), "nothing to change"),
        (ChangeSupervisor(supervisor="chief", max_parallel=0), "max_parallel must be a whole number, 1 to 10,000"),
        (ChangeSupervisor(supervisor="nobody", max_parallel=1), "no supervisor 'nobody'"),
        (
            ChangeSupervisor(supervisor="chief", options=SupervisorOptions(strategies={"x": "unheard"})),
            "no coordination strategy 'unheard'",
        ),
        (ChangeSupervisor(supervisor="chief", options=SupervisorOptions(lead="eve")), "no agent 'eve'"),
        (ChangeSupervisor(supervisor="chief", discovery=DiscoveryChange(modes=["rag"])), "need documents for rag"),  # type: ignore[list-item]
        (
            ChangeSupervisor(supervisor="chief", options=SupervisorOptions(limits=Limits(depth=1))),
            "2 levels deep already",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(command: ChangeSupervisor, reason: str) -> None:
    assert reason in refused(team_world(agent("ada"), DEEP), command)
