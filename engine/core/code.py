"""The code that specs refer to: which references there are, and which code stood behind them when it was trusted."""

from collections.abc import Mapping

from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    Command,
    Declare,
    LoadTeam,
    RegisterSpec,
    ReplaceTeam,
    SupervisorSpec,
    SwapAgent,
    SwapAgents,
)
from engine.core.spec import BOUND, AgentSpec


def references_of(spec: AgentSpec) -> list[str]:
    """Return what would be imported for an agent of `spec`."""
    said = ([spec.run] if spec.run is not None else []) + list(spec.tools)
    return [one for one in said if isinstance(one, str) and ":" in one and not one.startswith(BOUND)]


def code_of(trusted: Mapping[str, str], spec: AgentSpec) -> str:
    """Return the hashes of the code that `spec` refers to, as it was when it was trusted; empty where none has one."""
    return "".join(trusted.get(reference, "") for reference in references_of(spec))


def specs_in(member: AgentSpec | SupervisorSpec) -> list[AgentSpec]:
    """Return every agent spec of a tree."""
    if isinstance(member, AgentSpec):
        return [member]
    return [spec for below in member.members for spec in specs_in(below)]


def specs_of(command: Command) -> list[AgentSpec]:
    """Return every spec that a command brings."""
    if isinstance(command, LoadTeam):
        return [*specs_in(command.team), *command.registry]
    if isinstance(command, AddSupervisor | ReplaceTeam):
        return specs_in(command.team)
    if isinstance(command, Declare):
        return specs_in(command.member)
    if isinstance(command, SwapAgents):
        return [spec for one in command.swaps for spec in specs_of(one)]
    if isinstance(command, AddAgent | SwapAgent | RegisterSpec) and command.spec is not None:
        return [command.spec]
    return []


def named_in(command: Command) -> list[str]:
    """Return every reference that a command brings, each once."""
    return list(dict.fromkeys(one for spec in specs_of(command) for one in references_of(spec)))


def of_program(command: Command) -> dict[str, str]:
    """Return what is granted with a command of the program that the engine is part of: all of it is its own code."""
    return dict.fromkeys(named_in(command), "")
