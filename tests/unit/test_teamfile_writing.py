"""A spec as YAML: what is written is read as the same spec."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.user.specfile import read_spec_text
from engine.core.specs.failure_policies import Escalate, Fail, Failover, Retry, Skip
from engine.core.specs.limits import Limits
from engine.core.specs.policies import Circuit
from engine.core.specs.spec import AgentSpec, Pool
from engine.teamfile.writing import agent_yaml, inexpressible_fields

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
LABELS = st.from_regex(r"[a-z][a-z0-9 ]{0,8}[a-z]", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(-1e9, 1e9) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(lambda key: key != "<<"), inner, max_size=3)
    ),
    max_leaves=6,
)
POLICIES = st.sampled_from([Retry(2), Retry(2, base_s=0.1, on=("TimeoutError",)), Failover(), Failover(2), Escalate()])
LIMITS = st.none() | st.builds(
    Limits,
    attempts=st.none() | st.integers(1, 99),
    tokens=st.integers(1, 10**9),
    cost_usd=st.none() | st.sampled_from([Decimal("0.5"), Decimal("0.1234567890123456789")]),
    then=st.sampled_from(["stop", "ask"]),
    warn_at=st.sampled_from([0.8, 0.5]),
)
SPECS = st.builds(
    AgentSpec,
    name=st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,20}", fullmatch=True),
    run=st.sampled_from(["crew:read", "crew.sub:Class.method"]),
    description=TEXTS,
    specialties=st.lists(LABELS, max_size=3, unique=True),
    weight=st.sampled_from([1.0, 0.5]),
    max_concurrency=st.integers(1, 9),
    timeout_s=st.none() | st.floats(0.1, 900),
    on_failure=st.lists(POLICIES, max_size=2),
    pool=st.none() | st.just(Pool(min=1, max=8)) | st.just(Pool(min=2, max=3, idle_s=1.5)),
    limits=LIMITS,
    task_limits=LIMITS,
    circuit=st.none() | st.just(Circuit(failures=2, cool_s=4.0)),
    options=st.dictionaries(LABELS, VALUES, max_size=3),
)


@given(SPECS)
def test_what_is_written_is_read_as_the_same_spec(spec: AgentSpec) -> None:
    text = agent_yaml(spec)

    assert inexpressible_fields(spec) == []
    assert read_spec_text(text, Path("a.yaml")).agents == [spec]
    assert all(one.isprintable() or one == "\n" for one in text)


@pytest.mark.parametrize(
    "fields",
    [
        {"agent_type": "llm", "model": ("fast", "openai/gpt-4o"), "instructions": "You find facts.\nYou say where.\n"},
        {"agent_type": "ReactAgent", "model": "fast", "may": ("ask_human",), "approve": {"files/write": "always"}},
        {
            "agent_type": "scripted",
            "options": {"script": [{"match": "x", "steps": [{"name": "look", "output": "on"}]}]},
        },
        {"agent_type": "process", "options": {"argv": ["tr", "a-z", "A-Z"], "input": "stdin", "protocol": "text"}},
        {"run": "crew:read", "on_failure": (Retry(3), Skip())},
        {"run": "crew:read", "on_failure": (Fail(),)},
        {"agent_type": "llm", "model": "fast", "output": {"type": "object"}},
    ],
)
def test_each_kind_of_agent_is_written(fields: dict[str, Any]) -> None:
    spec = AgentSpec(name="one", **fields)

    assert inexpressible_fields(spec) == []
    assert read_spec_text(agent_yaml(spec), Path("a.yaml")).agents == [spec]


def test_defaults_are_left_out_and_lines_stand_in_a_block() -> None:
    spec = AgentSpec(
        name="scout", run="crew:read", instructions="One.\nTwo.\n", specialties=["read"], on_failure=[Retry(3)]
    )

    assert agent_yaml(spec) == (
        "name: scout\nspecialties: [read]\nrun: crew:read\ninstructions: |\n  One.\n  Two.\non_failure:\n- {retry: 3}\n"
    )


def test_what_team_files_have_no_word_for_is_named() -> None:
    assert inexpressible_fields(AgentSpec(name="one", run="crew:read", limits=Limits(tokens=5, depth=3))) == ["limits"]


def test_code_of_a_running_program_is_named_as_what_no_text_says() -> None:
    assert inexpressible_fields(AgentSpec(name="one", run="bound:crew.read#3")) == ["run"]
