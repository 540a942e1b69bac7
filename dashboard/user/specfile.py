"""A file with agents to add or to swap in: one agent, a list of them, a block `agents:`, or a whole team file.

Rule: an agent is checked as in a team file, by the same models and with the same messages.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from engine.core.commands import SupervisorSpec
from engine.core.specs.spec import AgentSpec
from engine.teamfile import TeamFileError, UnusableTeamFile, parse_team, text_of
from engine.teamfile.build import agent_spec, references_of, supervisor_spec
from engine.teamfile.document import Document, Loc, read_document
from engine.teamfile.faults import problems_of
from engine.teamfile.meaning import Meaning
from engine.teamfile.schema import TeamDocument

_AROUND = {"version": 1, "supervisor": {"name": "file", "max_agents": 100_000}}
"""Wraps agents without a team into one, so that they can be validated as a team file; the engine knows the bound."""


@dataclass(frozen=True, slots=True)
class SpecFile:
    """What a file brings: agents, or a supervisor with everything under it."""

    path: Path
    """Absolute, through links."""
    sha256: str
    """Of its text, 64 hex digits."""
    agents: list[AgentSpec]
    team: SupervisorSpec | None
    """A whole team file; then `agents` is empty."""
    references: list[str]
    """Every `module:qualname` in it, each once."""


def read_spec_file(path: Path) -> SpecFile:
    """Read a file and check all that can be checked without its code.

    Raises:
        TeamFileError: If it cannot be used; with every fault.
    """
    return read_spec_text(text_of(path), path)


def read_spec_text(text: str, path: Path, servers: Iterable[str] = ()) -> SpecFile:
    """Check a text as `read_spec_file` checks that of the file at `path`, which need not be there.

    Args:
        text: What stands there.
        path: For messages.
        servers: Names of the tool servers that the team has, so that its agents may name them.
    """
    document = read_document(text, path)
    if isinstance(document.value, dict) and "supervisor" in document.value:
        file = parse_team(text, path)
        return SpecFile(file.path, file.sha256, [], supervisor_spec(file.team), file.references)
    team = _as_team(document, path, servers)
    return SpecFile(
        path=path.resolve(),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        agents=[agent_spec(block) for block in team.agents],
        team=None,
        references=references_of(team),
    )


def _as_team(document: Document, path: Path, servers: Iterable[str]) -> TeamDocument:
    around = _InTeam(document, servers)
    try:
        team = TeamDocument.model_validate(around.value)
    except ValidationError as error:
        raise TeamFileError(path, problems_of(error.errors(include_url=False), around)) from None
    problems = Meaning(team, around).problems()
    if problems:
        raise TeamFileError(path, problems)
    if not team.agents:
        raise UnusableTeamFile(path, "names no agent; write one, such as {name: scout, run: 'crew.scout:survey'}")
    return team.model_copy(update={"mcp": {}})  # its own, which brings nothing


class _InTeam(Document):
    """Agents of a file as the agents of a team; lines are those of the file."""

    def __init__(self, document: Document, servers: Iterable[str]) -> None:
        agents, self._depth = _agents_in(document.value)
        mcp_servers = {name: {"argv": [name]} for name in servers}
        super().__init__({**_AROUND, "mcp": mcp_servers, "agents": agents}, {})
        self._document = document

    def line(self, loc: Loc) -> int:
        return self._document.line(loc[self._depth :])


def _agents_in(value: Any) -> tuple[Any, int]:
    """Return the agents, and how many leading steps of a location in the team are missing in the file."""
    if isinstance(value, list):
        return value, 1
    if isinstance(value, dict) and "agents" in value:
        return value["agents"], 0
    return [value], 2
