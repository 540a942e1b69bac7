"""What the code of a trusted team file shows about its agents: rules under no tool, unused keys, likely mistakes."""

from pathlib import Path

import pytest

from engine.teamfile import read_team
from engine.teamfile.code import TeamCode

CODE = """
from engine import tool

def work(text): return text
def work_with(text, ctx): return text
def look(words: str) -> str: return words

@tool(name="pay_out", approve={"contains": '": 1'})
def pay(amount: int) -> str: return "paid"
"""
TEAM = """version: 1
mcp: {{web: {{argv: [web]}}}}
supervisor: {{name: t}}
agents:
- {{name: ada, {agent}}}
"""
PUNCTUATION = (
    "@tool of crew:pay: approve: contains '\": 1' looks for the punctuation of JSON, which no argument by itself has; a"
    " value at a path is compared by {json: path, equals: value}"
)
ALONE = "does nothing for a function that takes its text alone"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "crew.py").write_text(CODE)
    return tmp_path


@pytest.mark.parametrize(
    ("agent", "problems", "warnings"),
    [
        ("run: 'crew:work'", [], []),
        ("run: 'crew:work', step_timeout_s: 5", [("agents[ada].step_timeout_s", ALONE)], []),
        ("run: 'crew:work_with', step_timeout_s: 5", [], []),
        ("run: 'crew:work', run_in: process", [], []),
        (
            "run: 'crew:work_with', tools: ['crew:look', 'crew:pay'], approve: {look: always, pay_out: never}",
            [],
            [PUNCTUATION],
        ),
        (
            "run: 'crew:work_with', tools: ['crew:look', 'crew:pay'], approve: {pay: always}",
            [("agents[ada].approve", "no tool 'pay'; it has look, pay_out")],
            [PUNCTUATION],
        ),
        (
            "run: 'crew:work_with', approve: {work_with: always}",
            [("agents[ada].approve", "no tool 'work_with'; it has none")],
            [],
        ),
        ("model: x/y, mcp: [web], tools: ['crew:look'], approve: {web/get: always, look: always}", [], []),
        (
            "model: x/y, mcp: [web], tools: ['crew:look'], approve: {wep/get: always}",
            [("agents[ada].approve", "no tool 'wep/get'; it has look, web/…")],
            [],
        ),
        # Where a tool cannot be loaded, that is the fault: which name it has is not known.
        ("model: x/y, tools: ['crew:none'], approve: {none: always}", [("agents[ada].tools[1]", "")], []),
        ("type: acp, options: {argv: [coder]}, approve: {edit: always}", [], []),
    ],
)
def test_the_code_of_an_agent_tells_what_is_wrong_with_its_keys(
    code: Path, agent: str, problems: list[tuple[str, str]], warnings: list[str]
) -> None:
    (code / "team.yaml").write_text(TEAM.format(agent=agent))
    team = TeamCode(read_team(code / "team.yaml"))
    unresolved = team.reference_problems()

    assert [one.field for one in unresolved] == [field for field, _ in problems]
    assert [text for one, (_, text) in zip(unresolved, problems, strict=True) if not one.text.startswith(text)] == []
    assert [one.line for one in unresolved] == [5] * len(problems)
    assert team.warnings == warnings


def test_the_references_of_toolsets_are_looked_at_like_those_of_tools(code: Path) -> None:
    team = "version: 1\nsupervisor: {name: t, toolsets: {all: ['crew:look', 'crew:none', 'nowhere:look']}}\n"
    (code / "team.yaml").write_text(team)
    unresolved = TeamCode(read_team(code / "team.yaml")).reference_problems()

    assert [one.field for one in unresolved] == ["supervisor.toolsets.all[2]", "supervisor.toolsets.all[3]"]
