"""Agents of a file without a team around them: validated as those of a team, by the same models and messages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from typing_extensions import override

from engine.teamfile.document import Loc, TeamFileError, UnusableTeamFile, YamlDocument
from engine.teamfile.faults import problems_of
from engine.teamfile.meaning import Meaning
from engine.teamfile.schema import TeamDocument

MAX_AGENTS = 100_000
_AROUND = {"version": 1, "supervisor": {"name": "file", "max_agents": MAX_AGENTS}}
"""A team around agents without one."""


def team_around(
    document: YamlDocument, path: Path, agents: Any, *, depth: int = 0, servers: Mapping[str, Any] | None = None
) -> TeamDocument:
    """Return agents of a file as the agents of a team, after all checks of a team file.

    Args:
        document: The file.
        path: For messages.
        agents: The value that should be a list of agents.
        depth: Number of leading steps of a team's location that the file lacks: 1 if it is the list itself.
        servers: The tool servers that agents may refer to, by name.

    Raises:
        TeamFileError: If one is invalid; has all problems.
    """
    if isinstance(agents, list) and len(agents) > MAX_AGENTS:
        raise UnusableTeamFile(path, f"names {len(agents):,} agents; at most {MAX_AGENTS:,}")
    around = _InTeam(document, agents, depth, servers or {})
    try:
        team = TeamDocument.model_validate(around.value)
    except ValidationError as error:
        raise TeamFileError(path, problems_of(error.errors(include_url=False), around)) from None
    problems = Meaning(team, around).problems()
    if problems:
        raise TeamFileError(path, problems)
    if not team.agents:
        raise UnusableTeamFile(path, "names no agent; write one, such as {name: scout, run: 'crew.scout:survey'}")
    return team


class _InTeam(YamlDocument):
    """A document with the agents of a file as agents of a team; lines are those of the file."""

    def __init__(self, document: YamlDocument, agents: Any, depth: int, servers: Mapping[str, Any]) -> None:
        super().__init__({**_AROUND, "mcp": servers, "agents": agents}, {})
        self._document, self._depth = document, depth

    @override
    def line(self, loc: Loc) -> int:
        return self._document.line(loc[self._depth :])
