"""The table of runtimes by agent type; each is imported when its first agent is made."""

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from engine.core.specs.spec import MODEL_TYPES
from engine.errors import UnknownRuntime
from engine.runtimes.spec_keys import check_keys

if TYPE_CHECKING:
    from engine.core.specs.spec import AgentSpec
    from engine.runtimes.base import Factory, Runtime
    from engine.runtimes.code import Code

_BUILT_IN = {
    "function": "engine.runtimes.functions.function:function_runtime",
    "scripted": "engine.runtimes.scripted:scripted_runtime",
    "process": "engine.runtimes.programs.process:process_runtime",
    "acp": "engine.runtimes.programs.acp:acp_runtime",
    **dict.fromkeys(MODEL_TYPES, "engine.runtimes.model.runtime:model_runtime"),
}


_loaded: set[str] = set()
"""Types whose runtime is imported; unlike `sys.modules`, without those whose import has not finished."""


def built_in() -> "dict[str, Factory]":
    """Return a new table of the runtimes that come with the engine; add your own to it."""
    return {agent_type: _factory_at(address) for agent_type, address in _BUILT_IN.items()}


def load_all() -> None:
    """Import every runtime now, so that no agent is delayed by an import."""
    for agent_type in _BUILT_IN:
        load(agent_type)


def is_loaded(agent_type: str) -> bool:
    """Return False for a built-in runtime that is not imported yet."""
    return agent_type in _loaded or agent_type not in _BUILT_IN


def load(agent_type: str) -> None:
    """Import a built-in runtime; any thread may do so."""
    import_module(_BUILT_IN[agent_type].partition(":")[0])
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


def _factory_at(address: str) -> "Factory":
    module, _, name = address.partition(":")

    def make(spec: "AgentSpec", code: "Code") -> "Runtime":
        factory: Factory = getattr(import_module(module), name)
        check_keys(spec)
        return factory(spec, code)

    return make
