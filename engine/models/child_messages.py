"""What the engine and the provider process say to each other: lines of JSON.

The engine sends `Ask`, `Look`, `Cancel` and `Ping`; the process answers an `Ask` with `Pieces` and then `AskAnswered`
or `Failed`, a `Look` with `Found` or `Failed`, a `Ping` with `Pong`. Keys stand in an `Ask` and nowhere else.
"""

from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from engine.core.records.values import Usage
from engine.core.specs.model_spec import Price
from engine.models.records import ModelAnswer, ModelRequest

PLAIN = frozenset(
    {
        "PATH", "HOME", "LANG", "TERM", "TMPDIR",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    }
)  # fmt: skip
"""Variables that the process gets besides keys: those of every child program, and the way out of this network."""


class Facts(Struct, frozen=True, omit_defaults=True):
    """What litellm's own table says of a model."""

    provider: str
    variables: tuple[str, ...] = ()
    """Those that litellm would read the provider's key from."""
    price: Price | None = None
    context_tokens: int | None = None


class Ask(Struct, tag="ask", frozen=True):
    """Send a request to its provider."""

    id: int
    request: ModelRequest
    key: str | None
    """Of the provider; None where the environment of the process holds what it needs."""


class Look(Struct, tag="look", frozen=True):
    """Say what is known of a model."""

    id: int
    model: str


class Cancel(Struct, tag="cancel", frozen=True):
    """Let go of the connection of an `Ask`."""

    id: int


class Ping(Struct, tag="ping", frozen=True):
    """Answer, to show that the loop of the process turns."""


class Pong(Struct, tag="pong", frozen=True):
    """The answer to a `Ping`."""


class Pieces(Struct, tag="pieces", frozen=True):
    """What came of answers in the last milliseconds: of which request, whether it is thought, and the text."""

    items: tuple[tuple[int, bool, str], ...]


class AskAnswered(Struct, tag="answered", frozen=True):
    """The whole answer to an `Ask`."""

    id: int
    answer: ModelAnswer


class Failed(Struct, tag="failed", frozen=True, omit_defaults=True):
    """What an `Ask` or a `Look` came to instead; without keys, in one line."""

    id: int
    text: str
    error_type: str
    retryable: bool
    retry_after_s: float | None = None
    usage: Usage = field(default_factory=Usage)
    partial: str = ""


class Found(Struct, tag="found", frozen=True):
    """The answer to a `Look`."""

    id: int
    facts: Facts


ToChild: TypeAlias = Ask | Look | Cancel | Ping
FromChild: TypeAlias = Pieces | AskAnswered | Failed | Found | Pong

to_child = msgspec.json.Decoder(ToChild)
from_child = msgspec.json.Decoder(FromChild)


def line(message: ToChild | FromChild) -> bytes:
    """Return a message as it is sent."""
    return msgspec.json.encode(message) + b"\n"
