"""Turns annotations into checks of values, for Python callers as at the JSON boundary.

Invariant: the annotation is the only definition of a field's values. pydantic reads the same annotations for team
files, and a law test compares the two.
"""

import math
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin

from msgspec import Struct
from typing_extensions import override

from engine.core.records.records import JsonValue

Check: TypeAlias = Callable[[Any], Any]
"""Returns the value in the type that records hold; raises `InvalidValue`."""

MAX_AMOUNT_DIGITS = 30
MAX_JSON_DEPTH = 100
MAX_INTEGER_BITS = 13_000
"""Python refuses to read longer numbers from JSON."""


class InvalidValue(ValueError):
    """A value breaks its rule. For pydantic, which reads the same checks, a `ValueError`.

    Attributes:
        expected: What the value must be, in words.
        value: The value.
        path: Its place in the checked value.
    """

    def __init__(self, expected: str, value: object, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(expected)
        self.expected = expected
        self.value = value
        self.path = path

    @property
    def text(self) -> str:
        """The message."""
        return f"must be {self.expected}, not {short_repr(self.value)}"

    def under(self, part: str | int) -> "InvalidValue":
        """Return the same fault with `part` put before its path."""
        self.path = (part, *self.path)
        return self


class NoEffect(InvalidValue):
    """A valid value stands where it has no effect."""

    @property
    @override
    def text(self) -> str:
        """The message: `expected` as it is."""
        return self.expected


def short_repr(value: object) -> str:
    """Return the text of a value for a message."""
    try:
        text = repr(value)
    except BaseException:  # the value is the user's: describing it may raise anything
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:59]}…"


class ValueRule(NamedTuple):
    """The rule for a value, in words and as a check."""

    words: str
    check: Check


@dataclass(frozen=True, slots=True)
class Wording:
    """In `Annotated`: the words for values of the type."""

    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """In `Annotated`: the bounds of numbers, or of the length and the pattern of texts."""

    gt: Any = None
    ge: Any = None
    le: Any = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    """A regular expression that the whole text matches."""

    __is_annotated_types_grouped_metadata__: ClassVar[Literal[True]] = True

    def __iter__(self) -> Iterator[Any]:
        """Yield the same bounds as pydantic metadata; pydantic iterates over this object."""
        from pydantic import Field  # The import takes 40 ms, and only reading a team file needs it.

        yield from Field(**asdict(self)).metadata

    def contains(self, number: Any) -> bool:
        """Return True when a number is within the bounds; NaN never is."""
        return (
            (self.gt is None or number > self.gt)
            and (self.ge is None or number >= self.ge)
            and (self.le is None or number <= self.le)
        )

    def allows_length(self, length: int) -> bool:
        """Return True when a text or a list may have this length."""
        return (self.min_length or 0) <= length and (self.max_length is None or length <= self.max_length)

    @property
    def words(self) -> str:
        """The bounds in words, to follow the word for a number, such as `, 1 or more`."""
        if self.ge is not None:
            return f", {self.ge:,} or more" if self.le is None else f", {self.ge:,} to {self.le:,}"
        low = "" if self.gt is None else f" above {self.gt:,}"
        return low if self.le is None else f"{low} and at most {self.le:,}"


_UNBOUNDED = Within()


@dataclass(frozen=True, slots=True)
class Means:
    """In `Annotated[Any, …]`: the real type of a field that a decoder must treat as `Any`."""

    hint: Any


@dataclass(frozen=True, slots=True)
class Also:
    """In `Annotated`: a further check of a value of the right type; raises `InvalidValue`."""

    check: Callable[[Any], None]

    __is_annotated_types_grouped_metadata__: ClassVar[Literal[True]] = True

    def __iter__(self) -> Iterator[Any]:
        """Yield the same check as pydantic metadata."""
        from pydantic import AfterValidator  # As in `Within`.

        yield AfterValidator(self.require)

    def require(self, value: Any) -> Any:
        """Return the value if it passes the check."""
        self.check(value)
        return value


def rule_for(hint: Any) -> ValueRule:
    """Return the rule of an annotation."""
    return _rule(hint, ())


