"""The seven kinds of messages that a browser may send through its socket.

Rule: pure; whatever comes in, it is a message or `InvalidMessage`.
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
    """A browser sent something that our page never sends."""

    def __init__(self) -> None:
        super().__init__("what the browser sent was not understood")


@dataclass(frozen=True, slots=True)
class Typed:
    """Keys, clicks and pasted text, encoded as a terminal sends them."""

    text: str


@dataclass(frozen=True, slots=True)
class Resized:
    """The size of the window has changed."""

    size: Size


@dataclass(frozen=True, slots=True)
class ServerPing:
    """A ping; it is echoed."""

    text: str


@dataclass(frozen=True, slots=True)
class Focused:
    """The window gained or lost the focus."""

    gained: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """This many more bytes of the screen have arrived."""

    size: int


Message: TypeAlias = Typed | Resized | ServerPing | Focused | Drawn


def message_of(frame: str) -> Message:
    """Read one text frame.

    Raises:
        InvalidMessage: If it is none of the messages.
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
            return ServerPing(text[:LONGEST_PING])
        case ["focus" | "blur" as kind]:
            return Focused(kind == "focus")
        case ["drawn", int(size)] if size >= 0:
            return Drawn(size)
        case _:
            raise InvalidMessage


def clamp_size(width: object, height: object) -> Size | None:
    """Return a size within the limits of a screen; None if these are not numbers of cells."""
    if type(width) is not int or type(height) is not int:
        return None
    return Size(min(max(width, MIN_SIZE.width), MAX_SIZE.width), min(max(height, MIN_SIZE.height), MAX_SIZE.height))


def _size(width: Any, height: Any) -> Size:
    size = clamp_size(width, height)
    if size is None:
        raise InvalidMessage
    return size
