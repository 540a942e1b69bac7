"""Who is in the team: files loaded again, names, trust, the registry, and the engine's own commands."""

import pytest

from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    Command,
    ImportState,
    Ping,
    RegisterSpec,
    RemoveMember,
    Rollback,
    StopEngine,
    Submit,
    SupervisorSpec,
    SwapAgent,
    SwitchStrategy,
    UnregisterSpec,
)
from engine.core.effects import CheckAgent, DropRuntimes, StopLoop
from engine.core.events import CommandApplied
from engine.core.records.records import copy_with
from engine.core.signals import AgentUnusable
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.core.state import RunStatus
from tests.story import applied, attempt, ended, kinds, member, refused, submitted, works
from tests.world import World, agent, load, team_world

BELOW = SupervisorSpec(name="below", members=[agent("cyd")])


def loaded(world: World, *members: AgentSpec | SupervisorSpec, name: str = "chief") -> dict[str, object]:
    return applied(world, load(SupervisorSpec(name=name, members=list(members))))


def names(world: World) -> list[str]:
    return [one.name for one in world.state.agents.values()]


def test_a_changed_file_adds_what_is_new_and_swaps_what_changed_and_leaves_the_rest() -> None:
    world = team_world(agent("ada"), agent("bob"), BELOW)
    submitted(world)

    result = loaded(world, agent("ada", timeout_s=5), agent("bob"), agent("eve"), BELOW)

    assert result == {"agents_added": 1, "agents_swapped": 1}
    assert names(world) == ["ada", "bob", "cyd", "eve"]
    assert (member(world, "ada").generation, member(world, "bob").generation) == (2, 1)
    assert works(world) == ["ada"]


def test_the_same_file_again_changes_nothing_in_the_team() -> None:
    world = team_world(agent("ada"), BELOW)

    assert loaded(world, agent("ada"), BELOW) == {"agents_added": 0, "agents_swapped": 0}


def test_a_changed_file_changes_what_is_under_a_sub_supervisor_and_adds_new_ones() -> None:
    world = team_world(agent("ada"), BELOW)

    result = loaded(
        world,
        agent("ada"),
        SupervisorSpec(name="below", members=[agent("cyd", timeout_s=5), agent("dan")]),
        SupervisorSpec(name="beside", members=[agent("eve")]),
    )

    assert result == {"agents_added": 2, "agents_swapped": 1}
    assert [one.name for one in world.state.supervisors.values()] == ["chief", "below", "beside"]


def test_what_a_changed_file_leaves_out_stays() -> None:
    world = team_world(agent("ada"), agent("bob"))

    loaded(world, agent("ada"))

    assert names(world) == ["ada", "bob"]


def test_another_file_with_another_root_makes_another_root() -> None:
    world = team_world(agent("ada"))
    second = load(SupervisorSpec(name="second", members=[agent("ada")]))

    applied(world, copy_with(second, path="second.yaml"))

    assert [one.name for one in world.state.roots] == ["chief", "second"]


def test_the_same_file_with_another_root_renames_its_root() -> None:
    world = team_world(agent("ada"))

    loaded(world, agent("ada"), name="second")

    assert [one.name for one in world.state.roots] == ["second"]
    assert [one.name for one in world.state.agents.values()] == ["ada"]


def test_code_that_nobody_allowed_is_refused_by_its_references_and_nothing_changes() -> None:
    world = World()
    world.untrusted = {"crew:ada", "crew:cyd"}

    assert (
        refused(world, load(SupervisorSpec(name="chief", members=[agent("ada"), BELOW])))
        == "not trusted: crew:ada, crew:cyd; allow them with --trust"
    )
    assert world.state.supervisors == {}


def test_tools_need_trust_as_well_and_callables_of_the_process_do_not() -> None:
    world = team_world(agent("ada"))
    world.untrusted = {"crew.tools:saw"}
    armed = AgentSpec(name="eve", run="bound:1:eve", tools=["crew.tools:saw"])

    assert "not trusted: crew.tools:saw;" in refused(world, AddAgent(spec=armed))
    applied(world, AddAgent(spec=AgentSpec(name="eve", run="bound:1:eve")))


def test_what_was_allowed_once_needs_no_further_trust() -> None:
    world = team_world(agent("ada"))
    applied(world, RegisterSpec(spec=agent("eve")))
    world.untrusted = {"crew:eve"}

    assert "references_trusted" not in kinds(world.order(AddAgent(spec=agent("eve"))))
    assert member(world, "eve").generation == 1


def test_a_team_file_in_another_place_is_trusted_anew() -> None:
    world = team_world(agent("ada"))
    world.untrusted = {"crew:ada"}
    moved = copy_with(load(SupervisorSpec(name="chief", members=[agent("ada")])), path="elsewhere/team.yaml")

    assert "not trusted: crew:ada" in refused(world, moved)


