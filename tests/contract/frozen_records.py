"""The records that stand in files and on pipes, line by line: kinds, fields, types and defaults, without their modules.

What an event, a command or the state refers to is found by its types; what they hold as plain JSON is named in
`HIDDEN`. Signals, effects and follow-ups are never written, so they stand nowhere here.
"""

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct

from engine.core.commands import COMMANDS
from engine.core.events import EVENTS
from engine.core.records.records import Json, JsonValue, fields
from engine.core.state import State
from engine.memory.pages import Insight, InsightPage
from engine.models.records import Message, ModelAnswer, ToolSchema
from engine.runtimes.programs.lines import Line
from engine.stream.records import Piece, StreamEvent

HIDDEN: tuple[type, ...] = (Message, ModelAnswer, ToolSchema, Insight, InsightPage)
"""Records that events hold as plain JSON, such as outputs of steps, or by a hash, such as what a model was told."""
_PLAIN = {str: "text", int: "integer", float: "number", bool: "flag", Decimal: "decimal", bytes: "bytes"}
"""A decimal is a text in JSON."""


class Field(NamedTuple):
    """A field of a record."""

    name: str
    type: Any
    default: object
    """What a reader takes where it is left out; NODEFAULT for one that is required."""


def event_lines() -> Iterator[str]:
    """Every kind of event with its fields, as they stand in the journal."""
    for event in EVENTS:
        yield from lines_of(event)


def command_lines() -> Iterator[str]:
    """Every kind of command with its fields, as they stand in the inbox."""
    for command in COMMANDS:
        yield from lines_of(command)


def record_lines() -> Iterator[str]:
    """What events, commands and the state are made of, and the words that stand in them."""
    hashed = reached(State)
    for record in reached(State, *EVENTS, *COMMANDS):
        if issubclass(record, enum.Enum):
            yield from (f"{record.__name__}: {spelled_value(word)}" for word in record)
        elif record not in EVENTS and record not in COMMANDS:
            yield from lines_of(record, in_order=record in hashed)


def value_lines() -> Iterator[str]:
    """What events hold as plain JSON although it is a record."""
    for record in reached(*HIDDEN):
        if record not in reached(State, *EVENTS, *COMMANDS):
            yield from lines_of(record)


def stream_lines() -> Iterator[str]:
    """The events of a stream, the pieces of live output in their file, and the lines that programs write."""
    for record in (StreamEvent, Piece, *get_args(Line)):
        yield from lines_of(record)


def persisted_records() -> list[Any]:
    """Every class of records and of words that stands in a file."""
    return [*reached(State, *EVENTS, *COMMANDS), *reached(*HIDDEN)]


def reached(*roots: type) -> list[Any]:
    """Some records, and every class of records and of words that their fields refer to."""
    known: dict[Any, None] = dict.fromkeys(roots)
    waiting: list[Any] = list(roots)
    while waiting:
        for each in _classes_in(field.type for field in fields_of(waiting.pop())):
            if each not in known:
                known[each] = None
                waiting.append(each)
    return list(known)


def _classes_in(hints: Iterable[Any]) -> Iterator[type]:
    for hint in hints:
        if isinstance(hint, type) and issubclass(hint, Struct | enum.Enum):
            yield hint
        elif get_origin(hint) is not Literal:
            yield from _classes_in(get_args(hint))


def lines_of(record: type, *, in_order: bool = False) -> Iterator[str]:
    """A record and each of its fields, such as `attempt_done.output: json`.

    Args:
        in_order: Whether their order matters, as of what is hashed: specs, and the state of an archive.
    """
    name, tag = name_of(record), _tag_of(record)
    yield name if tag in (None, name) else f'{name}.type: "{tag}"'
    if in_order:
        yield f"{name} in order: {' '.join(field.name for field in fields_of(record))}".rstrip()
    for field in fields_of(record):
        default = "" if field.default is NODEFAULT else f" = {spelled_value(field.default)}"
        yield f"{name}.{field.name}: {spelled(field.type)}{default}"


def name_of(record: type) -> str:
    """The kind of an event or a command, else the name of the class."""
    return str(_tag_of(record)) if record in EVENTS or record in COMMANDS else record.__name__


def _tag_of(record: type) -> str | int | None:
    return record.__struct_config__.tag if issubclass(record, Struct) else None


@cache
def fields_of(record: Any) -> tuple[Field, ...]:
    """The fields of a record, of msgspec or a dataclass, as they are written; none of a class of words."""
    if issubclass(record, enum.Enum):
        return ()
    if issubclass(record, Struct):
        return tuple(Field(each.encode_name, each.type, _default_of(each)) for each in fields(record))
    hints = get_type_hints(record, include_extras=True)
    return tuple(Field(each.name, hints[each.name], _default_of(each)) for each in dataclasses.fields(record))


def _default_of(field: Any) -> object:
    if field.default_factory not in (NODEFAULT, dataclasses.MISSING):
        return field.default_factory()
    return NODEFAULT if field.default is dataclasses.MISSING else field.default


def spelled_value(value: object) -> str:
    """A value as JSON holds it; of a record its name with what differs from its defaults."""
    if isinstance(value, Struct):
        given = ((field, getattr(value, field.name)) for field in fields_of(type(value)))
        changed = (f"{field.name}={spelled_value(each)}" for field, each in given if each != field.default)
        return f"{type(value).__name__}({', '.join(changed)})"
    return msgspec.json.encode(sorted(value) if isinstance(value, frozenset | set) else value).decode()


def spelled(hint: Any) -> str:
    """A type in one line, of every version of Python the same and without the modules of classes."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in (Any, JsonValue, Json, msgspec.Raw):
        return "json"
    if hint in (None, type(None)):
        return "null"
    if origin is Annotated:
        return spelled(args[0])
    if origin in (Union, UnionType):
        return " | ".join(sorted({spelled(each) for each in args}, key=lambda word: (word == "null", word)))
    if origin is Literal:
        return " | ".join(sorted(map(spelled_value, args)))
    if origin is tuple and args[-1] is not Ellipsis:
        return f"[{', '.join(map(spelled, args))}]"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"{{{spelled(args[0])}: {spelled(args[1])}}}"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"[{spelled(args[0])}]"
    return _PLAIN.get(hint) or name_of(hint)
