"""Refuses keys of an agent that its runtime would ignore.

Rule: an accepted key has an effect. Keys that are not listed here are handled by the engine for every agent.
`tests/contract/test_accepted_keys.py` names a test of the effect of each key.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Protocol, TypeAlias

from engine.core.specs.spec import MODEL_TYPES, AgentSpec
from engine.errors import Unusable

TOOL_KINDS = (
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
)
"""Kinds of tools in the Agent Client Protocol, which are the keys of `approve` of an `acp` agent."""
Place: TypeAlias = tuple[str | int, ...]


class SpecBlock(Protocol):
    """A spec, or the block of a team file for one."""

    run: Any
    run_in: Any
    model: Any
    instructions: str
    approve: Any
    mcp: Any
    options: Any


_PROGRAM = ("run", "run_in", "tools", "model", "may", "step_timeout_s")
_FUNCTION = ("model", "instructions", "may")
_BY_CONTEXT = ("tools", "mcp", "approve", "step_timeout_s")
_LED = ("run_in", "tools", "mcp", "may", "approve")
WITHOUT_CONTEXT = "function of its text"
"""Kind of a function that takes only the text, which is known after its import."""
UNUSED: Mapping[str, tuple[str, ...]] = {
    "function": _FUNCTION,
    "function in a process": (*_FUNCTION, *_BY_CONTEXT),
    WITHOUT_CONTEXT: (*_FUNCTION, *_BY_CONTEXT),
    "scripted": ("run", "run_in", "tools", "model", "instructions", "mcp", "may", "approve"),
    "process": (*_PROGRAM, "instructions", "mcp", "approve"),
    "acp": _PROGRAM,
    "SimpleAgent": _LED,
    "MultiAgent": _LED,
    "ConversationAgent": (*_LED, "output"),
    **dict.fromkeys(("llm", "ReactAgent", "MemoryAgent"), ("run_in",)),
}
"""Keys without effect, by kind of agent; not the `options` of functions, which are read by the functions themselves."""
_WORDS: Mapping[str, str] = {
    "function": "a function agent",
    "function in a process": "a function in a process of its own, which gets its text alone",
    WITHOUT_CONTEXT: "a function that takes its text alone",
    "scripted": "a scripted agent",
}
_HINTS: Mapping[str, Mapping[str, str]] = {
    "SimpleAgent": dict.fromkeys(("tools", "mcp", "may", "approve"), "make it a ReactAgent"),
    "process": {"step_timeout_s": "use timeout_s"},
    "acp": {"step_timeout_s": "use timeout_s"},
    WITHOUT_CONTEXT: dict.fromkeys(_BY_CONTEXT, "let it take (task, ctx)"),
}


def kind_of(agent_type: str | None, run: object, run_in: object) -> str | None:
    """Return the kind of an agent, a key of `UNUSED`; None for a custom runtime."""
    if run is not None and (agent_type in MODEL_TYPES or agent_type == "function"):
        return "function in a process" if run_in == "process" else "function"
    return agent_type if agent_type in UNUSED else None


def unused_keys(agent_type: str | None, keys: SpecBlock, kind: str | None = None) -> Iterator[tuple[Place, str]]:
    """Yield the place and the fault of each given key that would have no effect.

    Args:
        agent_type: The agent's type.
        keys: Its spec, or its block of a team file.
        kind: The kind of the agent; None derives it from its keys.
    """
    kind = kind or kind_of(agent_type, keys.run, keys.run_in)
    if kind is None:
        return
    agent_kind = _WORDS.get(kind, f"an agent of type {kind}")
    defaults = _defaults()
    for key in UNUSED[kind]:
        if getattr(keys, key) not in (defaults[key], []):
            hint = _HINTS.get(kind, {}).get(key)
            yield (key,), f"does nothing for {agent_kind}; leave it out" + (f", or {hint}" if hint else "")
    if kind == "acp":
        yield from _unused_by_acp(keys)
    if kind in ("MultiAgent", "ConversationAgent"):
        yield from _unused_by_members(kind, keys)


def _unused_by_acp(keys: SpecBlock) -> Iterator[tuple[Place, str]]:
    for tool in keys.approve:
        if tool not in TOOL_KINDS:
            yield ("approve", tool), f"is no kind of tool of the protocol; there are {', '.join(TOOL_KINDS)}"
    for index, name in enumerate(keys.mcp):
        if "/" in name:
            server_name = name.partition("/")[0]
            yield ("mcp", index), f"names one tool, and an agent of type acp gets whole servers: write {server_name!r}"


def _unused_by_members(kind: str, keys: SpecBlock) -> Iterator[tuple[Place, str]]:
    """Yield keys for the agent's own model, if the agent is composed of others and its own model is not used."""
    if keys.model and keys.options.get("moderator") is not None:
        yield ("model",), "does nothing beside a moderator; leave one of them out"
    elif keys.instructions and not keys.model:
        yield ("instructions",), f"is for the model of a {kind}, and this one has none; name it with 'model'"


SCRIPTED_MODEL = ("key_env", "base_url", "timeout_s", "idle_s")
"""Keys of a model that have no effect with `replies`, because no provider is called."""


def unused_model_keys(model: Any, defaults: Any) -> Iterator[str]:
    """Yield the given keys of a model that have no effect because of its `replies`."""
    if model.replies:
        yield from (key for key in SCRIPTED_MODEL if getattr(model, key) != getattr(defaults, key))


def unused_server_keys(server: Any) -> Iterator[str]:
    """Yield the given keys of a tool server that are only for the other kind: a program, or an address."""
    key = "env" if server.url is not None else "headers_env"
    if getattr(server, key):
        yield key


def check_keys(spec: AgentSpec, kind: str | None = None) -> None:
    """Refuse a spec with a key that would have no effect.

    Raises:
        Unusable: The first such key, in one line.
    """
    for place, text in unused_keys(spec.agent_type, spec, kind):
        raise Unusable(f"agent {spec.name!r}: {'.'.join(map(str, place))} {text}")


@cache
def _defaults() -> dict[str, Any]:
    """Return the default of each key."""
    default_spec = AgentSpec(name="none")
    return {key: getattr(default_spec, key) for keys in UNUSED.values() for key in keys}
