"""The external references of specs and settings, which a user has to trust.

A reference is `module:qualname`, imported code; `exec:` with a program, its arguments, its environment variables and
its working directory; or `net:` with an address that is called and the variables whose values are sent there. All three
are trusted in the same way, as are rules of imported specs that let tools be called without asking (`unasked:`).
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from engine.core import commands
from engine.core.commands import Command
from engine.core.records.records import Json
from engine.core.specs.model_spec import McpSpec, ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import BOUND, AgentSpec

EXEC = "exec:"
ADDRESSES = ("net:http://", "net:https://")
UNASKED = "unasked: "
"""Prefix of the reference to a rule of an imported spec that lets a tool be called without asking a person."""
PROGRAM_TYPES = ("process", "acp")
"""Agent types whose `options` name a program."""


def references_of(spec: AgentSpec) -> list[str]:
    """Return the references that would be imported, executed or called for an agent of `spec`."""
    callables = ([spec.run] if spec.run is not None else []) + list(spec.tools)
    references = imported(callables)
    models = [spec.model] if isinstance(spec.model, str) else spec.model or ()
    return references + program_of(spec.agent_type, spec.options) + addresses_in(models)


def function_name(reference: str) -> str:
    """Return the name of a function that is referred to: the last part of its reference."""
    return reference.removeprefix(BOUND).partition("#")[0].rpartition(":")[2].rpartition(".")[2]


def imported(functions: Iterable[object]) -> list[str]:
    """Return those of some functions that are references to code that is imported."""
    return [name for name in functions if isinstance(name, str) and ":" in name and not name.startswith(BOUND)]


def is_imported(reference: str) -> bool:
    """Return True for a reference to imported code."""
    return not reference.startswith((EXEC, UNASKED, *ADDRESSES))


def unasked_in(spec: AgentSpec) -> list[str]:
    """Return the references to the rules of a spec that let tools be called without asking a person.

    An archive has no code, so whether the author of a tool wants approval is not known when it is imported.
    """
    rules = [(tool, rule) for tool, rule in spec.approve.items() if rule != "always"]
    return [f"{UNASKED}{spec.name} calls {tool} [approve {_rule_text(rule)}]" for tool, rule in rules]


def _rule_text(rule: Json) -> str:
    return rule if isinstance(rule, str) else f"only where {msgspec.json.encode(rule).decode()}"


def program_of(agent_type: str | None, options: Mapping[str, Json]) -> list[str]:
    """Return the reference to the program of an agent, if it runs one; malformed options give none."""
    argv, env, cwd = options.get("argv"), options.get("env") or [], options.get("cwd") or "."
    if agent_type not in PROGRAM_TYPES or not isinstance(argv, list) or not isinstance(env, list):
        return []
    return [program_reference([*map(str, argv)], env=[*map(str, env)], cwd=str(cwd))]


def program_reference(argv: Sequence[str], *, env: Sequence[str] = (), cwd: str = ".") -> str:
    """Return a readable reference to a program: command, names of variables, and folder if not the team's."""
    # `shlex` quotes brackets, so that no argument can be mistaken for the suffixes `[env …]` and `[cwd …]`.
    variables = f" [env {shlex.join(env)}]" if env else ""
    return f"{EXEC}{shlex.join(argv)}{variables}" + (f" [cwd {shlex.quote(cwd)}]" if cwd != "." else "")


def net_reference(url: str, *, env: Iterable[str] = ()) -> str:
    """Return the reference to an address, with the names of the variables whose values are sent there."""
    names = shlex.join(dict.fromkeys(env))
    return f"net:{url} [env {names}]" if names else f"net:{url}"


def addresses_in(models: Iterable[str]) -> list[str]:
    """Return the references to addresses in names of models, which litellm calls for some providers."""
    return [
        net_reference(model[model.index("http") :]) for model in models if "http://" in model or "https://" in model
    ]


def references_in_options(options: SupervisorOptions) -> list[str]:
    """Return the references in the settings of a supervisor."""
    references = [reference for model in options.models.values() for reference in references_of_model(model)]
    references += [reference_of_server(server) for server in options.mcp.values()]
    return references + imported(tool for tools in options.toolsets.values() for tool in tools)


def references_of_model(model: ModelSpec) -> list[str]:
    """Return the addresses that are called for a model, other than its provider's own."""
    if model.base_url is not None:
        return [net_reference(model.base_url, env=() if model.key_env is None else (model.key_env,))]
    return addresses_in([model.model or ""])


def reference_of_server(server: McpSpec) -> str:
    """Return the reference of an MCP server: a program or an address."""
    if server.url is not None:
        return net_reference(server.url, env=server.headers_env.values())
    return program_reference(server.argv, env=server.env)


def code_of(trusted: Mapping[str, str], spec: AgentSpec) -> str:
    """Return the hashes of the trusted code that `spec` refers to; empty if there are none."""
    return "".join(trusted.get(reference, "") for reference in references_of(spec))


def specs_in(member: AgentSpec | commands.SupervisorSpec) -> list[AgentSpec]:
    """Return every agent spec of a tree."""
    if isinstance(member, AgentSpec):
        return [member]
    return [spec for below in member.members for spec in specs_in(below)]


def specs_of(command: Command) -> list[AgentSpec]:
    """Return every spec in a command."""
    if isinstance(command, commands.LoadTeam):
        return [*specs_in(command.team), *command.registry]
    if isinstance(command, commands.AddSupervisor | commands.ReplaceTeam):
        return specs_in(command.team)
    if isinstance(command, commands.Declare):
        return specs_in(command.member)
    if isinstance(command, commands.SwapAgents):
        return [spec for swap in command.swaps for spec in specs_of(swap)]
    if isinstance(command, commands.AddAgent):
        return [*([] if command.spec is None else [command.spec]), *command.also]
    if isinstance(command, commands.SwapAgent | commands.RegisterSpec) and command.spec is not None:
        return [command.spec]
    return []


def supervisors_in(member: AgentSpec | commands.SupervisorSpec) -> list[commands.SupervisorSpec]:
    """Return every supervisor of a tree."""
    if isinstance(member, AgentSpec):
        return []
    return [member, *(supervisor for below in member.members for supervisor in supervisors_in(below))]


def options_of(command: Command) -> list[SupervisorOptions]:
    """Return the settings of every supervisor in a command."""
    if isinstance(command, commands.AddSupervisor | commands.LoadTeam | commands.ReplaceTeam):
        return [supervisor.options for supervisor in supervisors_in(command.team)]
    if isinstance(command, commands.Declare):
        return [supervisor.options for supervisor in supervisors_in(command.member)]
    return [command.options] if isinstance(command, commands.ChangeSupervisor) and command.options is not None else []


def references_in_command(command: Command) -> list[str]:
    """Return every reference in a command, each once."""
    references = [reference for spec in specs_of(command) for reference in references_of(spec)]
    references += [reference for options in options_of(command) for reference in references_in_options(options)]
    return list(dict.fromkeys(references))


def grants_for_own_program(command: Command) -> dict[str, str]:
    """Return all references of a command, as granted: the engine's own program sends it, and trusts its own code."""
    return dict.fromkeys(references_in_command(command), "")
