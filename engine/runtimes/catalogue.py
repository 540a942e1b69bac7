"""The table of runtimes by agent type; each is imported when its first agent is made, its kind when it is looked up."""

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from engine.core.specs.spec import MODEL_TYPES
from engine.errors import UnknownRuntime
from engine.runtimes.functions.kinds import FUNCTION, IN_PROCESS

if TYPE_CHECKING:
    from engine.core.specs.spec import AgentSpec
    from engine.runtimes.base import Factory, Runtime
    from engine.runtimes.code import Code
    from engine.runtimes.kinds import AgentKind

_BUILT_IN = {
    "function": "engine.runtimes.functions.kinds",
    "scripted": "engine.runtimes.script",
    "process": "engine.runtimes.programs.options",
    "acp": "engine.runtimes.programs.options",
    **dict.fromkeys(MODEL_TYPES, "engine.runtimes.model.options"),
}
"""The module that declares each type, under its name in `KINDS`; it is loaded to check a team file, without a loop."""


_loaded: set[str] = set()
"""Types whose runtime is imported; unlike `sys.modules`, without those whose import has not finished."""


def built_in() -> "dict[str, Factory]":
    """Return a new table of the runtimes that come with the engine; add your own to it."""
    return {agent_type: _factory_of(agent_type) for agent_type in _BUILT_IN}


def kinds() -> "dict[str, AgentKind]":
    """Return every kind of agent that comes with the engine, also those of functions, by its name."""
    return {name: kind for module in _BUILT_IN.values() for name, kind in import_module(module).KINDS.items()}


def kind_of(agent_type: str | None, run: object, run_in: object) -> "AgentKind | None":
    """Return the kind of an agent by these keys of its spec; None for a custom runtime."""
    if run is not None and (agent_type in MODEL_TYPES or agent_type == "function"):
        return IN_PROCESS if run_in == "process" else FUNCTION
    return _kind(agent_type) if agent_type in _BUILT_IN else None


def load_all() -> None:
    """Import every runtime now, so that no agent is delayed by an import."""
    for agent_type in _BUILT_IN:
        load(agent_type)


def is_loaded(agent_type: str) -> bool:
    """Return False for a built-in runtime that is not imported yet."""
    return agent_type in _loaded or agent_type not in _BUILT_IN


def load(agent_type: str) -> None:
    """Import a built-in runtime; any thread may do so."""
    import_module(_kind(agent_type).factory.partition(":")[0])
    _loaded.add(agent_type)


def factory_for(agent_type: str, runtimes: "Mapping[str, Factory]") -> "Factory":
    """Return the factory of a runtime type.

    Raises:
        UnknownRuntime: If nothing is registered under that name.
    """
    if agent_type not in runtimes:
        near = difflib.get_close_matches(agent_type, runtimes, n=2)
        raise UnknownRuntime(agent_type, near, sorted(runtimes))
    return runtimes[agent_type]


def _kind(agent_type: str) -> "AgentKind":
    kind: AgentKind = import_module(_BUILT_IN[agent_type]).KINDS[agent_type]
    return kind


def _factory_of(agent_type: str) -> "Factory":
    def make(spec: "AgentSpec", code: "Code") -> "Runtime":
        module, _, name = _kind(agent_type).factory.partition(":")
        factory: Factory = getattr(import_module(module), name)
        kind = kind_of(spec.agent_type, spec.run, spec.run_in)
        if kind is not None:
            kind.check_keys(spec)
        return factory(spec, code)

    return make
