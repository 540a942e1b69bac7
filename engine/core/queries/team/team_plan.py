"""The changes that a description makes to a team, for people to read before they are made.

A change names its member by the path from the root, as it is before the change.
"""

import json
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import field

from engine.core.records.records import JsonValue, fact

ChangeKind: TypeAlias = Literal["added", "swapped", "changed", "moved", "renamed", "dropped"]
"""`dropped`: declared before and no longer; the member stays unless dropped members are removed."""


@fact
class FieldDifference:
    """One field or setting that gets another value."""

    field: str
    was: JsonValue
    now: JsonValue


@fact
class MemberChange:
    """A change of one member by a description."""

    change: ChangeKind
    subject: Literal["agent", "supervisor"]
    id: str | None
    """Id of the member; None if it has not been added yet."""
    path: str
    """Names from the root down, such as `chief/low/scout`."""
    to: str | None = None
    """The path after a move or renaming."""
    fields: list[FieldDifference] = field(default_factory=list)
    """The fields of a swap or a change of settings."""
    since: Literal["declared", "current"] | None = None
    """The member was changed since it was declared: `declared` sets it back, `current` leaves it as it is."""


def describe_change(change: MemberChange) -> str:
    """Return a change in words, in one line."""
    where = f" → {change.to}" if change.to is not None else ""
    differences = ", ".join(part for field in change.fields for part in _differences(field.field, field.was, field.now))
    details = f": {differences}" if differences else ""
    since = "" if change.since is None else f" ({_SINCE[change.since]})"
    return f"{change.change} {change.path}{where}{details}{since}"


def _differences(name: str, was: JsonValue, now: JsonValue) -> Iterator[str]:
    """Yield what differs: of two records only the keys that do."""
    if not (isinstance(was, dict) and isinstance(now, dict)):
        yield f"{name} {_shorten(was)} → {_shorten(now)}"
        return
    for key in {**was, **now}:
        if was.get(key) != now.get(key):
            yield f"{name}.{key} {_shorten(was.get(key))} → {_shorten(now.get(key))}"


_SINCE = {"declared": "changed since it was declared; set back", "current": "changed since it was declared; left so"}
_MAX_VALUE_CHARS = 40


def _shorten(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[: _MAX_VALUE_CHARS - 1]}…"
