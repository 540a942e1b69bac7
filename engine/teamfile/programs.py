"""Warns about programs that a team file names and that are missing on this computer.

These are no faults, because a team may be checked on one computer and run on another.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from engine.core.queries.team.code import PROGRAM_TYPES
from engine.errors import Unusable
from engine.runtimes.programs.environment import build_environment, check_acp, check_program
from engine.teamfile.document import Loc, YamlDocument
from engine.teamfile.faults import field
from engine.teamfile.meaning import agents_of, teams_of
from engine.teamfile.schema import TeamDocument


def missing_programs(team: TeamDocument, folder: Path, document: YamlDocument) -> Iterator[str]:
    """Yield a warning for each missing program of an agent or a tool server, with its path in the file."""

    @cache
    def fault_of(name: str, cwd: str, env: tuple[str, ...]) -> str | None:
        try:
            check_program(name, cwd=folder / cwd, env=build_environment(env))
        except Unusable as unusable:
            return unusable.reason
        return None

    def warnings_at(loc: Loc, name: str, cwd: str, env: tuple[str, ...]) -> Iterator[str]:
        fault = fault_of(name, cwd, env)
        if fault is not None:
            yield f"{field(document, loc)}: {fault}"

    has_acp = False
    for loc, agent in agents_of(team):
        if agent.type in PROGRAM_TYPES:
            has_acp = has_acp or agent.type == "acp"
            argv = [*_texts(agent.options.get("argv"))]
            env = tuple(_texts(agent.options.get("env")))
            yield from warnings_at((*loc, "options", "argv"), argv[0], str(agent.options.get("cwd") or "."), env)
    for loc, block in teams_of(team):
        for name, server in block.mcp.items():
            if server.argv:
                yield from warnings_at((*loc, "mcp", name), server.argv[0], ".", tuple(server.env))
    if has_acp:
        try:
            check_acp()
        except Unusable as unusable:
            yield unusable.reason


def _texts(value: object) -> Iterator[str]:
    yield from map(str, value if isinstance(value, list) else ())
