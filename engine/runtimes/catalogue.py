"""The table of runtimes by agent type."""

import difflib
from collections.abc import Mapping

from engine.core.spec import MODEL_TYPES
from engine.errors import UnknownRuntime
from engine.runtimes.base import Factory
from engine.runtimes.function import function_runtime
from engine.runtimes.model.runtime import model_runtime
from engine.runtimes.programs.acp import acp_runtime
from engine.runtimes.programs.process import process_runtime
from engine.runtimes.scripted import scripted_runtime


def built_in() -> dict[str, Factory]:
    """Return a new table of the runtimes that come with the engine; add your own to it."""
    return {
        "function": function_runtime,
        "scripted": scripted_runtime,
        "process": process_runtime,
        "acp": acp_runtime,
        **dict.fromkeys(MODEL_TYPES, model_runtime),
    }


def factory_for(agent_type: str, runtimes: Mapping[str, Factory]) -> Factory:
    """Return the factory of a runtime type.

    Raises:
        UnknownRuntime: If nothing is registered under that name.
    """
    if agent_type not in runtimes:
        near = difflib.get_close_matches(agent_type, runtimes, n=2)
        raise UnknownRuntime(agent_type, near, sorted(runtimes))
    return runtimes[agent_type]
