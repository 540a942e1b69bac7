"""Validates records, commands and arguments by their annotations; a fault is one line.

A record that a program builds checks itself by `check_fields` in its `__post_init__`. `decide` checks every command
with everything in it by `rebuild_checked`, wherever it came from.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_type_hints

from msgspec import Struct, StructMeta

from engine.core.errors import BadValue, did_you_mean
from engine.core.records.records import field_names, fields
from engine.core.validation.rules import Check, InvalidValue, rule_for, short_repr

T = TypeVar("T")


class _NamesFieldsMeta(StructMeta):
    """Lists the known fields in the error when a record is built with an unknown one."""

    if not TYPE_CHECKING:  # checkers know the fields from the annotations

        def __call__(cls, *args: object, **named: object) -> object:
            """Build a record; raises TypeError if a field is unknown, or a value has no name."""
            try:
                return super().__call__(*args, **named)
            except TypeError as error:
                known_names = field_names(cls)
                unknown = next((name for name in named if name not in known_names), None)
                if "positional" in str(error):
                    raise TypeError(f"{cls.__name__} takes its values by name: {', '.join(known_names)}") from None
                if unknown is None:
                    raise TypeError(f"{cls.__name__}: {error}") from error
                similar_names = get_close_matches(unknown, known_names, n=2)
                hint = did_you_mean(similar_names, f"there are {', '.join(known_names)}")
                raise TypeError(f"{cls.__name__} has no option {unknown!r}; {hint}") from None


class ValidatedRecord(Struct, metaclass=_NamesFieldsMeta, forbid_unknown_fields=True):
    """Base class of records that people and programs write; validates its fields when it is built.

    Raises:
        BadValue: If a field is invalid.
    """

    whose: ClassVar[str] = ""
    """Its name in messages; by default the name of its class."""

    def __post_init__(self) -> None:
        """Convert the fields to the types that records hold, and refuse invalid ones."""
        check_fields(self, self.whose or type(self).__name__.lower())


def check_fields(record: Any, subject: str) -> None:
    """Convert the fields of a new record to the types that records hold; raises BadValue about `subject`."""
    for name, check, default in _checks(type(record)):
        value = getattr(record, name)
        # Defaults are valid, and most fields of a record are at theirs.
        if value is not default:
            try:
                converted = check(value)
            except InvalidValue as fault:
                record_name = f"{subject} {short_repr(record.name)}" if hasattr(record, "name") else subject
                raise _bad_value(fault, record_name, name) from None
            if converted is not value:
                setattr(record, name, converted)


def rebuild_checked(record: T, subject: str) -> T:
    """Return a copy with all parts rebuilt: a program may have changed them; raises BadValue if one is invalid."""
    checks_itself = hasattr(record, "__post_init__")
    values = {}
    for name, check, default in _checks(type(record)):
        value = getattr(record, name)
        if value is not default:
            value = value if type(value) in _SCALARS else _rebuild(value)
            values[name] = value if checks_itself else _check_value(check, value, subject, name)
    return type(record)(**values)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def check_arguments(subject: str, function: Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Check the arguments of a call.

    Args:
        subject: The name of the function in messages.
        function: Its annotations are the rules.
        values: The arguments by name; unknown names are ignored, and so are iterators, which can be read only once.

    Raises:
        BadValue: If an argument is invalid.
    """
    for name, check in _arguments(function).items():
        if name in values and not isinstance(values[name], Iterator):
            _check_value(check, values[name], subject, name)


def _make_checks(cls: type) -> tuple[tuple[str, Check, Any], ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple((field.name, rule_for(hints[field.name]).check, field.default) for field in fields(cls))


_checks: Callable[[Any], tuple[tuple[str, Check, Any], ...]] = cache(_make_checks)
"""Name, check and default of each field of a class."""


@cache
def _arguments(function: Callable[..., Any]) -> dict[str, Check]:
    hints = get_type_hints(function, include_extras=True)
    return {name: rule_for(hint).check for name, hint in hints.items() if name not in ("return", "unknown")}


def _rebuild(value: Any) -> Any:
    """Return the value with the records in it built again, which checks them."""
    if isinstance(value, Struct):
        return rebuild_checked(value, type(value).__name__)
    return [_rebuild(item) for item in value] if isinstance(value, list | tuple) else value


def _check_value(check: Check, value: Any, subject: str, name: str) -> Any:
    try:
        return check(value)
    except InvalidValue as fault:
        raise _bad_value(fault, subject, name) from None


def _bad_value(fault: InvalidValue, subject: str, name: str) -> BadValue:
    text = fault.text.replace("a number", "a number of seconds", 1) if name.endswith("_s") else fault.text
    return BadValue(subject, (name, *fault.path), text)
