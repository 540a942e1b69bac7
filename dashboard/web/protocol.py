"""What a browser may say through its socket: seven kinds of messages, and nothing else.

Rule: pure; whatever comes in, it is a message or `Misunderstood`.
"""

import json
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

LONGEST_PING = 40


class Size(NamedTuple):
    """The size of a screen, in cells; not Textual's, which a server need not load."""

    width: int
    height: int


MIN_SIZE, MAX_SIZE = Size(20, 5), Size(500, 200)


class InvalidMessage(ValueError):
    """A browser sent what our page would not."""

    def __init__(self) -> None:
        super().__init__("what the browser sent was not understood")


@dataclass(frozen=True, slots=True)
class Typed:
    """Keys, clicks, pasted text: what a terminal would send."""

    text: str


@dataclass(frozen=True, slots=True)
class Resized:
    """The window has another size."""

    size: Size


@dataclass(frozen=True, slots=True)
class Ping:
    """A question whether the server is there; it is given back."""

    text: str


@dataclass(frozen=True, slots=True)
class Focused:
    """The window came to the front, or went from there."""

    gained: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """So many bytes of the screen have arrived, besides those that were told before."""

    size: int


Message: TypeAlias = Typed | Resized | Ping | Focused | Drawn


def message_of(frame: str) -> Message:
    """Read one text frame.

    Raises:
        Misunderstood: If it is none of the messages.
    """
    try:
        document = json.loads(frame)
    except (ValueError, RecursionError):
        raise InvalidMessage from None
    match document:
        case ["stdin", str(text)]:
            return Typed(text)
        case ["resize", {"width": width, "height": height}]:
            return Resized(_size(width, height))
        case ["ping", str(text)]:
            return Ping(text[:LONGEST_PING])
        case ["focus" | "blur" as kind]:
            return Focused(kind == "focus")
        case ["drawn", int(size)] if size >= 0:
            return Drawn(size)
        case _:
            raise InvalidMessage


def clamped(width: object, height: object) -> Size | None:
    """Return a size that can be drawn; None where these are not numbers of cells."""
    if type(width) is not int or type(height) is not int:
        return None
    return Size(min(max(width, MIN_SIZE.width), MAX_SIZE.width), min(max(height, MIN_SIZE.height), MAX_SIZE.height))


def _size(width: Any, height: Any) -> Size:
    size = clamped(width, height)
    if size is None:
        raise InvalidMessage
    return size
