"""Agents that agents make: found again, within the rights of their makers, as deep and as many as they may be."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.commands import (
    AddSupervisor,
    ChangeSupervisor,
    CreateAgent,
    Move,
    RemoveMember,
    RetireRecipes,
    Rollback,
    SupervisorSpec,
    SwapAgent,
)
from engine.core.events import AgentAdded, AgentSwapped, CommandRefused, RecipeChanged, RecipeMade, RecipeRetired
from engine.core.legality import faults_of
from engine.core.queries.money.budget import limits_of
from engine.core.queries.team.made import made_now, working_spec
from engine.core.queries.team.recipes import agent_of, references_to_recipes
from engine.core.records.records import copy_with
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.core.transfer.admission import Inadmissible, try_out
from tests.depth import examples
from tests.exports import exported
from tests.story import submitted
from tests.world import World, agent, team_world

TOOLS = ("dig", "sort", "pack")
SETS = {"earth": ["work:dig", "work:sort"]}


def made_world(*, tools: tuple[str, ...] = TOOLS, toolsets: dict[str, list[str]] | None = None) -> World:
    """Return a team whose function `ada` has tools."""
    options = SupervisorOptions(toolsets=SETS if toolsets is None else toolsets)
    return team_world(agent("ada", tools=[f"work:{name}" for name in tools]), options=options)


def make(world: World, name: str = "sol", *, maker: str = "ada", run_id: str | None = None, **fields: Any) -> list[Any]:
    said = {"capabilities": ["dig"], "model": "openai/gpt-4o", "primer": "You dig.", **fields}
    return world.order(CreateAgent(maker=maker, name=name, **said), run_id=run_id)


def refusal(events: list[Any]) -> str:
    (refused,) = [event for event in events if isinstance(event, CommandRefused)]
    return str(refused.reason)


def spec_now(state: State, name: str) -> tuple[AgentSpec, str | None]:
    return working_spec(state, next(each for each in state.agents.values() if each.name == name))


def with_tools(*names: str) -> AgentSpec:
    return agent("ada", tools=[f"work:{name}" for name in names])


def test_a_recipe_is_written_before_its_agent_is_added() -> None:
    events = make(made_world())

    kinds = [type(event) for event in events]
    assert kinds.index(RecipeMade) < kinds.index(AgentAdded)


def test_an_equal_recipe_finds_its_agent_again_and_another_is_its_next_revision() -> None:
    world = made_world()
    make(world)
    again = make(world)
    changed = make(world, primer="You dig deep.")

    assert not any(isinstance(event, RecipeMade | AgentAdded | RecipeChanged) for event in again)
    assert [event.recipe.revision for event in changed if isinstance(event, RecipeChanged)] == [2]
    assert any(isinstance(event, AgentSwapped) for event in changed)
    assert spec_now(world.state, "sol")[0].instructions == "You dig deep."


def test_an_agent_that_has_left_is_added_again_by_its_recipe() -> None:
    world = made_world()
    make(world)
    world.order(RemoveMember(target="sol"))
    world.settle()
    again = make(world)

    assert any(isinstance(event, AgentAdded) for event in again)
    assert [*world.state.recipes] == ["k1"]


@settings(max_examples=examples(60))
@given(
    own=st.sets(st.sampled_from(TOOLS)),
    wanted=st.lists(st.sampled_from([*TOOLS, "earth", "agents", "fly"]), max_size=4),
    left=st.sets(st.sampled_from(TOOLS)), keeps_set=st.booleans(),
)  # fmt: skip
def test_a_made_agent_never_has_what_its_maker_has_not(
    own: set[str], wanted: list[str], left: set[str], keeps_set: bool
) -> None:
    world = made_world(tools=tuple(sorted(own)))
    events = make(world, capabilities=wanted)
    lacks = [name for name in wanted if name not in {*own, "earth", "agents"}]
    if lacks:
        assert refusal(events).startswith(f"{lacks[0]!r} is not ada's to give")
        return
    if left != own:
        world.order(SwapAgent(agent="ada", spec=with_tools(*sorted(left))))
    if not keeps_set:
        world.order(ChangeSupervisor(supervisor="chief", options=SupervisorOptions(), fields=["toolsets"]))
    state = world.state
    spec, lacking = spec_now(state, "sol")
    allowed = {f"work:{name}" for name in left} | ({*SETS["earth"]} if state.roots[0].options.toolsets else set())

    assert set(spec.tools) <= allowed
    assert (lacking is None) == all(
        name in left or name == "agents" or (name == "earth" and bool(state.roots[0].options.toolsets))
        for name in wanted
    )
    assert [*faults_of(state)] == []


def test_what_a_maker_gets_back_its_agent_has_back() -> None:
    world = made_world()
    make(world)
    world.order(SwapAgent(agent="ada", spec=with_tools("sort")))
    lost = spec_now(world.state, "sol")[1]
    world.order(SwapAgent(agent="ada", spec=with_tools("dig")))

    assert (lost, spec_now(world.state, "sol")[1]) == ("dig", None)


def test_a_grandchild_loses_what_the_maker_of_its_maker_lost() -> None:
    world = made_world()
    make(world, capabilities=["dig", "agents"])
    make(world, "pip", maker="sol")
    world.order(SwapAgent(agent="ada", spec=with_tools("sort")))

    assert spec_now(world.state, "pip")[1] == "dig"
    assert world.state.recipes["k2"].path == ["ada", "sol", "pip"]


def test_a_made_agent_without_the_capability_makes_none_itself() -> None:
    world = made_world()
    make(world)

    assert refusal(make(world, "pip", maker="sol")) == "sol may make no agents; allow it with may: [create_agent]"


def test_agents_nest_four_deep_and_no_deeper() -> None:
    world = made_world()
    maker = "ada"
    for name in ("one", "two", "three", "four"):
        make(world, name, maker=maker, capabilities=["agents"])
        maker = name

    assert "nest at most 4 deep" in refusal(make(world, "five", maker="four", capabilities=[]))


def test_a_run_makes_ten_agents_and_no_more() -> None:
    world = made_world()
    run_id = submitted(world)
    outcomes = [make(world, f"sol-{number}", run_id=run_id) for number in range(12)]

    assert [any(isinstance(event, AgentAdded) for event in events) for events in outcomes] == [True] * 10 + [False] * 2
    assert "has made 10 agents" in refusal(outcomes[-1])


def test_a_recipe_that_was_edited_in_the_state_gains_no_right() -> None:
    world = made_world(tools=("sort",), toolsets={})
    make(world, capabilities=["sort"])
    world.state.recipes["k1"].capabilities.extend(["dig", "create_agent", "model:openai/o3"])
    made = made_now(world.state, world.state.recipes["k1"])

    assert (made.missing, made.spec.tools) == (["dig"], ("work:sort",))


def test_a_retired_recipe_gives_its_agent_nothing() -> None:
    world = made_world()
    make(world, capabilities=["agents", "dig"])
    make(world, "pip", maker="sol")
    world.state.recipes.pop("k2")

    assert spec_now(world.state, "pip")[1] == "recipe k2"


def test_a_person_may_swap_a_made_agent_and_an_undone_swap_leaves_it_under_its_recipe() -> None:
    world = made_world()
    make(world)
    own = agent("sol", tools=["work:fly"])
    world.order(SwapAgent(agent="sol", spec=own))
    swapped = spec_now(world.state, "sol")
    world.order(Rollback(agent="sol"))

    assert (swapped[0].tools, swapped[1]) == (("work:fly",), None)
    assert agent_of(world.state, "k1").recipe_id == "k1"  # type: ignore[union-attr]


def test_another_model_leaves_a_made_agent_under_its_recipe() -> None:
    world = made_world()
    make(world)
    world.order(SwapAgent(agent="sol", model="openai/o3"))
    world.order(SwapAgent(agent="ada", spec=with_tools("sort")))

    spec, lacks = spec_now(world.state, "sol")
    assert (spec.model, lacks) == ("openai/o3", "dig")


def test_a_rollback_does_not_bring_back_what_the_maker_has_lost_since() -> None:
    world = made_world()
    make(world)
    world.order(SwapAgent(agent="sol", spec=agent("sol", tools=["work:fly"])))
    world.order(SwapAgent(agent="ada", spec=with_tools("sort")))
    world.order(Rollback(agent="sol"))

    spec, lacks = spec_now(world.state, "sol")
    assert (spec.tools, lacks) == ((), "dig")


def test_an_agent_is_not_rolled_back_to_what_its_recipe_said_before() -> None:
    world = made_world()
    make(world)
    make(world, capabilities=["sort"])

    assert refusal(world.order(Rollback(agent="sol"))).startswith("sol follows its recipe k1")


def test_an_agent_without_a_model_of_its_own_follows_that_of_its_maker() -> None:
    lead = AgentSpec(name="ada", agent_type="llm", model="openai/big", may=["create_agent"])
    world = team_world(lead)
    make(world, capabilities=[], model=None)
    models = [spec_now(world.state, "sol")[0].model]
    for name, model in (("ada", "openai/small"), ("sol", "openai/own")):
        world.order(SwapAgent(agent=name, model=model))
        models.append(spec_now(world.state, "sol")[0].model)

    assert models == ["openai/big", "openai/small", "openai/own"]


@pytest.mark.parametrize("rule", ["pay", "send_money"])  # by its reference, or by a name that @tool gives it
def test_no_agent_does_unasked_what_its_maker_asks_for(rule: str) -> None:
    world = team_world(agent("ada", tools=["work:pay"], approve={rule: "always"}))
    make(world, capabilities=["pay"])

    assert refusal(make(world, "sly", capabilities=[], run="pay")).startswith("a person is asked before ada calls pay")
    assert spec_now(world.state, "sol")[0].approve == {rule: "always"}


def test_toolsets_that_have_grown_too_large_are_missing_to_what_has_them() -> None:
    sets = {name: [f"work:{name}{number}" for number in range(150)] for name in ("one", "two")}
    world = made_world(toolsets={name: tools[:1] for name, tools in sets.items()})
    make(world, capabilities=[*sets])
    world.order(ChangeSupervisor(supervisor="chief", options=SupervisorOptions(toolsets=sets), fields=["toolsets"]))

    spec, lacks = spec_now(world.state, "sol")
    assert (len(spec.tools), lacks) == (150, "two")


@pytest.mark.parametrize("edit", [{"primer": "x" * 200_000}, {"model": "x" * 300}, {"run": ""}, {"specialties": [""]}])
def test_a_recipe_of_an_archive_that_makes_no_agent_is_not_let_in(edit: dict[str, Any]) -> None:
    world = made_world()
    make(world)
    state = exported(world)[0]
    state.recipes["k1"] = copy_with(state.recipes["k1"], **edit)

    with pytest.raises(Inadmissible, match="cannot be carried on"):
        try_out(state)


def test_a_team_that_is_exported_alone_takes_along_what_its_agents_have_made_elsewhere() -> None:
    world = made_world()
    make(world, capabilities=["agents"])
    make(world, "pip", maker="sol", capabilities=[])
    world.order(AddSupervisor(parent="chief", team=SupervisorSpec(name="sub")))
    world.order(Move(target="ada", parent="sub"))

    assert [*exported(world, only="s2")[0].recipes] == ["k1", "k2"]
    assert [*exported(world, only="s1")[0].recipes] == ["k1", "k2"]


@pytest.mark.parametrize("maker", ["k1", "k2", "a2", "a3"])
def test_no_recipe_of_an_archive_stands_above_itself(maker: str) -> None:
    world = made_world()
    make(world, capabilities=["agents"])
    make(world, "pip", maker="sol", capabilities=[])
    state = exported(world)[0]
    state.recipes["k1"] = copy_with(state.recipes["k1"], parent_id=maker)

    with pytest.raises(Inadmissible, match=r"^k1 "):
        try_out(state)


def test_a_budget_is_never_larger_than_that_of_the_maker() -> None:
    world = team_world(agent("ada", tools=["work:dig"], limits=Limits(tokens=100, attempts=7)))

    assert refusal(make(world, tokens=200)) == "tokens: 200 are more than the 100 of ada"
    make(world, tokens=50)
    world.order(SwapAgent(agent="ada", spec=agent("ada", tools=["work:dig"], limits=Limits(tokens=10))))
    sol = agent_of(world.state, "k1")
    assert sol is not None
    assert [limits.tokens for limits in limits_of(world.state, sol)] == [10]


def test_recipes_that_nothing_refers_to_are_retired_children_first() -> None:
    world = made_world()
    make(world, capabilities=["agents", "dig"])
    make(world, "pip", maker="sol")
    assert refusal(world.order(RetireRecipes(recipes=["k1"]))).startswith("k1 has made others: k2")
    for name in ("pip", "sol"):
        world.order(RemoveMember(target=name))
        world.settle()
    events = world.order(RetireRecipes())

    assert [event.recipe_id for event in events if isinstance(event, RecipeRetired)] == ["k2", "k1"]
    assert world.state.recipes == {}


def test_a_recipe_is_removed_with_its_agent() -> None:
    world = made_world()
    make(world)
    assert references_to_recipes(world.state)["k1"].agents == ["a2"]
    world.order(RetireRecipes(recipes=["ada/sol"]))
    world.settle()

    assert [each.name for each in world.state.agents.values()] == ["ada"]


@pytest.mark.parametrize("name", ["a7", "else"])
def test_a_name_that_is_an_id_or_a_word_is_refused_to_an_agent(name: str) -> None:
    world = made_world()

    assert "give another" in refusal(make(world, name, run_id=submitted(world)))
