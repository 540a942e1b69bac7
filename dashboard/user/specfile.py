"""A file with agents to add or to swap in: one agent, a list of them, a block `agents:`, or a whole team file.

Rule: an agent is validated as in a team file, by the same models and with the same messages.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.core.commands import SupervisorSpec
from engine.core.specs.spec import AgentSpec
from engine.teamfile import parse_team, text_of
from engine.teamfile.agent_lists import team_around
from engine.teamfile.build import agent_spec, references_of, supervisor_spec
from engine.teamfile.document import read_document


@dataclass(frozen=True, slots=True)
class SpecFile:
    """The contents of a file: agents, or a supervisor with everything under it."""

    path: Path
    """Absolute, with links resolved."""
    sha256: str
    """Hash of its text, 64 hex digits."""
    agents: list[AgentSpec]
    team: SupervisorSpec | None
    """The supervisor of a whole team file, when `agents` is empty."""
    references: list[str]
    """Every `module:qualname` in it, without duplicates."""


def read_spec_file(path: Path) -> SpecFile:
    """Read a file and validate it as far as possible without its code.

    Raises:
        TeamFileError: If it is invalid; has all problems.
    """
    return read_spec_text(text_of(path), path)


def read_spec_text(text: str, path: Path, servers: Iterable[str] = ()) -> SpecFile:
    """Parse a text as `read_spec_file` does; the file at `path` need not exist.

    Args:
        text: Contents of the file.
        path: For messages.
        servers: Names of the team's tool servers, which agents may refer to.
    """
    document = read_document(text, path)
    if isinstance(document.value, dict) and "supervisor" in document.value:
        file = parse_team(text, path)
        return SpecFile(file.path, file.sha256, [], supervisor_spec(file.team), file.references)
    agents, depth = _agents_in(document.value)
    team = team_around(document, path, agents, depth=depth, servers={name: {"argv": [name]} for name in servers})
    team = team.model_copy(update={"mcp": {}})  # without the servers around it
    return SpecFile(
        path=path.resolve(),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        agents=[agent_spec(block) for block in team.agents],
        team=None,
        references=references_of(team),
    )


def _agents_in(value: Any) -> tuple[Any, int]:
    """Return the agents, and the number of leading steps of a team's location that the file lacks."""
    if isinstance(value, list):
        return value, 1
    if isinstance(value, dict) and "agents" in value:
        return value["agents"], 0
    return [value], 2
