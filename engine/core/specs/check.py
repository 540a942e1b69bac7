"""Checks by built-in nodes: questions about outputs that the shell answers on the resolved texts."""

from typing import Literal, TypeAlias

from msgspec import field

from engine.core.records.records import JsonValue, fact
from engine.core.specs.spec import Aggregation

Joining: TypeAlias = Aggregation | Literal["list"]
"""How a built-in node joins outputs; `list`, the default of `map`, keeps the outputs themselves, in order."""
Takes: TypeAlias = Literal["request", "previous", "context", "own"]
"""The text that a node gets: the request; the output before it; both; or only its own item."""


@fact
class Check:
    """A question whose answer is a small JSON object, the verdict."""

    what: Literal["score", "approved", "guards", "items"]
    args: dict[str, JsonValue] = field(default_factory=dict)
    """Parameters of the question, which `engine.host.built_in.guards` documents."""
