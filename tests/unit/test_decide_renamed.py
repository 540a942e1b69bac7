"""Who a member of an edited file is, where the file gave it another name and an operator another spec."""

from engine.core.commands import ChangeSupervisor, Move, SupervisorSpec, SwapAgent
from engine.core.decide.teams.loading import plan_of
from engine.core.decisions.decision_context import DecisionContext
from engine.core.records.records import copy_with
from engine.core.specs.spec import AgentSpec
from tests.world import World, agent, load, team_world


def scripted(name: str, *does: str) -> AgentSpec:
    return AgentSpec(name=name, agent_type="scripted", specialties=does)


def planned(world: World, *members: AgentSpec | SupervisorSpec) -> list[tuple[str, str, str | None]]:
    """Return what a file with these members would change: what, where, where then."""
    command = load(SupervisorSpec(name="chief", members=list(members)))
    command = copy_with(command, on_conflict="declared")
    return [
        (change.change, change.path, change.to)
        for change in plan_of(world.state, command, DecisionContext(now_ms=world.now_ms, jitter=0.0))
    ]


def swapped(world: World, name: str, *does: str) -> None:
    world.order(SwapAgent(agent=name, spec=scripted(name, *does)))


def test_an_agent_that_was_swapped_is_known_by_the_spec_that_it_was_declared_with() -> None:
    world = team_world(scripted("ada", "parse"), scripted("bob", "write"))
    swapped(world, "ada", "draw")
    swapped(world, "ada", "sum")  # the declared spec is no longer the one before
    swapped(world, "bob", "parse")  # and now another has it

    assert planned(world, scripted("eve", "parse"), scripted("bob", "write")) == [
        ("renamed", "chief/ada", "chief/eve"),
        ("swapped", "chief/eve", None),
        ("swapped", "chief/bob", None),
    ]


def test_an_agent_is_known_by_the_spec_that_it_has_where_the_file_took_that_over() -> None:
    world = team_world(scripted("ada", "parse"))
    swapped(world, "ada", "draw")

    assert planned(world, scripted("eve", "draw")) == [("renamed", "chief/ada", "chief/eve")]


def test_a_team_is_known_by_what_it_was_declared_as_where_operators_changed_it_and_its_agents() -> None:
    def below(name: str) -> SupervisorSpec:
        return SupervisorSpec(name=name, members=[scripted("ada", "parse"), scripted("bob", "write")])

    world = team_world(below("low"))
    swapped(world, "ada", "draw")
    world.order(ChangeSupervisor(supervisor="low", max_parallel=2))

    changes = planned(world, below("deep"))

    assert changes[0] == ("renamed", "chief/low", "chief/deep")
    assert {change for change, _, _ in changes[1:]} == {"changed", "swapped"}


def test_an_agent_that_was_moved_away_does_not_take_the_place_of_one_of_its_name() -> None:
    world = team_world(SupervisorSpec(name="low", members=[agent("gus")]))
    world.order(Move(target="gus", parent="chief"))

    changes = planned(world, agent("gus", "write"), SupervisorSpec(name="low", members=[agent("gus")]))

    assert ("moved", "chief/gus", "chief/low/gus") in changes
    assert ("added", "chief/gus", None) in changes
