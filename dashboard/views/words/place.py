"""A place in the dashboard as text: `SCREEN[/ID][?FILTER][@SEQ]`, such as `tasks?status:failed` or `agent/a3`."""

import re
from dataclasses import dataclass

MAX_CHARACTERS = 1_000
"""Characters of a place; a bound because browsers send them."""
_MAX_SEQ_DIGITS = 18
_SYNTAX = re.compile(
    r"(?P<screen>[a-z][a-z-]*)(?:/(?P<id>[^?]*?))?(?:\?(?P<needle>.*?))?(?:@(?P<seq>[0-9]{1,18}))?", re.DOTALL
)


class NoPlace(ValueError):
    """A text is not a place."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text[:80]!r} is not a place; write SCREEN[/ID][?FILTER][@SEQ], such as tasks?tides or agent/a3"
        )


def parse_seq(text: str) -> int | None:
    """Parse a seq; None if the text is not a seq that SQLite can hold."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_SEQ_DIGITS else None


@dataclass(frozen=True, slots=True)
class Place:
    """A screen, with its object, filter and moment."""

    screen: str
    id: str = ""
    """Id or name of the object under the cursor, or of the page."""
    needle: str = ""
    """The filter."""
    seq: int | None = None
    """The moment in the past; None follows the team."""

    @classmethod
    def parse(cls, text: str) -> "Place":
        """Parse a place.

        Raises:
            NoPlace: If it is none.
        """
        parts = _SYNTAX.fullmatch(text) if len(text) <= MAX_CHARACTERS else None
        if parts is None or not text.isprintable():
            raise NoPlace(text)
        seq = parts["seq"]
        return cls(
            parts["screen"], parts["id"] or "", (parts["needle"] or "").strip(), None if seq is None else int(seq)
        )

    def __str__(self) -> str:
        needle = f"?{self.needle}" if self.needle else ""
        # A blank keeps a filter that ends in `@NUMBER` from being parsed as a seq.
        guard = " " if needle and self.seq is None and re.search(r"@\d+$", needle) else ""
        moment = "" if self.seq is None else f"@{self.seq}"
        return f"{self.screen}{f'/{self.id}' if self.id else ''}{needle}{guard}{moment}"
