"""Messages between the engine and the provider process, as lines of JSON.

The engine sends `Ask`, `Look`, `Cancel` and `Ping`; the process answers an `Ask` with `Pieces` and then `AskAnswered`
or `Failed`, a `Look` with `LookAnswered` or `Failed`, a `Ping` with `Pong`. Only an `Ask` contains an API key.
"""

from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from engine.core.records.values import Usage
from engine.core.specs.model_spec import Price
from engine.models.records import ModelAnswer, ModelRequest

PLAIN = frozenset(
    {
        "PATH",
        "HOME",
        "LANG",
        "TERM",
        "TMPDIR",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
    }
)
"""Environment variables that the process gets besides keys: the usual ones, certificates and proxies."""


class Facts(Struct, frozen=True, omit_defaults=True):
    """A model in litellm's table."""

    provider: str
    variables: tuple[str, ...] = ()
    """Environment variables from which litellm would read the provider's key."""
    price: Price | None = None
    context_tokens: int | None = None


class Ask(Struct, tag="ask", frozen=True):
    """Send a request to its provider."""

    id: int
    request: ModelRequest
    key: str | None
    """API key of the provider; None if the environment of the process contains what it needs."""


class Look(Struct, tag="look", frozen=True):
    """Look up a model in litellm's table."""

    id: int
    model: str


class Cancel(Struct, tag="cancel", frozen=True):
    """Close the connection of an `Ask`."""

    id: int


class Ping(Struct, tag="ping", frozen=True):
    """Check that the event loop of the process runs."""


class Pong(Struct, tag="pong", frozen=True):
    """The answer to a `Ping`."""


class Pieces(Struct, tag="pieces", frozen=True):
    """Pieces of answers that arrived in the last milliseconds."""

    items: tuple[tuple[int, bool, str], ...]
    """For each piece: id of its request, whether it is thought, and its text."""


class AskAnswered(Struct, tag="answered", frozen=True):
    """The whole answer to an `Ask`."""

    id: int
    answer: ModelAnswer


class Failed(Struct, tag="failed", frozen=True, omit_defaults=True):
    """The failure of an `Ask` or a `Look`; its text is one line without keys."""

    id: int
    text: str
    error_type: str
    retryable: bool
    retry_after_s: float | None = None
    usage: Usage = field(default_factory=Usage)
    partial: str = ""


class LookAnswered(Struct, tag="found", frozen=True):
    """The answer to a `Look`."""

    id: int
    facts: Facts


ToChild: TypeAlias = Ask | Look | Cancel | Ping
FromChild: TypeAlias = Pieces | AskAnswered | Failed | LookAnswered | Pong

to_child = msgspec.json.Decoder(ToChild)
from_child = msgspec.json.Decoder(FromChild)


def line(message: ToChild | FromChild) -> bytes:
    """Return the encoded line of a message."""
    return msgspec.json.encode(message) + b"\n"
