"""Values that events and the state share: texts stored by reference, and usage.

A text longer than `INLINE_CHARS` is stored in the journal only, and the state holds a `TextRef` to it: the size of the
state does not depend on how much agents write. See docs/reference/journal.md.
"""

import json
from decimal import Decimal
from typing import TypeAlias, TypeVar

from engine.core.records.records import JsonValue, fact, tally

INLINE_CHARS = 120
"""Texts up to this many characters are kept in the state itself."""


@fact
class TextRef:
    """The place of a value in the journal."""

    seq: int
    """Seq of the event that holds it."""
    path: str
    """Its place in the event's body: field names and list positions joined by dots, such as `children.3.input`."""


StoredValue: TypeAlias = TextRef | str | bool | int | float | None
"""A JSON value in the state: short scalars inline, everything else by reference."""


def stored_value(value: JsonValue, seq: int, *path: str | int) -> StoredValue:
    """Return the stored form of the `value` that event `seq` holds at `path`."""
    if isinstance(value, str):
        if len(value) <= INLINE_CHARS:
            return value
    elif value is None or isinstance(value, bool | float) or (isinstance(value, int) and -(2**53) < value < 2**53):
        return value
    return TextRef(seq=seq, path=".".join(escape_path(str(name)) for name in path))


def escape_path(name: str) -> str:
    """Return a name as a part of a path, whose parts are joined by dots."""
    return name.replace("%", "%25").replace(".", "%2E") if "." in name or "%" in name else name


def unescape_path(part: str) -> str:
    """Return the name in a part of a path."""
    return part.replace("%2E", ".").replace("%25", "%") if "%" in part else part


def as_text(value: JsonValue) -> str:
    """Return `value` if it is a text, else its JSON in one line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def dollars(cost: Decimal) -> str:
    """Return an amount of money, such as `$2.5` or `$0.00154`: six decimals, or two significant digits if smaller."""
    places = max(6, 1 - cost.adjusted()) if cost else 0
    return f"${round(cost, places).normalize():,f}"


def pluralize(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as `1 task` or `12 tasks`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def describe_ms(ms: int) -> str:
    """Return a length of time in two units at most: `41 ms`, `1.9 s`, `3 min 24 s`, `2 h 05 min`, `3 d 4 h`."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    if seconds < 3_600:
        return f"{seconds // 60} min {seconds % 60:02} s"
    if seconds < 86_400:
        return f"{seconds // 3_600} h {seconds % 3_600 // 60:02} min"
    return f"{seconds // 86_400} d {seconds % 86_400 // 3_600} h"


def preview(value: JsonValue | TextRef, limit: int = INLINE_CHARS) -> str:
    """Return the first line of `value`, at most `limit` characters, for titles and lists.

    For an object: the first line of its `title`, its `name`, or the first text in it.
    """
    if isinstance(value, str):
        line = value.strip().split("\n", 1)[0][: limit + 1]
    elif isinstance(value, dict):
        texts = (value.get(key) for key in ("title", "name", *value))
        line = next((text for text in texts if isinstance(text, str)), "{…}")[: limit + 1]
    elif isinstance(value, list):
        line = pluralize(len(value), "item")
    else:
        line = "…" if isinstance(value, TextRef) else str(value)
    return line if len(line) <= limit else line[: limit - 1] + "…"


@tally
class Usage:
    """Tokens, cost and time of work. An unknown amount is None, never 0."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    """The part of `tokens_in` that the provider read from its cache, at a lower price."""
    cost_usd: Decimal | None = None
    time_ms: int = 0
    unpriced: bool = False
    """Some of the tokens have no known price, so that `cost_usd` is a part of the cost."""

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum; unknown plus known is known, unknown plus unknown is unknown."""
        return Usage(
            tokens_in=_sum(self.tokens_in, other.tokens_in),
            tokens_out=_sum(self.tokens_out, other.tokens_out),
            tokens_cached=_sum(self.tokens_cached, other.tokens_cached),
            cost_usd=_sum(self.cost_usd, other.cost_usd),
            time_ms=self.time_ms + other.time_ms,
            unpriced=self.unpriced or other.unpriced,
        )


NO_USAGE = Usage()
T = TypeVar("T", int, Decimal)


def _sum(a: T | None, b: T | None) -> T | None:
    if a is None:
        return b
    return a if b is None else a + b
