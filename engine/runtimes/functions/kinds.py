"""The kinds of agents that are functions. Their `options` are read by the functions themselves."""

from collections.abc import Mapping
from dataclasses import replace

from engine.runtimes.kinds import AgentKind

_BY_CONTEXT = ("tools", "mcp", "approve", "step_timeout_s")

FUNCTION = AgentKind(
    words="a function agent",
    factory="engine.runtimes.functions.function:function_runtime",
    unused=("model", "instructions", "may"),
)
IN_PROCESS = replace(
    FUNCTION,
    words="a function in a process of its own, which gets its text alone",
    unused=(*FUNCTION.unused, *_BY_CONTEXT),
)
WITHOUT_CONTEXT = replace(
    IN_PROCESS,
    words="a function that takes its text alone",
    hints=dict.fromkeys(_BY_CONTEXT, "let it take (task, ctx)"),
)
"""A function that takes only the text, which is known after its import."""
KINDS: Mapping[str, AgentKind] = {
    "function": FUNCTION,
    "function in a process": IN_PROCESS,
    "function of its text": WITHOUT_CONTEXT,
}
