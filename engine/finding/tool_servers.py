"""Agents for the tool servers of a team: one for each server whose tools may match a request."""

import re
from collections.abc import Iterable, Sequence

from engine.core.signals import FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.validation.bounds import NAME
from engine.runtimes.toolbox.mcp_records import OfferedTool

MAX_SPECIALTIES = 20
_DESCRIPTION_CHARS = 900


def agent_for(
    server: str, tools: list[OfferedTool], model: str | Sequence[str] | None, members: Iterable[AgentSpec] = ()
) -> FoundSpec | None:
    """Return an agent that uses the tools of a server; None if its name cannot be that of an agent.

    Args:
        members: Agents of the team: before a call that one of them makes only after a question, it asks too.
    """
    specialties = [words[:100] for tool in tools if (words := " ".join(re.split(r"[\s_]+", tool.name)).strip())]
    if not NAME.fullmatch(server) or not specialties:
        return None
    names = {f"{server}/{tool.name}" for tool in tools}
    asking = {name for spec in members for name, rule in spec.approve.items() if name in names and rule != "never"}
    described = "; ".join(f"{tool.name}: {' '.join(tool.description.split())[:80]}" for tool in tools)
    spec = AgentSpec(
        name=server,
        agent_type="ReactAgent",
        model=model,
        description=f"Uses the tools of {server}. {described}"[:_DESCRIPTION_CHARS],
        specialties=tuple(specialties[:MAX_SPECIALTIES]),
        instructions=f"You do what is asked of you with the tools of {server}.",
        mcp=(server,),
        approve=dict.fromkeys(sorted(asking), "always"),
    )
    return FoundSpec(source=AgentDiscoveryMode.MCP, id=server, hash=spec_hash(spec), spec=spec)