def _rule(hint: Any, marks: tuple[Any, ...]) -> ValueRule:
    origin, args = get_origin(hint), get_args(hint)
    if hint is JsonValue:
        return ValueRule("a JSON value", _check_json)
    if origin is Annotated and isinstance(args[1], Means):
        return _rule(args[1].hint, marks)
    if origin is Annotated:
        return _with_marks(_rule(args[0], (*args[1:], *marks)), args[1:])
    if origin in (Union, types.UnionType):
        return _union_rule([_rule(arg, marks) for arg in args])
    if origin is Literal:
        return _literal_rule(args)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum_rule(hint)
    if hint in _SCALAR_RULES:
        return _SCALAR_RULES[hint](_bounds(marks))
    if hint in (Any, object):
        return ValueRule("anything", _accept)
    if hint is Callable or origin is Callable:
        return ValueRule("a function", _check_callable)
    if origin in (list, tuple, Sequence, Iterable):
        return _sequence_rule(origin, rule_for(args[0]), _bounds(marks))
    if origin in (dict, Mapping):
        return _mapping_rule(rule_for(args[0]), rule_for(args[1]), _bounds(marks))
    return _instance_rule(origin or hint)


def _with_marks(rule: ValueRule, marks: tuple[Any, ...]) -> ValueRule:
    """Return a rule with the words and the further checks of its annotation."""
    words = next((mark.words for mark in marks if isinstance(mark, Wording)), rule.words)
    checks = [mark.check for mark in marks if isinstance(mark, Also)]

    def check(value: Any) -> Any:
        try:
            converted = rule.check(value)
        except InvalidValue as fault:
            raise (fault if fault.path or words == rule.words else InvalidValue(words, value)) from None
        for extra_check in checks:
            extra_check(converted)
        return converted

    return rule if words == rule.words and not checks else ValueRule(words, check)


def _bounds(marks: tuple[Any, ...]) -> Within:
    return next((mark for mark in marks if isinstance(mark, Within)), _UNBOUNDED)


def _integer_rule(bounds: Within) -> ValueRule:
    words = f"a whole number{bounds.words}"

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not bounds.contains(value):
            raise InvalidValue(words, value)
        return int(value)

    return ValueRule(words, check)


def _float_rule(bounds: Within) -> ValueRule:
    words = f"a number{bounds.words}"

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not bounds.contains(value):
            raise InvalidValue(words, value)
        try:
            number = float(value)
        except OverflowError:
            raise InvalidValue(words, value) from None
        if not math.isfinite(number):
            raise InvalidValue(words, value)
        return number

    return ValueRule(words, check)


