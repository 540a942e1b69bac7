"""Validators for the settings of strategies; a fault is one line that names the setting and what is allowed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from engine.core.discovery.nearest import nearest
from engine.core.errors import Refused, did_you_mean
from engine.core.records.records import JsonValue
from engine.core.specs.spec import AGGREGATIONS
from engine.core.strategies.wiring import Settings

Validator: TypeAlias = Callable[[str, JsonValue, Sequence[str]], None]
"""Raises `Refused` if a value is invalid; gets the name of the setting, the value and the names of the members."""


def check_schema(strategy: str, settings: Settings, schema: Mapping[str, Validator], members: Sequence[str]) -> None:
    """Check settings against the schema of a strategy; raises Refused at the first unknown or invalid setting."""
    for key, value in settings.items():
        if key not in schema:
            allowed = f"there are {', '.join(schema)}" if schema else "it has none"
            hint = did_you_mean(nearest(str(key), schema, 1), allowed)
            raise Refused(f"{strategy} has no setting {key!r}; {hint}")
        schema[key](f"setting {key} of {strategy}", value, members)


def whole_number(low: int, high: int) -> Validator:
    """Return a check for a whole number in a range."""

    def validate(where: str, value: JsonValue, members: Sequence[str]) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Refused(f"{where} is a whole number from {low} to {high:,}, not {value!r:.60}")

    return validate


def number(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Check that a value is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        raise Refused(f"{where} is a number, not {value!r:.60}")


def flag(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Check that a value is true or false."""
    if not isinstance(value, bool):
        raise Refused(f"{where} is true or false, not {value!r:.60}")


def text(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Check that a value is a text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise Refused(f"{where} is a text, not {value!r:.60}")


def one_of(*allowed: str) -> Validator:
    """Return a check for one of a few words."""

    def validate(where: str, value: JsonValue, members: Sequence[str]) -> None:
        if value not in allowed:
            raise Refused(f"{where} is one of {', '.join(allowed)}, not {value!r:.60}")

    return validate


aggregation = one_of(*AGGREGATIONS)
"""Checks that a value is a way to join results."""


def member(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Check that a value is the name of a member."""
    text(where, value, members)
    if members and value not in members:
        hint = did_you_mean(nearest(str(value), members, 1), f"there are {', '.join(members[:12])}")
        raise Refused(f"{where}: no member {value!r:.60}; {hint}")


def members_of(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Check that a value is a list of different members."""
    if not isinstance(value, list) or not value:
        raise Refused(f"{where} is a list of members, not {value!r:.60}")
    for name in value:
        member(where, name, members)
    check_unique(where, value)


def words(where: str, value: JsonValue, members: Sequence[str]) -> None:
    """Check that a value is a list of texts."""
    if not isinstance(value, list) or not value:
        raise Refused(f"{where} is a list of words, not {value!r:.60}")
    for word in value:
        text(where, word, members)


def check_unique(where: str, names: Iterable[JsonValue]) -> None:
    """Check that no name occurs twice."""
    unique_names: list[JsonValue] = []
    for name in names:
        if name in unique_names:
            raise Refused(f"{where}: {name!r} occurs twice")
        unique_names.append(name)


def as_list(value: JsonValue) -> list[JsonValue]:
    """Return a list as it is, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def strings(value: JsonValue) -> list[str]:
    """Return a name or a list of names as a list."""
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
