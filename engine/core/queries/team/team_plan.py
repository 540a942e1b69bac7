"""What a description changes in a team, change by change, so that it can be shown before it is done.

One rule holds inside: a change names its member by the names from the root down, as they are before the change.
"""

import json
from typing import Literal, TypeAlias

from msgspec import field

from engine.core.records.records import JsonValue, fact

ChangeKind: TypeAlias = Literal["added", "swapped", "changed", "moved", "renamed", "dropped"]
"""`dropped`: it was declared and is not any more; it stays unless such members are removed."""


@fact
class Difference:
    """One field or setting that gets another value."""

    field: str
    was: JsonValue
    now: JsonValue


@fact
class Change:
    """What a description means for one member."""

    change: ChangeKind
    subject: Literal["agent", "supervisor"]
    id: str | None
    """None of one that is still to be made."""
    path: str
    """Names from the root down, such as `chief/low/scout`."""
    to: str | None = None
    """The same after it was moved or renamed."""
    fields: list[Difference] = field(default_factory=list)
    """Of a swap or a change of settings."""
    since: Literal["declared", "current"] | None = None
    """It was changed since it was declared last: `declared` sets it back, `current` leaves it as it is."""


def describe_change(change: Change) -> str:
    """Return a change in words, in one line."""
    where = f" → {change.to}" if change.to is not None else ""
    details = (
        ": " + ", ".join(_describe_difference(difference) for difference in change.fields) if change.fields else ""
    )
    since = "" if change.since is None else f" ({_SINCE[change.since]})"
    return f"{change.change} {change.path}{where}{details}{since}"


_SINCE = {"declared": "changed since it was declared; set back", "current": "changed since it was declared; left so"}
_MAX_VALUE_CHARS = 40


def _describe_difference(difference: Difference) -> str:
    return f"{difference.field} {_shorten(difference.was)} → {_shorten(difference.now)}"


def _shorten(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[: _MAX_VALUE_CHARS - 1]}…"
