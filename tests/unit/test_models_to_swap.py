"""Swaps to another model: which ones the team offers, which names are refused, what becomes of the spec."""

import pytest

from engine.core.commands import AddAgent, RegisterSpec, Rollback, SwapAgent, SwapAgents
from engine.core.queries.team.models import models_to_swap
from engine.core.records.records import copy_with
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.models.price_table import find_row, has_table, listed_facts
from tests.story import applied, member, refused
from tests.world import World, agent, team_world

FAST, SLOW = ModelSpec(model="openai/gpt-4o-mini"), ModelSpec(replies=[{"text": "slowly"}])

NO_TURBOX = "no model 'turbox' in the team; known: fast, slow; or give provider/name"


def played(name: str = "critic", model: str | list[str] = "fast", **fields: object) -> AgentSpec:
    return AgentSpec(name=name, agent_type="ReactAgent", model=model, **fields)  # type: ignore[arg-type]


def crew(*members: AgentSpec) -> World:
    options = SupervisorOptions(models={"fast": FAST, "slow": SLOW})
    return team_world(*(members or (played(), agent("ada"))), options=options)


def test_a_swap_to_a_model_changes_nothing_else_of_the_spec_and_is_rolled_back_as_any_other() -> None:
    world = crew(played(instructions="Be strict."))
    before = world.state.spec_of(member(world, "critic"))

    applied(world, SwapAgent(agent="critic", model="slow"))
    assert world.state.spec_of(member(world, "critic")) == copy_with(before, model="slow")

    applied(world, Rollback(agent="critic"))
    assert world.state.spec_of(member(world, "critic")) == before


def test_a_model_comes_first_in_a_list_and_the_others_stay_for_failover() -> None:
    world = crew(played(model=["fast", "openai/gpt-4o"]))
    assert [*models_to_swap(world.state, [member(world, "critic")])] == ["slow"]

    applied(world, SwapAgent(agent="critic", model="slow"))
    assert world.state.spec_of(member(world, "critic")).model == ("slow", "fast", "openai/gpt-4o")
    applied(world, SwapAgent(agent="critic", model="openai/gpt-4o"))
    assert world.state.spec_of(member(world, "critic")).model == ("openai/gpt-4o", "slow", "fast")
    assert refused(world, SwapAgent(agent="critic", model="openai/gpt-4o")).startswith("critic has this model already")


def test_the_models_of_the_team_are_offered_but_the_one_that_all_have() -> None:
    world = crew(played(), played("coder", model="slow"), agent("ada"))
    critic, coder, ada = (member(world, name) for name in ("critic", "coder", "ada"))
    assert [*models_to_swap(world.state, [critic])] == ["slow"]
    assert [*models_to_swap(world.state, [critic, coder])] == ["fast", "slow"]
    assert not models_to_swap(world.state, [critic, ada])


@pytest.mark.parametrize(
    ("swap", "reason"),
    [
        (SwapAgent(agent="critic", model="turbox"), NO_TURBOX),
        (SwapAgent(agent="critic", spec=played(model="turbox")), NO_TURBOX),
        (SwapAgent(agent="critic", model="fast"), "critic has this model already (g1); nothing to swap"),
        (SwapAgent(agent="ada", model="fast"), "no model plays ada (function); swap it for a spec"),
        (SwapAgent(agent="critic", model="slow", registered="critic"), "give either a model or a spec"),
    ],
)  # fmt: skip
def test_a_model_that_cannot_be_meant_is_refused_in_one_line(swap: SwapAgent, reason: str) -> None:
    assert refused(crew(), swap) == reason


def test_several_swaps_are_refused_whole_for_the_model_of_one() -> None:
    world = crew(played(), played("coder"))
    swaps = [SwapAgent(agent="critic", model="slow"), SwapAgent(agent="coder", model="turbox")]
    assert refused(world, SwapAgents(swaps=swaps)).startswith("no model 'turbox'")
    assert member(world, "critic").generation == 1


def test_a_new_agent_is_refused_by_the_same_rule_also_one_of_several() -> None:
    world = crew()
    assert refused(world, AddAgent(spec=played("bob", "turbox"))) == NO_TURBOX
    assert refused(world, AddAgent(spec=played("bob"), also=[played("cyd", ["fast", "turbox"])])) == NO_TURBOX
    world.order(RegisterSpec(spec=played("dan", "turbox")))
    assert refused(world, AddAgent(registered="dan")) == NO_TURBOX
    applied(world, AddAgent(spec=played("bob", ["fast", "openai/gpt-foo"])))
    applied(world, AddAgent(spec=copy_with(agent("eve"), model="turbox")))  # a function has no use for it


def test_a_bare_name_that_the_file_gave_to_an_agent_is_taken_from_others_too_and_near_names_come_first() -> None:
    world = crew(played(model="gpt-4o-mini"))
    applied(world, AddAgent(spec=played("bob", "gpt-4o-mini")))
    assert "known: slow, fast;" in refused(world, AddAgent(spec=played("cyd", "slaw")))


def test_a_name_with_a_provider_and_one_that_the_agent_has_already_are_taken() -> None:
    world = crew(played(model="gpt-4o-mini"))
    applied(world, SwapAgent(agent="critic", spec=played(model="gpt-4o-mini", timeout_s=9)))
    applied(world, SwapAgent(agent="critic", model="openai/gpt-foo"))


def test_the_table_of_litellm_is_read_by_whole_names_and_by_those_at_a_provider() -> None:
    table = {
        "small": {"litellm_provider": "openai", "max_tokens": 10},
        "groq/small": {"litellm_provider": "groq", "max_tokens": 20},
    }
    names = ("openai/small", "groq/small", "xai/small")
    rows = [find_row(table, name, provider=name.partition("/")[0], name="small") for name in names]
    assert [row.get("max_tokens") for row in rows] == [10, 20, None]


def test_prices_are_for_a_million_tokens_and_an_unknown_model_has_none() -> None:
    assert has_table()
    facts = listed_facts("openai/gpt-4o-mini")
    assert facts is not None
    assert facts.price is not None
    assert 0 < float(facts.price.in_usd) < float(facts.price.out_usd) < 100
    assert (facts.context_tokens or 0) >= 100_000
    assert listed_facts("openai/gpt-foo") is None