def test_agents_whose_code_has_changed_get_a_new_generation_and_no_others() -> None:
    world = World()
    world.code = {"crew:ada": "1", "crew:bob": "1", "crew:cyd": "1", "crew:eve": "1"}
    team = (agent("ada"), agent("bob"), BELOW)
    loaded(world, *team)
    applied(world, AddAgent(spec=agent("eve")))
    world.code |= {"crew:bob": "2", "crew:cyd": "2"}

    assert loaded(world, *team) == {"agents_added": 0, "agents_swapped": 2}

    assert [member(world, name).generation for name in ("ada", "bob", "cyd", "eve")] == [1, 2, 2, 1]
    assert DropRuntimes(specs=[member(world, "bob").spec, member(world, "cyd").spec]) in world.effects
    assert loaded(world, *team) == {"agents_added": 0, "agents_swapped": 0}


def test_agents_whose_code_somebody_has_trusted_anew_are_looked_at_again_and_no_others() -> None:
    world = World()
    world.code = {"crew:ada": "1", "crew:bob": "1"}
    loaded(world, agent("ada"), agent("bob"))
    world.code["crew:ada"] = "2"

    applied(world, AddAgent(spec=copy_with(agent("eve"), run="crew:ada")))

    looked_at = [one.agent_id for one in world.effects if isinstance(one, CheckAgent)]
    assert member(world, "ada").id in looked_at
    assert member(world, "bob").id not in looked_at


def test_an_agent_that_is_not_in_the_file_follows_its_code_as_well() -> None:
    world = World()
    world.code = {"crew:ada": "1"}
    loaded(world, agent("ada"))
    applied(world, AddAgent(spec=agent("ada"), name="twin"))
    world.code = {"crew:ada": "2"}

    loaded(world, agent("ada"))

    assert [member(world, name).generation for name in ("ada", "twin")] == [2, 2]


def test_an_agent_is_swapped_to_its_own_spec_where_the_code_is_another() -> None:
    world = World()
    world.code = {"crew:ada": "1"}
    loaded(world, agent("ada"))
    assert "has this spec already" in refused(world, SwapAgent(agent="ada", spec=agent("ada")))
    world.code = {"crew:ada": "2"}

    applied(world, SwapAgent(agent="ada", spec=agent("ada")))

    assert member(world, "ada").generation == 2


def test_a_rollback_says_where_the_old_code_is_gone() -> None:
    world = World()
    world.code = {"crew:ada": "1"}
    loaded(world, agent("ada"))
    world.code = {"crew:ada": "2"}
    loaded(world, agent("ada"))
    assert "the code of ada before g2 is gone" in refused(world, Rollback(agent="ada"))

    loaded(world, agent("ada", timeout_s=5))
    said = [event for event in world.order(Rollback(agent="ada")) if isinstance(event, CommandApplied)]
    assert said[0].summary == "rolled ada back to the spec before, as g4"

    world.code = {"crew:ada": "3"}
    loaded(world, agent("ada", timeout_s=5))
    said = [event for event in world.order(Rollback(agent="ada")) if isinstance(event, CommandApplied)]
    assert said[0].summary.endswith("; its code of before g5 is gone, it runs the files as they are now")


def test_code_that_does_not_work_is_not_rolled_back_to_itself() -> None:
    world = World()
    world.code = {"crew:ada": "1"}
    loaded(world, agent("ada"))
    world.code = {"crew:ada": "2"}
    loaded(world, agent("ada"))

    assert kinds(world.say(AgentUnusable(agent_id="a1", generation=2, error="it is broken"))) == ["agent_broke"]


@pytest.mark.parametrize(
    "command",
    [
        AddAgent(spec=agent("ada")),
        AddAgent(spec=agent("eve"), name="below"),
        AddSupervisor(parent="chief", team=SupervisorSpec(name="ada")),
        AddSupervisor(parent=None, team=SupervisorSpec(name="chief")),
        AddSupervisor(parent=None, team=SupervisorSpec(name="new", members=[BELOW, BELOW])),
    ],
)
def test_a_name_is_given_once_under_one_supervisor(command: Command) -> None:
    world = team_world(agent("ada"), BELOW)

    assert "already has a member" in refused(world, command)
    assert len(world.state.agents) == 2


