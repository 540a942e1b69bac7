"""Rules of approval: those under no tool, and those that are valid and of which a team file warns all the same."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from engine.core.errors import Refused
from engine.core.specs.approval import check_ruled_tools
from engine.teamfile import parse_team


@pytest.mark.parametrize(
    ("rule", "is_warned"),
    [
        ({"matches": r'"path":\s*"/etc'}, True),
        ({"matches": r'\{"path'}, True),
        ({"contains": '": "prod"'}, True),
        ({"contains": 'a", "b'}, True),
        ({"names": '"prod"]'}, True),
        ({"matches": '"prod"}'}, True),
        ({"matches": r'\["prod'}, True),
        ({"matches": r"'to'\s:"}, True),
        ({"contains": 'say "no"'}, False),
        ({"matches": r"^\s*rm\s+-rf"}, False),
        ({"matches": "[a-z]{2,3}: x"}, False),
        ({"json": "a", "equals": '{"a": 1}'}, False),
        ("always", False),
    ],
)
def test_a_guard_over_arguments_that_looks_for_signs_of_json_is_warned_of(rule: Any, *, is_warned: bool) -> None:
    agents = f"agents:\n- {{name: ada, model: x/y, approve: {{pay: {json.dumps(rule)}}}}}\n"
    text = f"version: 1\nsupervisor: {{name: t}}\n{agents}"
    warnings = [one for one in parse_team(text, Path("team.yaml")).warnings if "punctuation of JSON" in one]

    assert [one.partition(":")[0] for one in warnings] == ["agents[ada].approve.pay"] * is_warned


@pytest.mark.parametrize(
    ("ruled", "tools", "mcp", "there"),
    [
        ([], [], [], None),
        (["pay"], ["pay"], [], None),
        (["pay", "a/b"], ["pay", "a/b"], [], None),
        (["web/get", "files/echo"], ["pay"], ["web", "files/add"], None),
        (["pay", "pai"], ["pay", "look"], [], "'pai'; it has pay, look"),
        (["web"], ["pay"], ["web", "files/add"], "'web'; it has pay, files/…, web/…"),
        (["mail/get"], [], ["web"], "'mail/get'; it has web/…"),
        (["pay"], [], [], "'pay'; it has none"),
    ],
)
def test_a_rule_stands_under_a_tool_of_its_agent(
    ruled: list[str], tools: list[str], mcp: list[str], there: str | None
) -> None:
    with nullcontext() if there is None else pytest.raises(Refused) as refusal:
        check_ruled_tools(ruled, tools, mcp)

    assert refusal is None or refusal.value.reason == f"approve: no tool {there}"
