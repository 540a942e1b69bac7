"""Records, commands and arguments held against their annotations; what is wrong is one line.

A record that a program builds checks itself: `check_fields` in its `__post_init__`. A command is checked by `decide`
with everything in it, whichever way it came: `checked`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, TypeVar, get_type_hints

from msgspec import Struct

from engine.core.errors import BadValue
from engine.core.records import fields
from engine.core.validation.rules import Check, Wrong, rule_for, shown

T = TypeVar("T")


class Written(Struct, forbid_unknown_fields=True):
    """What a person or a program writes; it checks itself when it is built, by the annotations of its fields.

    Raises:
        BadValue: If a field cannot be right.
    """

    whose: ClassVar[str] = ""
    """What it is called in messages; empty is the name of its class."""

    def __post_init__(self) -> None:
        """Bring values into one shape and refuse what cannot be right."""
        check_fields(self, self.whose or type(self).__name__.lower())


def check_fields(record: Any, whose: str) -> None:
    """Bring the fields of a record into one shape.

    Args:
        record: Just built; its fields are replaced.
        whose: What it is, for the message; its name is added where it has one.

    Raises:
        BadValue: If one cannot be right.
    """
    for name, check, default in _checks(type(record)):
        value = getattr(record, name)
        if value is not default:
            try:
                found = check(value)
            except Wrong as wrong:
                raise _bad(wrong, f"{whose} {shown(record.name)}" if hasattr(record, "name") else whose, name) from None
            if found is not value:
                setattr(record, name, found)


def checked(record: T, whose: str) -> T:
    """Return a copy of a record with every part built and checked anew: a program may have changed them, and may again.

    Raises:
        BadValue: If one cannot be right.
    """
    checks_itself, values = hasattr(record, "__post_init__"), {}
    for name, check, default in _checks(type(record)):
        value = getattr(record, name)
        if value is not default:
            value = value if type(value) in _PLAIN else _copied(value)
            values[name] = value if checks_itself else _passed(check, value, whose, name)
    return type(record)(**values)


_PLAIN = frozenset({str, int, float, bool, type(None)})


def check_arguments(whose: str, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Look at what a function was called with.

    Args:
        whose: What was called, for the message.
        function: Its annotations say what is right.
        given: Its arguments by name; others are passed over, and so is what can be read once only.

    Raises:
        BadValue: If one cannot be right.
    """
    for name, check in _arguments(function).items():
        if name in given and not isinstance(given[name], Iterator):
            _passed(check, given[name], whose, name)


def _make_checks(cls: type) -> tuple[tuple[str, Check, Any], ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple((one.name, rule_for(hints[one.name]).check, one.default) for one in fields(cls))


_checks: Callable[[Any], tuple[tuple[str, Check, Any], ...]] = cache(_make_checks)
"""Name, check and default of each field of a class."""


@cache
def _arguments(function: Callable[..., Any]) -> dict[str, Check]:
    hints = get_type_hints(function, include_extras=True)
    return {name: rule_for(hint).check for name, hint in hints.items() if name not in ("return", "unknown")}


def _copied(value: Any) -> Any:
    """Return records within a value built anew, which checks them."""
    if isinstance(value, Struct):
        return checked(value, type(value).__name__)
    return [_copied(one) for one in value] if isinstance(value, list | tuple) else value


def _passed(check: Check, value: Any, whose: str, name: str) -> Any:
    try:
        return check(value)
    except Wrong as wrong:
        raise _bad(wrong, whose, name) from None


def _bad(wrong: Wrong, whose: str, name: str) -> BadValue:
    text = wrong.text.replace("a number", "a number of seconds", 1) if name.endswith("_s") else wrong.text
    return BadValue(whose, (name, *wrong.path), text)
