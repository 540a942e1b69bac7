"""Which runtimes there are, by the agent type that asks for them."""

import difflib
from collections.abc import Mapping

from engine.core.spec import AgentSpec
from engine.errors import UnknownRuntime, Unusable
from engine.runtimes.base import Factory, Runtime
from engine.runtimes.code import Code
from engine.runtimes.function import function_runtime
from engine.runtimes.scripted import scripted_runtime

MODEL_TYPES = ("SimpleAgent", "ReactAgent", "MultiAgent", "MemoryAgent", "ConversationAgent")
"""Agent types that a model plays, unless they are given a function."""


def built_in() -> dict[str, Factory]:
    """Return a new table of the runtimes that come with the engine; add your own to it."""
    return {
        "function": function_runtime,
        "scripted": scripted_runtime,
        **dict.fromkeys(MODEL_TYPES, _model_runtime),
    }


def factory_for(agent_type: str, runtimes: Mapping[str, Factory]) -> Factory:
    """Return what makes runtimes of a type.

    Raises:
        UnknownRuntime: If nothing is registered under that name.
    """
    if agent_type not in runtimes:
        near = difflib.get_close_matches(agent_type, runtimes, n=2)
        raise UnknownRuntime(agent_type, near, sorted(runtimes))
    return runtimes[agent_type]


def _model_runtime(spec: AgentSpec, code: Code) -> Runtime:
    if spec.run is not None:
        return function_runtime(spec, code)
    raise Unusable(
        f"agent {spec.name!r} is a {spec.agent_type}, which a model plays, and no model runtime is installed;"
        " give it a function with run="
    )