def _decimal_rule(bounds: Within) -> ValueRule:
    words = f"an amount{bounds.words}"

    def check(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            raise InvalidValue(words, value)
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            raise InvalidValue(words, value) from None
        if not (amount.is_finite() and bounds.contains(amount) and len(amount.as_tuple().digits) <= MAX_AMOUNT_DIGITS):
            raise InvalidValue(words, value)
        return amount

    return ValueRule(words, check)


def _text_rule(bounds: Within) -> ValueRule:
    words = "a text"
    if bounds.max_length is not None:
        lower_bound = f"{bounds.min_length} to " if bounds.min_length else "at most "
        words = f"a text of {lower_bound}{bounds.max_length:,} characters"
    pattern = None if bounds.pattern is None else re.compile(bounds.pattern)

    def check(value: Any) -> str:
        if not isinstance(value, str) or not bounds.allows_length(len(value)) or not _is_unicode(value):
            raise InvalidValue(words, value)
        if pattern is not None and not pattern.fullmatch(value):
            raise InvalidValue(words, value)
        return str.__str__(value)

    return ValueRule(words, check)


def _is_unicode(value: str) -> bool:
    """Return True when a text has no lone surrogates, so that it can be written as UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _none_rule(bounds: Within) -> ValueRule:
    return _instance_rule(types.NoneType, "None")


_SCALAR_RULES: dict[Any, Callable[[Within], ValueRule]] = {
    bool: lambda bounds: _instance_rule(bool, "True or False"),
    int: _integer_rule,
    float: _float_rule,
    str: _text_rule,
    Decimal: _decimal_rule,
    None: _none_rule,
    types.NoneType: _none_rule,
}


def _instance_rule(cls: type, words: str | None = None) -> ValueRule:
    words = words or f"{cls.__name__}(…)"
    if getattr(cls, "_is_protocol", False):
        return ValueRule(words, _accept)
    is_record = issubclass(cls, Struct)

    def check(value: Any) -> Any:
        # A journal holds the fields of a record, not its class: a subclass could not be read back.
        if not isinstance(value, cls) or (is_record and type(value) is not cls):
            raise InvalidValue(words, value)
        return value

    return ValueRule(words, check)


def _literal_rule(allowed: tuple[Any, ...]) -> ValueRule:
    words = _join_words([str(choice) for choice in allowed])

    def check(value: Any) -> Any:
        for choice in allowed:
            if isinstance(value, type(choice)) and value == choice:
                return choice
        raise InvalidValue(words, value)

    return ValueRule(words, check)


def _enum_rule(choices: type[Enum]) -> ValueRule:
    """Accept the values of an enumeration as well as its members."""
    literal = _literal_rule(tuple(str(choice.value) for choice in choices))
    return ValueRule(literal.words, lambda value: choices(literal.check(value)))


def _union_rule(rules: list[ValueRule]) -> ValueRule:
    words = _join_words([rule.words for rule in rules])

    def check(value: Any) -> Any:
        inner_fault: InvalidValue | None = None
        for rule in rules:
            try:
                return rule.check(value)
            except InvalidValue as fault:
                inner_fault = fault if fault.path else inner_fault
        raise inner_fault or InvalidValue(words, value)

    return ValueRule(words, check)


def _sequence_rule(origin: Any, item: ValueRule, bounds: Within) -> ValueRule:
    length = "" if bounds.max_length is None else f" of at most {bounds.max_length:,}"
    words, container = f"a list{length}{', not empty' if bounds.min_length else ''}", list if origin is list else tuple

    def check(value: Any) -> Any:
        # A set is refused: its order, and so the team, would differ between processes. A list is recognized
        # first: decoding a spec from the journal would take 4 µs more if the abstract classes were asked.
        if type(value) is not list and (
            not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping | Set)
        ):
            raise InvalidValue(words, value)
        items = []
        for index, element in enumerate(value):
            if bounds.max_length is not None and index == bounds.max_length:
                raise InvalidValue(words, value)
            items.append(_check_item(item, index, element))
        if not bounds.allows_length(len(items)):
            raise InvalidValue(words, value)
        return container(items)

    return ValueRule(words, check)


def _mapping_rule(key: ValueRule, item: ValueRule, bounds: Within) -> ValueRule:
    words = "a mapping" if bounds.max_length is None else f"a mapping of at most {bounds.max_length:,}"

    def check(value: Any) -> Any:
        if (type(value) is not dict and not isinstance(value, Mapping)) or not bounds.allows_length(len(value)):
            raise InvalidValue(words, value)
        return {_check_item(key, "key", name): _check_item(item, str(name), element) for name, element in value.items()}

    return ValueRule(words, check)


def _check_item(rule: ValueRule, part: str | int, value: Any) -> Any:
    try:
        return rule.check(value)
    except InvalidValue as fault:
        raise fault.under(part) from None


def _check_callable(value: Any) -> Any:
    if not callable(value):
        raise InvalidValue("a function", value)
    return value


def _accept(value: Any) -> Any:
    return value


_TEXT = _text_rule(_UNBOUNDED)


def _check_json(value: Any, depth: int = 0) -> Any:
    """Return a copy of a JSON value, tuples as lists."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _TEXT.check(value)
    if isinstance(value, int) and value.bit_length() <= MAX_INTEGER_BITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if depth < MAX_JSON_DEPTH and isinstance(value, list | tuple):
        return [_check_json_item(index, element, depth) for index, element in enumerate(value)]
    if depth < MAX_JSON_DEPTH and isinstance(value, Mapping):
        return {
            _check_item(_TEXT, "key", name): _check_json_item(str(name), element, depth)
            for name, element in value.items()
        }
    raise InvalidValue("a JSON value", value)


def _check_json_item(part: str | int, value: Any, depth: int) -> Any:
    try:
        return _check_json(value, depth + 1)
    except InvalidValue as fault:
        raise fault.under(part) from None


def _join_words(words: list[str]) -> str:
    if words[-1] == "None" and len(words) > 1:
        return f"{_join_words(words[:-1])}, or None"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
