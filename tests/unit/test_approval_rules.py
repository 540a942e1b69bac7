"""Rules of approval that are valid, and of which a team file warns all the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.teamfile import parse_team


@pytest.mark.parametrize(
    ("rule", "is_warned"),
    [
        ({"matches": r'"path":\s*"/etc'}, True),
        ({"matches": r'\{"path'}, True),
        ({"contains": '": "prod"'}, True),
        ({"contains": 'a", "b'}, True),
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
