"""What is said to a model and what it says, the same for every provider; JSON in the journal, messages verbatim."""

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from engine.core.model_spec import ModelSpec
from engine.core.records import JsonValue
from engine.core.values import NO_USAGE, Usage
from engine.errors import EngineError

Finish: TypeAlias = Literal["stop", "calls", "length", "refusal", "empty"]
"""How an answer ended: said all; asks for tools; was cut at its length; was refused; holds nothing."""


class Call(Struct, frozen=True, omit_defaults=True):
    """A tool that a model wants called."""

    id: str
    name: str
    arguments: JsonValue = None
    """An object, as the model wrote it; None where what it wrote is not one."""
    invalid: str | None = None
    """What it wrote, where that is no JSON object."""


class Message(Struct, frozen=True, omit_defaults=True):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    """Of an assistant."""
    call_id: str | None = None
    """Of a tool: the call that this is the result of."""
    thinking: JsonValue = None
    """Blocks of thought with their signatures, as the provider sent them; dropped for another provider."""
    provider: str | None = None
    """Who sent `thinking`."""


class ToolSchema(Struct, frozen=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]
    """JSON Schema of an object."""


class ModelRequest(Struct, frozen=True):
    """One question to a model."""

    name: str
    """What the spec calls the model: a name under `models`, or one of litellm."""
    model: ModelSpec
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    output: JsonValue = None
    """JSON Schema of the answer; None is text."""
    params: Mapping[str, JsonValue] = field(default_factory=dict)
    """`temperature`, `max_tokens` and whatever else the provider takes."""


class ModelAnswer(Struct, frozen=True, omit_defaults=True):
    """All that a model said to one request."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    thinking: JsonValue = None
    finish: Finish = "stop"
    model: str = ""
    """The model as the provider names it."""
    provider: str = ""
    usage: Usage = field(default_factory=Usage)
    price_known: bool = True
    """False where no price is known, so that `usage.cost_usd` leaves it out."""


class Chunk(Struct, frozen=True):
    """A piece of an answer as it comes."""

    kind: Literal["text", "thought"]
    text: str


class ModelError(EngineError):
    """A call of a model failed. One line, without keys.

    Attributes:
        model: Which one.
        error_type: `rate_limit`, `timeout`, `connection`, `server`, `auth`, `bad_request`, `context`, `cut`, `content`.
        retryable: Whether asking the same model again may bring an answer.
        retry_after_s: How long the provider asks to be left alone, in seconds.
        usage: What was spent nevertheless.
        partial: What had come of the answer.
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


class Sleeps(Protocol):
    """Waits on the engine's clock; `Work.sleep` does."""

    async def __call__(self, seconds: float) -> None:
        """Return after so many seconds."""


class Models(Protocol):
    """Who answers."""

    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None], sleep: Sleeps) -> ModelAnswer:
        """Send one request and return its whole answer; cancelled, it lets go of the connection.

        Args:
            request: What to ask.
            on_chunk: Called with each piece as it comes.
            sleep: What waits, where something has to be waited for besides the answer.

        Raises:
            ModelError: If there is no whole answer.
        """

    def due_ms(self, request: ModelRequest, now_ms: int) -> int:
        """Take the next turn under the limits of its key, and return the moment from which `ask` may be called."""

    def settle(self, request: ModelRequest, usage: Usage, now_ms: int, *, retry_after_s: float | None = None) -> None:
        """Take note of what a request came to: what it has used, and how long its provider asks to be left alone."""

    def estimate(self, request: ModelRequest, characters_out: int | None = None) -> Usage:
        """Return about what a request costs; with `characters_out` one whose answer was cut off there."""

    def context_tokens(self, model: ModelSpec) -> int | None:
        """Return how many tokens a request may hold, where that is known."""

    async def close(self) -> None:
        """Let go of everything; nothing more is asked."""
