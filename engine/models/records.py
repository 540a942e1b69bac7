"""Requests to models and their answers, the same for every provider; the journal stores messages verbatim."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from engine.core.records.records import JsonValue
from engine.core.records.values import NO_USAGE, Usage
from engine.core.specs.model_spec import ModelSpec
from engine.errors import EngineError

Finish: TypeAlias = Literal["stop", "calls", "length", "refusal", "empty"]
"""How an answer ended: complete; with tool calls; cut at its maximum length; refused; empty."""


class Call(Struct, frozen=True, omit_defaults=True):
    """A tool call of a model."""

    id: str
    name: str
    arguments: JsonValue = None
    """The object that the model wrote; None if it did not write a JSON object."""
    invalid: str | None = None
    """The text that it wrote instead of a JSON object."""


class Message(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    """Only of an assistant."""
    call_id: str | None = None
    """Only of a tool: the call that this is the result of."""
    thinking: JsonValue = None
    """Blocks of thought with their signatures, as the provider sent them; dropped for another provider."""
    provider: str | None = None
    """The provider that sent `thinking`."""


class ToolSchema(Struct, frozen=True):
    """A tool as described to a model."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    """JSON Schema of an object."""


class ModelRequest(Struct, frozen=True):
    """One question to a model."""

    name: str
    """Name of the model in the spec: a name under `models`, or one of litellm."""
    model: ModelSpec
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    output: JsonValue = None
    """JSON Schema of the answer; None is text."""
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    """`temperature`, `max_tokens` and whatever else the provider takes."""


class ModelAnswer(Struct, frozen=True, omit_defaults=True):
    """The whole answer of a model."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: JsonValue = None
    finish: Finish = "stop"
    model: str = ""
    """The model as the provider names it."""
    provider: str = ""
    usage: Usage = field(default_factory=Usage)


class Chunk(Struct, frozen=True):
    """A streamed piece of an answer."""

    kind: Literal["text", "thought"]
    text: str


class ModelError(EngineError):
    """A call of a model failed. One line, without keys.

    Attributes:
        model: Name of the model.
        error_type: `rate_limit`, `timeout`, `connection`, `server`, `auth`, `bad_request`, `context`, `cut`, `content`.
        retryable: Whether a retry with the same model may succeed.
        retry_after_s: The delay that the provider asks for, in seconds.
        usage: Usage of the failed request.
        partial: The part of the answer that had arrived.
    """

    def __init__(
        self,
        text: str,
        *,
        model: str,
        error_type: str,
        retryable: bool,
        retry_after_s: float | None = None,
        usage: Usage = NO_USAGE,
        partial: str = "",
    ) -> None:
        super().__init__(text)
        self.model = model
        self.error_type = error_type
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.usage = usage
        self.partial = partial


Sleep: TypeAlias = Callable[[float], Awaitable[None]]
"""Waits so many seconds on the engine's clock; `Attempt.sleep` does."""
