"""Reads the file of the ACP registry: programs that speak the Agent Client Protocol; nothing is downloaded.

Agents that npx or uvx runs become specs of type `acp` with the exact version. Those that come only as an archive cannot
be used: somebody would have to download and unpack it. Format: https://agentclientprotocol.com/rfds/acp-agent-registry
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.catalogue.entries import Pack
from engine.catalogue.pack_files import MAX_PACK_BYTES, read_json
from engine.core.specs.spec import AgentSpec
from engine.errors import CatalogueError
from engine.teamfile import content_of
from engine.teamfile.agent_lists import MAX_AGENTS, team_around
from engine.teamfile.build import agent_spec
from engine.teamfile.document import TeamFileError, YamlDocument, printable

PACK = "acp-registry"
_PREFIXES = {"npx": ("npx", "--yes"), "uvx": ("uvx",)}
_PACKAGE = re.compile(r"((?:@[a-z0-9~][\w.~-]*/)?[A-Za-z0-9~][\w.~-]*(?:\[[\w,.-]+\])?)(?:(?:@|==)(.+))?", re.ASCII)
_EXACT = re.compile(r"v?\d[0-9A-Za-z]*([.+-][0-9A-Za-z]+)*", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class _Unusable(Exception):
    """An agent of the registry cannot be used; the message is the reason."""


def read_acp_registry(path: Path) -> Pack:
    """Read a registry file; raises CatalogueError or TeamFileError if it is none."""
    content = content_of(path, max_bytes=MAX_PACK_BYTES)
    value = read_json(content, path)
    agents = value.get("agents") if isinstance(value, dict) else None
    if not isinstance(agents, list) or not all(isinstance(agent, dict) for agent in agents):
        raise CatalogueError(f"{path} is not a registry of ACP agents: it has no list 'agents'")
    if len(agents) > MAX_AGENTS:
        raise CatalogueError(f"{path} names {len(agents):,} agents; at most {MAX_AGENTS:,}")
    specs: dict[str, AgentSpec] = {}
    unusable: dict[str, str] = {}
    for number, agent in enumerate(agents, 1):
        name = printable(str(agent.get("id") or f"agent {number}"), 64)
        try:
            if name in specs:
                raise _Unusable("occurs twice")
            team = team_around(YamlDocument(None, {}), path, [_block(agent)])
            specs[name] = agent_spec(team.agents[0])
        except _Unusable as reason:
            unusable[name] = str(reason)
        except TeamFileError as error:
            problem = error.problems[0]
            unusable[name] = f"{problem.field}: {problem.text}"
    return Pack(
        name=PACK,
        version=printable(str(value.get("version") or ""), 200),
        agents=list(specs.values()),
        sha256=hashlib.sha256(content).hexdigest(),
        source="acp_registry",
        unusable=unusable,
    )


def _block(agent: Mapping[str, Any]) -> dict[str, Any]:
    """Return an agent as in a team file; nothing of it is checked yet."""
    distributions = agent.get("distribution")
    if not isinstance(distributions, dict):
        raise _Unusable("says not how it is distributed")
    runner = next((name for name in _PREFIXES if isinstance(distributions.get(name), dict)), None)
    if runner is None:
        names = ", ".join(map(str, distributions)) or "nothing"
        raise _Unusable(f"comes as {printable(names, 60)}; install it yourself, then write an agent of type acp")
    distribution = distributions[runner]
    package = _exact_package(distribution.get("package"), agent.get("version"))
    arguments = distribution.get("args") or []
    if not isinstance(arguments, list) or not all(isinstance(argument, str) for argument in arguments):
        raise _Unusable("has arguments that are not texts")
    texts = [agent.get("name"), agent.get("description")]
    argv = [*_environment(distribution.get("env") or {}), *_PREFIXES[runner], package, *arguments]
    return {
        "name": agent.get("id"),
        "type": "acp",
        "description": ": ".join(text for text in texts if isinstance(text, str) and text),
        "options": {"argv": argv},
    }


def _exact_package(package: object, version: object) -> str:
    """Return `package@version`; a range or a tag is replaced by the version of the agent."""
    match = _PACKAGE.fullmatch(package) if isinstance(package, str) else None
    if match is None:
        raise _Unusable("names no package of a package index")
    name, requested = match.groups()
    exact = next((text for text in (requested, version) if isinstance(text, str) and _EXACT.fullmatch(text)), None)
    if exact is None:
        raise _Unusable("says no exact version")
    return f"{name}@{exact}"


def _environment(variables: object) -> list[str]:
    """Return the beginning of a command that sets variables, so that a person who trusts it sees them."""
    if not isinstance(variables, dict) or not all(
        _VARIABLE.fullmatch(name) and isinstance(text, str) and "\0" not in text for name, text in variables.items()
    ):
        raise _Unusable("sets environment variables in a way that is not understood")
    return ["env", *(f"{name}={text}" for name, text in variables.items())] if variables else []
