"""Equality of JSON values, wherever the engine compares two of them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from engine.core.commands import LoadTeam, SupervisorSpec
from engine.core.encoding.json_values import canonical_json, json_equal
from engine.core.queries.differences import differences
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.host.built_in.guards import CheckedOutput, holds_for
from engine.host.built_in.joins import Result, join
from engine.runtimes.json_schema import faults_of
from tests.depth import examples
from tests.world import World, load

pytestmark = pytest.mark.anyio

scalars = st.sampled_from([None, True, False, 0, 1, 1.0, 0.0, -1, 2**60, 0.5, "", "1", "true"])
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
pairs = st.tuples(values, values) | values.map(lambda value: (value, value))
UNEQUAL = [(True, 1), (1, True), (False, 0), (0, False), (True, 1.0), (1, "1")]


def kind(value: Any) -> Any:
    """Return a value in which Python's equality is that of JSON: each scalar beside its kind."""
    if isinstance(value, dict):
        return {key: kind(item) for key, item in value.items()}
    if isinstance(value, list):
        return [kind(item) for item in value]
    return ("number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__, value)


@given(pairs)
def test_values_are_equal_where_kind_and_value_are_and_then_their_canonical_json_is_too(pair: tuple[Any, Any]) -> None:
    value, other = pair

    assert json_equal(value, other) is (kind(value) == kind(other))
    assert (canonical_json(value) == canonical_json(other)) is json_equal(value, other)


@settings(max_examples=examples(15))
@given(pairs)
async def test_guards_votes_and_schemas_compare_as_json_does(pair: tuple[Any, Any]) -> None:
    value, other = pair
    equal = json_equal(value, other)

    looked = [CheckedOutput("ada", "done", {"k": value})]
    assert await holds_for({"json": "k", "equals": other}, looked) is equal
    if not isinstance(value, str) and not isinstance(other, str):
        counts: Any = join("vote", [Result("a", "", value), Result("b", "", other)])
        assert counts["votes"] == (2 if equal else 1)
    for schema in ({"const": other}, {"enum": [other]}):
        assert (not [*faults_of(value, schema)]) is equal
    assert bool([*faults_of([value, other], {"uniqueItems": True})]) is equal


@pytest.mark.parametrize(("was", "now"), UNEQUAL)
def test_a_team_that_is_loaded_again_takes_a_setting_that_python_calls_equal(was: JsonValue, now: JsonValue) -> None:
    world, other = World(), World()
    world.order(team(was))
    other.order(team(now))
    assert [one.field for one in differences(world.state, other.state)] == ["settings"]

    world.order(team(now))

    (supervisor,) = world.state.supervisors.values()
    assert json_equal(supervisor.options.settings, branches(now))


def branches(equals: JsonValue) -> dict[str, JsonValue]:
    """Return settings of a team that sends work by a guard."""
    whens: list[JsonValue] = [{"when": {"json": "k", "equals": equals}, "to": "bob"}, {"when": "else", "to": "cat"}]
    return {"first": "ada", "branches": whens}


def team(equals: JsonValue) -> LoadTeam:
    """Return the command that loads that team."""
    members: list[AgentSpec | SupervisorSpec] = [
        AgentSpec(name=name, agent_type="scripted") for name in ("ada", "bob", "cat")
    ]
    options = SupervisorOptions(settings=branches(equals))
    return load(SupervisorSpec(name="desk", mode="conditional", members=members, options=options))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1.0, "a": [2.0, {"d": 0.5, "c": -0.0}]}, b'{"a":[2,{"c":0,"d":0.5}],"b":1}'),
        ([True, None, "1.0", 1e20], b'[true,null,"1.0",100000000000000000000]'),
    ],
)
def test_canonical_json_has_keys_in_order_and_whole_numbers_without_a_point(value: Any, text: bytes) -> None:
    assert canonical_json(value) == text


@pytest.mark.parametrize(("value", "other"), UNEQUAL)
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [0, value], lambda value: {"a": {"b": value}}])
def test_truth_values_and_numbers_differ_wherever_they_stand(wrap: Any, value: Any, other: Any) -> None:
    assert not json_equal(wrap(value), wrap(other))
    assert canonical_json(wrap(value)) != canonical_json(wrap(other))
    assert json_equal((wrap(value),), [wrap(value)])
    assert json_equal([wrap(value)], (wrap(value),))
