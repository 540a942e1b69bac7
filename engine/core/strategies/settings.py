"""Checking what a person wrote as the settings of a strategy: each a small schema of words, numbers and names.

Every fault is one line that says which setting, what is wrong, and what is right.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from engine.core.discovery import nearest
from engine.core.errors import Refused
from engine.core.records import JsonValue
from engine.core.spec import AGGREGATIONS
from engine.core.strategies.wiring import Settings

Look: TypeAlias = Callable[[str, JsonValue, Sequence[str]], None]
"""Raises `Refused` where a value is wrong: name of the setting, the value, names of the members."""


def checked(strategy: str, settings: Settings, schema: Mapping[str, Look], members: Sequence[str]) -> None:
    """Return when every setting is known and right.

    Raises:
        Refused: With the first thing that is wrong.
    """
    for key, value in settings.items():
        if key not in schema:
            near = nearest(str(key), schema)
            known = f"there are {', '.join(schema)}" if schema else "it has none"
            hint = f"did you mean {near[0]}?" if near else known
            raise Refused(f"{strategy} has no setting {key!r}; {hint}")
        schema[key](f"setting {key} of {strategy}", value, members)


def whole(low: int, high: int) -> Look:
    """Return what looks whether a value is a whole number in a range."""

    def look(where: str, value: JsonValue, members: Sequence[str]) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Refused(f"{where} is a whole number from {low} to {high:,}, not {value!r:.60}")

    return look


def number(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Look whether a value is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        raise Refused(f"{where} is a number, not {value!r:.60}")


def flag(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Look whether a value is yes or no."""
    if not isinstance(value, bool):
        raise Refused(f"{where} is true or false, not {value!r:.60}")


def text(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Look whether a value is a text with something in it."""
    if not isinstance(value, str) or not value.strip():
        raise Refused(f"{where} is a text, not {value!r:.60}")


def one_of(*allowed: str) -> Look:
    """Return what looks whether a value is one of a few words."""

    def look(where: str, value: JsonValue, members: Sequence[str]) -> None:
        if value not in allowed:
            raise Refused(f"{where} is one of {', '.join(allowed)}, not {value!r:.60}")

    return look


aggregation = one_of(*AGGREGATIONS)
"""Looks whether a value is a way to join results."""


def member(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Look whether a value is the name of a member."""
    text(where, value, members)
    if members and value not in members:
        near = nearest(str(value), members)
        raise Refused(f"{where}: no member {value!r}; {f'did you mean {near[0]}?' if near else _there(members)}")


def members_of(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Look whether a value is a list of names of members, each once."""
    if not isinstance(value, list) or not value:
        raise Refused(f"{where} is a list of members, not {value!r:.60}")
    for one in value:
        member(where, one, members)
    names_once(where, value)


def words(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Look whether a value is a list of texts."""
    if not isinstance(value, list) or not value:
        raise Refused(f"{where} is a list of words, not {value!r:.60}")
    for one in value:
        text(where, one, members)


def names_once(where: str, names: Iterable[JsonValue]) -> None:
    """Look whether no name stands twice."""
    seen: list[JsonValue] = []
    for name in names:
        if name in seen:
            raise Refused(f"{where}: {name!r} stands twice")
        seen.append(name)


def _there(members: Sequence[str]) -> str:
    return f"there are {', '.join(members[:12])}"


def strings(value: JsonValue) -> list[str]:
    """Return a name or a list of names as a list."""
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]
