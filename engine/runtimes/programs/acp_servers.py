"""The tool servers of an ACP agent: those that its spec names under `mcp`.

The agent starts and calls them itself. They have to be trusted like servers that the engine starts.
"""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from engine.core.queries.team.code import reference_of_server
from engine.core.specs.model_spec import McpSpec
from engine.runtimes.attempts.work import Work
from engine.runtimes.code import Code
from engine.runtimes.programs.environment import build_environment, check_program
from engine.runtimes.toolbox.mcp_records import headers_of

IN_FOLDER = 'cd -- "$0" && exec "$@"'
"""Starts a server in the team's folder, as the engine does: the protocol names no folder for it."""


@dataclass(frozen=True, slots=True)
class SessionServer:
    """One server of a session: a program, or an address."""

    name: str
    argv: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    url: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


async def session_servers(work: Work, code: Code) -> list[SessionServer]:
    """Return the servers that the spec of an agent names.

    Raises:
        UnknownServer: If neither its supervisor nor one above defines a server.
        Unusable: If a server is not trusted or missing, or its environment lacks a variable.
    """
    home_id = work.attempt.state.agents[work.effect.agent_id].supervisor_id
    servers = []
    for name in dict.fromkeys(work.spec.mcp):
        spec = code.servers.server(work.attempt.state, home_id, name).spec
        await code.locate(reference_of_server(spec))
        servers.append(await _session_server(name, spec, code))
    return servers


async def _session_server(name: str, spec: McpSpec, code: Code) -> SessionServer:
    if spec.url is not None:
        return SessionServer(name, url=spec.url, headers=headers_of(spec))
    folder, env = code.folder or Path.cwd(), build_environment(spec.env)
    await code.threads.run(partial(check_program, spec.argv[0], cwd=folder, env=env))
    return SessionServer(name, argv=["/bin/sh", "-c", IN_FOLDER, str(folder), *spec.argv], env=env)
