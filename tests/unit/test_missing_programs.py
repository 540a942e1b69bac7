"""A program that is not on this computer is a warning of its team file, with its place."""

from pathlib import Path

import pytest

from engine.runtimes.programs import environment
from engine.teamfile import parse_team

HEAD = "version: 1\nsupervisor: {name: desk}\n"


def warnings(text: str, folder: Path) -> list[str]:
    return parse_team(HEAD + text, folder / "team.yaml").warnings


def test_a_program_that_is_not_there_is_named_with_its_place(tmp_path: Path) -> None:
    text = """\
agents:
- {name: here, type: process, options: {argv: [cat]}}
- {name: gone, type: process, options: {argv: [no-such-program]}}
- {name: script, type: process, options: {argv: [./missing.sh]}}
- {name: elsewhere, type: process, options: {argv: [cat], cwd: nowhere}}
- {name: bare, type: process, options: {argv: [cat], env: [NO_SUCH_VARIABLE]}}
mcp: {tools: {argv: [no-such-server]}, web: {url: "http://127.0.0.1:9/mcp"}}
"""
    assert warnings(text, tmp_path) == [
        "agents[gone].options.argv: no program 'no-such-program' in PATH; install it, or give its path",
        f"agents[script].options.argv: the program {tmp_path / 'missing.sh'} does not exist",
        f"agents[elsewhere].options.argv: there is no folder {tmp_path / 'nowhere'}, in which 'cat' is to work",
        "agents[bare].options.argv: the engine's environment has no NO_SUCH_VARIABLE, which 'env' names; set it and"
        " start the engine",
        "mcp.tools: no program 'no-such-server' in PATH; install it, or give its path",
    ]


@pytest.mark.parametrize("is_installed", [True, False])
def test_a_package_that_is_not_there_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_installed: bool
) -> None:
    monkeypatch.setattr(environment, "find_spec", lambda name: object() if is_installed else None)
    agents = [f"- {{name: {name}, type: acp, options: {{argv: [cat]}}}}" for name in ("ada", "bob")]

    missing = ["agents of type acp need the package agent-client-protocol: pip install 'quarterdeck[acp]'"]
    assert warnings("agents:\n" + "\n".join(agents), tmp_path) == ([] if is_installed else missing)


def test_each_place_that_names_a_program_is_looked_at_from_the_folder_and_with_the_variables_of_that_place(
    tmp_path: Path,
) -> None:
    (tmp_path / "below").mkdir()
    script = tmp_path / "below" / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o700)
    text = """\
mcp:
  script: {argv: [./below/run.sh]}
  lost: {argv: [./run.sh]}
  bare: {argv: [cat], env: [NO_SUCH_VARIABLE]}
agents:
- {name: inside, type: process, options: {argv: [./run.sh], cwd: below}}
- {name: outside, type: process, options: {argv: [./run.sh]}}
- {name: coder, type: acp, options: {argv: [no-such-coder], cwd: below}}
teams:
- supervisor: {name: low}
  mcp: {deep: {argv: [no-such-server]}}
  agents:
  - {name: deep, type: process, options: {argv: [no-such-program]}}
"""
    missing = "; install it, or give its path"
    bare = "the engine's environment has no NO_SUCH_VARIABLE, which 'env' names; set it and start the engine"
    lines = [line for line in warnings(text, tmp_path) if not line.startswith("agents of type acp")]
    assert sorted(lines) == sorted(
        [
            f"agents[outside].options.argv: the program {tmp_path / 'run.sh'} does not exist",
            f"agents[coder].options.argv: no program 'no-such-coder' in PATH{missing}",
            f"teams[low].agents[deep].options.argv: no program 'no-such-program' in PATH{missing}",
            f"mcp.lost: the program {tmp_path / 'run.sh'} does not exist",
            f"mcp.bare: {bare}",
            f"teams[low].mcp.deep: no program 'no-such-server' in PATH{missing}",
        ]
    )