def test_the_same_name_under_another_supervisor_is_another_agent() -> None:
    world = team_world(agent("ada"), BELOW)

    applied(world, AddAgent(supervisor="below", spec=agent("ada")))

    assert names(world) == ["ada", "cyd", "ada"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"mode": "zigzag"}, "no coordination strategy 'zigzag'"),
        ({"participants": ["ada", "eva"]}, "no agent 'eva'"),
        ({"default_agent": "eva"}, "no agent 'eva'"),
        ({"aggregation": "synthesis"}, "names no aggregator"),
    ],
)
def test_a_team_that_cannot_be_right_is_refused_whole(fields: dict[str, object], reason: str) -> None:
    spec = SupervisorSpec(**({"name": "odd", "members": [agent("ada")]} | fields))  # type: ignore[arg-type]
    world = World()

    assert reason in refused(world, AddSupervisor(parent=None, team=spec))
    assert world.state.supervisors == {}


def test_a_team_has_no_more_agents_than_it_may() -> None:
    world = team_world(agent("ada"), max_agents=1)

    assert "1 of at most 1" in refused(world, AddAgent(spec=agent("eve")))


def test_an_agent_can_be_made_from_the_registry_under_another_name() -> None:
    world = team_world(agent("ada"))
    applied(world, RegisterSpec(spec=agent("eve")))

    applied(world, AddAgent(registered="eve", name="eve-2"))

    assert world.state.spec_of(member(world, "eve-2")).name == "eve"
    applied(world, UnregisterSpec(name="eve"))
    assert "no spec 'eve'" in refused(world, AddAgent(registered="eve"))
    assert world.state.spec_of(member(world, "eve-2")).run == "crew:eve"


def test_an_agent_that_is_added_takes_part_from_the_next_request_on() -> None:
    world = team_world(agent("ada"), mode="parallel")
    submitted(world)

    applied(world, AddAgent(spec=agent("eve")))

    assert works(world) == ["ada"]
    world.succeed(attempt(world, "ada"))
    submitted(world)
    assert works(world) == ["ada", "eve"]


def test_a_stop_suspends_open_runs_and_ends_the_loop() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world)

    assert applied(world, StopEngine()) == {"suspended": 1}

    assert world.state.runs[run_id].status is RunStatus.SUSPENDED
    assert any(isinstance(effect, StopLoop) for effect in world.effects)


def test_a_ping_is_answered_and_changes_nothing() -> None:
    world = team_world(agent("ada"))

    assert kinds(world.order(Ping())) == ["command_applied"]


def test_an_archive_that_the_shell_has_not_read_is_refused() -> None:
    assert "cannot read archives" in refused(World(), ImportState(path="x", sha256="0"))


def test_every_order_has_one_outcome_with_its_sender_and_what_it_was() -> None:
    world = team_world(agent("ada"))

    (event,) = world.order(AddAgent(spec=agent("ada")))

    assert kinds([event]) == ["command_refused"]
    assert (getattr(event, "sender", ""), getattr(event, "command", "")) == ("test", "add_agent")


def test_a_file_that_changes_an_agent_on_its_way_is_refused_whole() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    applied(world, RemoveMember(target="ada", mode="drain"))

    changed_file = load(SupervisorSpec(name="chief", members=[agent("ada", timeout_s=5), agent("bob")]))

    assert "being removed" in refused(world, changed_file)
    assert [one.name for one in world.state.agents.values()] == ["ada"]


def test_a_category_that_has_no_strategy_is_refused_with_those_that_there_are() -> None:
    options = SupervisorOptions(strategies={"research_tasks": "parallel"})
    world = team_world(agent("ada"), SupervisorSpec(name="below", members=[agent("bob")]), options=options)

    assert "did you mean research_tasks?" in refused(world, Submit(request="go", category="research_task2"))
    assert "there are research_tasks" in refused(world, Submit(request="go", category="cooking"))
    assert "it has none" in refused(world, Submit(request="go", category="cooking", supervisor="below"))
    run = submitted(world, category="research")
    world.settle()
    assert ended(world).id == run


def test_a_synthesis_that_nobody_was_named_for_says_so() -> None:
    world = team_world(agent("ada"), agent("bob"))

    said = refused(world, SwitchStrategy(mode="parallel", aggregation="synthesis"))

    assert said.startswith("supervisor 'chief' makes a synthesis but names no aggregator; name one of its agents")


def test_several_agents_are_added_as_one_change_all_or_none() -> None:
    world = team_world(agent("ada"))

    assert "a member 'ada'" in refused(world, AddAgent(spec=agent("bob"), also=[agent("cyd"), agent("ada")]))
    assert "a member 'bob'" in refused(world, AddAgent(spec=agent("bob"), also=[agent("bob")]))
    assert names(world) == ["ada"]

    result = applied(world, AddAgent(spec=agent("bob"), also=[agent("cyd"), agent("dan")]))

    assert names(world) == ["ada", "bob", "cyd", "dan"]
    assert result == {"agents": [{"agent_id": member(world, name).id} for name in ("bob", "cyd", "dan")]}
