"""Keys without an effect, where the kind of an agent is known only once its code is, or depends on other keys."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable
from engine.runtimes.catalogue import kind_of, kinds
from engine.runtimes.functions.kinds import WITHOUT_CONTEXT
from engine.runtimes.programs.options import TOOL_KINDS
from engine.teamfile import TeamFileError, parse_team

GIVEN: dict[str, Any] = {
    "model": "openai/gpt-4o", "instructions": "Be brief.", "may": ["ask_human"], "tools": ["crew:search"],
    "mcp": ["files"], "approve": {"search": "always"}, "step_timeout_s": 5,
}  # fmt: skip


@pytest.mark.parametrize("key", GIVEN)
def test_a_function_of_its_text_has_no_use_for_what_its_context_would_bring(key: str) -> None:
    spec = AgentSpec(name="ada", run="crew:work", **{key: GIVEN[key]})
    way = "" if key in ("model", "instructions", "may") else ", or let it take (task, ctx)"

    with pytest.raises(Unusable) as fault:
        WITHOUT_CONTEXT.check_keys(spec)
    assert str(fault.value) == (
        f"agent 'ada': {key} does nothing for a function that takes its text alone; leave it out{way}"
    )


def test_a_function_of_its_text_uses_all_other_keys() -> None:
    assert {*WITHOUT_CONTEXT.unused} == {*GIVEN}
    WITHOUT_CONTEXT.check_keys(AgentSpec(name="ada", run="crew:work", run_in="thread", options={"a": 1}))


@pytest.mark.parametrize(
    ("agent_type", "run", "run_in", "kind"),
    [
        ("function", "crew:work", None, "function"),
        ("function", "crew:work", "thread", "function"),
        ("function", "crew:work", "process", "function in a process"),
        ("llm", "crew:work", None, "function"),
        ("ReactAgent", "crew:work", "process", "function in a process"),
        ("llm", None, None, "llm"),
        ("scripted", "crew:work", None, "scripted"),
        ("acp", "crew:work", "process", "acp"),
        ("crew:Runtime", "crew:work", None, None),
        (None, None, None, None),
    ],
)
def test_the_kind_of_an_agent_follows_from_its_type_and_its_code(
    agent_type: str | None, run: str | None, run_in: str | None, kind: str | None
) -> None:
    assert kind_of(agent_type, run, run_in) == (kinds()[kind] if kind else None)


LED: list[tuple[dict[str, Any], str]] = [
    ({"model": "m", "moderator": "m"}, "model: does nothing beside a moderator; leave one of them out"),
    ({"model": "m", "moderator": "m", "instructions": "Be brief."}, "model: does nothing beside a moderator"),
    ({"instructions": "Be brief."}, "instructions: is for the model of a ConversationAgent, and this one has none"),
    ({"instructions": "Be brief.", "moderator": "m"}, "instructions: is for the model of a ConversationAgent"),
    ({"instructions": "Be brief.", "model": "m"}, ""),
    ({"moderator": "m"}, ""),
    ({}, ""),
]


@pytest.mark.parametrize(("keys", "fault"), LED)
def test_what_is_for_a_model_is_refused_where_a_conversation_has_none_of_its_own(
    keys: dict[str, Any], fault: str
) -> None:
    own = {key: text for key, text in keys.items() if key != "moderator"}
    options = {"speakers": ["a", "b"], **({"moderator": keys["moderator"]} if "moderator" in keys else {})}
    spec = AgentSpec(name="talk", agent_type="ConversationAgent", options=options, **own)
    faults = [f"{'.'.join(map(str, place))}: {text}" for place, text in kinds()["ConversationAgent"].unused_keys(spec)]

    assert len(faults) == bool(fault)
    assert all(said.startswith(fault) for said in faults)


def test_each_tool_and_each_rule_of_a_coding_agent_that_means_nothing_is_named_at_its_place() -> None:
    agent = {
        "name": "ada", "type": "acp", "options": {"argv": ["coder"]}, "mcp": ["files", "files/read", "web/get"],
        "approve": {**dict.fromkeys(TOOL_KINDS, "always"), "write": "always", "browse": "never"},
    }  # fmt: skip
    servers = {"files": {"argv": ["x"]}, "web": {"argv": ["y"]}}
    team = {"version": 1, "supervisor": {"name": "desk"}, "mcp": servers, "agents": [agent]}

    with pytest.raises(TeamFileError) as fault:
        parse_team(json.dumps(team), Path("team.yaml"))
    assert sorted((problem.field, problem.text.partition(";")[0]) for problem in fault.value.problems) == [
        ("agents[ada].approve.browse", "is no kind of tool of the protocol"),
        ("agents[ada].approve.write", "is no kind of tool of the protocol"),
        ("agents[ada].mcp[2]", "names one tool, and an agent of type acp gets whole servers: write 'files'"),
        ("agents[ada].mcp[3]", "names one tool, and an agent of type acp gets whole servers: write 'web'"),
    ]


@pytest.mark.skipif(find_spec("acp") is None, reason="the extra is not installed")
def test_the_kinds_of_tools_are_those_of_the_protocol() -> None:
    text = Path(str(find_spec("acp").origin)).with_name("schema.py").read_text(encoding="utf-8")  # type: ignore[union-attr]
    line = next(line for line in text.splitlines() if line.startswith("ToolKind = Literal["))

    assert tuple(json.loads(line.partition("Literal")[2])) == TOOL_KINDS
