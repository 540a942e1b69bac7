"""A key that is accepted does something: every key of an agent, for every kind of agent, is refused or has an effect.

What shows the effect stands in `tests/runtime/test_key_effects.py`, or is a test that is named here. A new key, and a
new kind of agent, have an entry or this fails.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from engine.core.specs.model_spec import McpSpec, ModelSpec
from engine.core.specs.spec import MODEL_TYPES
from engine.runtimes.catalogue import built_in, kinds
from engine.teamfile import TeamFileError, parse_team
from engine.teamfile.blocks import block_of
from engine.teamfile.schema import AgentBlock, SupervisorBlock
from tests.runtime.test_key_effects import EFFECTS

TESTS = Path(__file__).parents[1]
KINDS = sorted(kinds().keys() - {"function of its text"})

EVERY_AGENT = {
    "name": "unit/test_teamfile.py::test_what_is_written_is_what_the_engine_gets",
    "type": "unit/test_teamfile.py::test_what_is_written_is_what_the_engine_gets",
    "description": "unit/test_discovery.py::test_descriptions_alone_can_cover_a_request",
    "specialties": "unit/test_discovery.py::test_a_capability_suits_who_claims_it_or_is_called_so",
    "category": "unit/test_categories.py::test_who_takes_part_is_who_belongs_to_the_category_by_specialty_or_by_name",
    "weight": "unit/test_balancing.py::test_weight_shares_tasks_out_in_proportion_and_smoothly",
    "max_concurrency": "meaning/test_team_file_promises.py::test_max_concurrency_bounds_what_one_agent_has_at_work",
    "timeout_s": "runtime/test_process_agents.py::test_the_time_limit_ends_it_with_its_group",
    "on_failure": "unit/test_policies_chain.py::test_retries_on_both_sides_of_a_failover_are_their_own",
    "pool": "unit/test_decide_pool.py::test_a_pool_never_grows_beyond_its_most",
    "limits": "unit/test_decide_budgets.py::test_a_task_has_the_limits_of_its_agent_or_those_inherited_from_above",
    "circuit": "unit/test_decide_circuit.py::test_a_circuit_opens_after_so_many_failures_in_a_row",
    "silent_s": "unit/test_current_activity.py::test_the_options_of_the_agent_come_before_those_of_its_supervisor",
    "stuck_s": "unit/test_current_activity.py::test_the_options_of_the_agent_come_before_those_of_its_supervisor",
}
"""Tests of the keys that the engine carries out, whatever executes the agent."""
STEP_LIMIT = "meaning/test_python_promises.py::test_a_step_that_takes_longer_than_its_limit_fails_the_attempt_then"
MODEL_OPTIONS = "runtime/test_model_limits.py::test_a_model_that_finds_no_end_fails_at_its_turn_limit_in_a_sentence"
INSTRUCTIONS = "runtime/test_model_leading.py::test_the_prompt_begins_with_what_the_user_says"
RUNS = "runtime/test_key_effects.py::test_a_key_that_is_accepted_changes_what_comes_of_the_work"
"""With `run` it is a function agent, of which the table knows."""
SCRIPT = "runtime/test_scripted.py::test_the_first_rule_that_fits_the_text_is_played"
OPTIONS = "runtime/test_supervisor_changes.py::test_replacing_some_fields_keeps_the_others_and_their_code"
"""Options of a function are data of its author, which only one that takes (task, ctx) sees."""
OF_KINDS = {
    "function": {"step_timeout_s": STEP_LIMIT},
    "function in a process": {"options": OPTIONS},
    "scripted": {
        "step_timeout_s": STEP_LIMIT,
        "script": "runtime/test_scripted.py::test_without_a_rule_it_says_its_name_and_the_text",
    },
    **{
        kind: {"step_timeout_s": STEP_LIMIT, "instructions": INSTRUCTIONS, "options": MODEL_OPTIONS, "run": RUNS}
        for kind in MODEL_TYPES
    },
}
"""Tests of keys whose effect takes more than one agent to see."""


def test_every_type_of_agent_is_declared_in_the_file_that_the_catalogue_names() -> None:
    assert set(built_in()) <= kinds().keys()


SAMPLES: dict[str, Any] = {
    "run": "crew:work", "run_in": "thread", "tools": ["crew:search"], "model": "openai/gpt-4o",
    "instructions": "Be brief.", "mcp": ["files"], "may": ["ask_human"], "approve": {"search": "always"},
    "output": {"type": "object"}, "step_timeout_s": 5, "options": {"depth": 2}, "script": [{"output": "x"}],
}  # fmt: skip
AGENTS: dict[str, dict[str, Any]] = {
    "function": {"run": "crew:work"},
    "function in a process": {"run": "crew:work", "run_in": "process"},
    "scripted": {"type": "scripted", "script": [{"output": "x"}]},
    "process": {"options": {"argv": ["cat"]}, "type": "process"},
    "acp": {"options": {"argv": ["coder"]}, "type": "acp"},
    "MultiAgent": {"type": "MultiAgent", "options": {"team": ["a"]}},
    "ConversationAgent": {"type": "ConversationAgent", "options": {"speakers": ["a", "b"]}},
    **{kind: {"type": kind} for kind in ("llm", "SimpleAgent", "ReactAgent", "MemoryAgent")},
}


def faults_with(kind: str, key: str) -> str:
    agent = {"name": "ada", **AGENTS[kind], key: SAMPLES[key]}
    team = {"version": 1, "supervisor": {"name": "desk"}, "mcp": {"files": {"argv": ["x"]}}, "agents": [agent]}
    try:
        parse_team(json.dumps(team), Path("team.yaml"))
    except TeamFileError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_of_an_agent_is_refused_or_has_an_effect_that_a_test_shows(kind: str) -> None:
    tried = {effect.key for effect in EFFECTS if effect.kind == kind}
    shown = {*tried, *EVERY_AGENT, *OF_KINDS.get(kind, {})}

    for key in AgentBlock.model_fields:
        refused = key in SAMPLES and f"agents[ada].{key}: " in faults_with(kind, key)
        assert refused or key in shown, f"{key} of {kind} is not refused, and no test shows what it does"
        assert not (refused and key in tried), f"{key} of {kind} is refused, and has an effect"


@pytest.mark.parametrize("named", sorted({*EVERY_AGENT.values(), *(t for k in OF_KINDS.values() for t in k.values())}))
def test_the_tests_that_show_effects_are_there(named: str) -> None:
    path, _, name = named.partition("::")

    assert re.search(rf"^(async )?def {name}\(", (TESTS / path).read_text(encoding="utf-8"), re.MULTILINE), named


def faults_of(**blocks: Any) -> str:
    try:
        parse_team(json.dumps({"version": 1, "supervisor": {"name": "desk"}, **blocks}), Path("team.yaml"))
    except TeamFileError as error:
        return str(error)
    return ""


SERVED = {"base_url": "http://127.0.0.1:9", "key_env": "KEY", "timeout_s": 5, "idle_s": 5}


@pytest.mark.parametrize("key", SERVED)
def test_a_key_of_a_model_that_is_called_is_refused_beside_replies(key: str) -> None:
    replies = {"replies": [{"text": "hi"}]}

    assert f"models.fake.{key}: does nothing beside 'replies'" in faults_of(
        models={"fake": {**replies, key: SERVED[key]}}
    )
    assert (
        faults_of(models={"fake": {**replies, "price": {"in_usd": 1}, "context_tokens": 1000, "rpm": 5, "tpm": 5}})
        == ""
    )
    assert faults_of(models={"fake": {"model": "openai/x", key: SERVED[key]}}) == ""


@pytest.mark.parametrize(
    ("server", "key"),
    [
        ({"url": "http://127.0.0.1:9/mcp", "env": ["A"]}, "env"),
        ({"argv": ["x"], "headers_env": {"X": "A"}}, "headers_env"),
    ],
)
def test_a_key_of_the_other_kind_of_tool_server_is_refused(server: dict[str, Any], key: str) -> None:
    assert f"mcp.tools.{key}: does nothing for a" in faults_of(mcp={"tools": server})


CARRIES_OUT = (
    "activities",
    "decide",
    "fold",
    "followups",
    "queries",
    "scheduler",
    "strategies",
    "budgets",
    "policies",
)
UNDER_ANOTHER_NAME = {"strategy": "mode", "order": "members", "model": "lead_spec", "instructions": "lead_spec"}
"""Keys of a supervisor that become something else: `engine.teamfile.build`."""


@pytest.mark.parametrize("block", [SupervisorBlock, block_of(ModelSpec), block_of(McpSpec)])
def test_every_key_of_a_supervisor_a_model_and_a_server_is_read_by_what_carries_it_out(block: type[BaseModel]) -> None:
    root = TESTS.parent / "engine"
    folders = [*(root / "core" / name for name in CARRIES_OUT), root / "models", root / "runtimes"]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    files += [root / "core/discovery/nearest.py", root / "teamfile/build.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    names = {key: UNDER_ANOTHER_NAME.get(key, key) if block is SupervisorBlock else key for key in block.model_fields}

    assert [key for key, name in names.items() if not re.search(rf"\.{name}\b|\"{name}\"|\b{name}\(", text)] == []
