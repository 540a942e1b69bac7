"""A file with agents to add or to swap in: one agent, a list of them, a block `agents:`, or a whole team file.

Rule: an agent is validated as in a team file, by the same models and with the same messages.
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
from engine.teamfile.document import Loc, YamlDocument, read_document
from engine.teamfile.faults import problems_of
from engine.teamfile.meaning import Meaning
from engine.teamfile.schema import TeamDocument

_AROUND = {"version": 1, "supervisor": {"name": "file", "max_agents": 100_000}}
"""A team around agents without one, so that they can be validated as a team file."""


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
    team = _as_team(document, path, servers)
    return SpecFile(
        path=path.resolve(),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        agents=[agent_spec(block) for block in team.agents],
        team=None,
        references=references_of(team),
    )


def _as_team(document: YamlDocument, path: Path, servers: Iterable[str]) -> TeamDocument:
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
    return team.model_copy(update={"mcp": {}})  # without the servers of the wrapper


class _InTeam(YamlDocument):
    """A document with the agents of a file as agents of a team; lines are those of the file."""

    def __init__(self, document: YamlDocument, servers: Iterable[str]) -> None:
        agents, self._depth = _agents_in(document.value)
        mcp_servers = {name: {"argv": [name]} for name in servers}
        super().__init__({**_AROUND, "mcp": mcp_servers, "agents": agents}, {})
        self._document = document

    def line(self, loc: Loc) -> int:
        return self._document.line(loc[self._depth :])


def _agents_in(value: Any) -> tuple[Any, int]:
    """Return the agents, and the number of leading steps of a team's location that the file lacks."""
    if isinstance(value, list):
        return value, 1
    if isinstance(value, dict) and "agents" in value:
        return value["agents"], 0
    return [value], 2
