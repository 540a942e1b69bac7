"""What is kept of values for a person to read: short, and without secrets."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import COMMANDS, LoadTeam, Ping, SupervisorSpec, SwapAgent
from engine.core.events import CommandApplied
from engine.core.queries.work.excerpts import (
    HIDDEN,
    MAX_CHARACTERS,
    MAX_ITEMS,
    MAX_TEXT_CHARACTERS,
    args_of,
    excerpt_of,
)
from engine.core.records.records import field_names
from engine.core.specs.spec import Retry
from tests.world import agent, team_world

LARGEST = MAX_CHARACTERS + 2 * MAX_TEXT_CHARACTERS
"""Of all texts together: the last one begins before the limit, and each tells how much was cut off."""

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=60,
)


@given(values, st.integers(1, 300))
def test_what_is_shown_is_json_and_short(value: Any, times: int) -> None:
    found = excerpt_of([value] * times)

    assert json.loads(json.dumps(found)) == found
    assert len(json.dumps(found, ensure_ascii=False)) < 20 * LARGEST


def test_what_is_short_is_shown_whole() -> None:
    value = {"a": [1, None, True, 2.5, "text"], "b": {}}

    assert excerpt_of(value) == value


def test_long_texts_and_lists_say_what_is_left_out() -> None:
    assert excerpt_of("x" * 1_000) == f"{'x' * MAX_TEXT_CHARACTERS}… (1,000 characters)"
    assert excerpt_of(list(range(50))) == [*range(MAX_ITEMS), "… 30 more"]
    assert len(json.dumps(excerpt_of({f"key {n}": "x" * 999 for n in range(99)}))) < LARGEST


@pytest.mark.parametrize("name", ["api_key", "token", "OPENAI_API_KEY", "password", "Authorization", "secrets"])
def test_texts_in_fields_for_secrets_are_not_kept(name: str) -> None:
    assert excerpt_of([{name: "sk-1", "depth": {name: "sk-2"}}]) == [{name: HIDDEN, "depth": {name: HIDDEN}}]


def test_names_of_variables_and_amounts_are_no_secrets() -> None:
    value = {"key_env": "OPENAI_API_KEY", "tokens": 20_000, "max_tokens": 5, "call_key": "k1"}

    assert excerpt_of(value) == value


def test_args_are_the_fields_that_were_given() -> None:
    swap = SwapAgent(agent="ada", spec=agent("bob", "parse", on_failure=[Retry(1, 10.0, 10.0)]), mode="migrate")

    assert args_of(Ping()) == {}
    assert args_of(swap) == {
        "agent": "ada",
        "mode": "migrate",
        "spec": {
            "type": "agent", "name": "bob", "agent_type": "function", "run": "crew:bob", "specialties": ["parse"],
            "on_failure": [{"type": "retry", "retries": 1, "base_s": 10.0, "cap_s": 10.0}],
        },
    }  # fmt: skip


def test_args_of_a_large_team_are_short() -> None:
    team = SupervisorSpec(name="chief", members=[agent(f"a{n}", *(f"s{m}" for m in range(50))) for n in range(500)])

    args = args_of(LoadTeam(path="team.yaml", folder=".", text="y" * 10**6, sha256="0", team=team))

    assert (args["path"], args["sha256"]) == ("team.yaml", "0")
    assert len(json.dumps(args)) < 2 * LARGEST


def test_every_applied_command_says_its_args() -> None:
    world = team_world(agent("ada", "parse"))
    events = world.order(SwapAgent(agent="ada", spec=agent("bob", "parse")))
    applied = [event for event in [*world.journal, *events] if isinstance(event, CommandApplied)]

    classes = {str(cls.type): cls for cls in COMMANDS}
    assert applied
    assert all(set(event.args) <= set(field_names(classes[event.command])) for event in applied)
    assert applied[-1].args["agent"] == "ada"
