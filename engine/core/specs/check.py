"""What a built-in node looks at: a question about outputs that the shell answers, on the resolved texts."""

from typing import Literal, TypeAlias

from msgspec import field

from engine.core.records.records import JsonValue, fact
from engine.core.specs.spec import Aggregation

Joining: TypeAlias = Aggregation | Literal["list"]
"""How a built-in node joins outputs; `list` is what `map` makes: the outputs themselves, in order."""
Takes: TypeAlias = Literal["request", "previous", "context", "own"]
"""What a node has as its text: the request; the output before it; both together; or its own item and nothing else."""


@fact
class Check:
    """A question with an answer in a few words of JSON, the verdict."""

    what: Literal["score", "approved", "guards", "items"]
    args: dict[str, JsonValue] = field(default_factory=dict)
    """What the question needs besides the outputs; `engine.host.built_in.guards` says what of each."""
