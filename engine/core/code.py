"""The code that specs refer to: which references there are, and which code stood behind them when it was trusted.

A reference is `module:qualname`, code that is imported; `exec:` with a program, its arguments, the variables that it
gets and where it works; or `net:` with an address that is called. All of them are trusted in the same way.
"""

import shlex
from collections.abc import Mapping, Sequence

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
from engine.core.fact import JsonValue
from engine.core.spec import BOUND, AgentSpec

EXEC, NET = "exec:", "net:"
PROGRAM_TYPES = ("process", "acp")
"""Agent types whose `options` name a program."""


def references_of(spec: AgentSpec) -> list[str]:
    """Return what would be imported or executed for an agent of `spec`."""
    said = ([spec.run] if spec.run is not None else []) + list(spec.tools)
    found = [one for one in said if isinstance(one, str) and ":" in one and not one.startswith(BOUND)]
    return found + program_of(spec.agent_type, spec.options)


def is_imported(reference: str) -> bool:
    """Return whether a reference is to code that is imported."""
    return not reference.startswith((EXEC, NET))


def program_of(agent_type: str | None, options: Mapping[str, JsonValue]) -> list[str]:
    """Return the reference to the program that an agent is, if it is one; what is not right in shape names none."""
    argv, env, cwd = options.get("argv"), options.get("env") or [], options.get("cwd") or "."
    if agent_type not in PROGRAM_TYPES or not isinstance(argv, list) or not isinstance(env, list):
        return []
    return [program_reference([str(one) for one in argv], env=[str(one) for one in env], cwd=str(cwd))]


def program_reference(argv: Sequence[str], *, env: Sequence[str] = (), cwd: str = ".") -> str:
    """Return the reference to a program: all that it is started with, as a person can read it.

    Args:
        argv: The program and its arguments.
        env: Names of the variables that it gets besides the usual ones.
        cwd: Where it works, if not in the team's folder.
    """
    # What `shlex` quotes never begins with a bracket, so that no argument can be mistaken for what follows them.
    variables = f" [env {shlex.join(env)}]" if env else ""
    return f"{EXEC}{shlex.join(argv)}{variables}" + (f" [cwd {shlex.quote(cwd)}]" if cwd != "." else "")


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
