"""Encodes and decodes events, commands and the state as JSON.

Records are not checked inside the engine; here their types are, and unknown fields are refused. Blocks of events are
decoded at once for speed, see docs/decisions/measurements.md.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache, lru_cache
from math import isfinite
from typing import Any, Union, get_args

import msgspec
from msgspec import Struct, field

from engine.core.commands import COMMAND_KINDS, Command
from engine.core.encoding.strict_json import NotStrict, strict_json
from engine.core.errors import BadValue, CorruptJournal, NewerKind
from engine.core.events import EVENTS, KINDS, Event
from engine.core.records.records import JsonValue, field_names, fields
from engine.core.specs.spec import AgentSpec
from engine.core.state import State, Task
from engine.core.validation.records import ValidatedRecord, rebuild_checked
from engine.core.validation.rules import short_repr

_encode = msgspec.json.Encoder().encode


def _decode_hook(kind: Any, value: Any) -> Any:
    """Decode hook of msgspec: convert a JSON value to a type that JSON does not have."""
    if getattr(kind, "__origin__", None) is not OrderedDict:
        raise NotImplementedError(kind)
    key, item = get_args(kind)
    return OrderedDict(msgspec.convert(value, dict[key, item], dec_hook=_decode_hook))  # type: ignore[valid-type]


def _make_decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind, dec_hook=_decode_hook)


_decoder_for: Callable[[Any], msgspec.json.Decoder[Any]] = cache(_make_decoder)
"""The decoder of a type, built on first use."""
_EVENT: Any = Union[EVENTS]  # noqa: UP007 - a tuple
_EVENTS: Any = list[_EVENT]
_MAX_JOINED_BYTES = 500_000
"""Size up to which bodies are joined, to be decoded at once."""
_EXPECTED = re.compile(r"Expected `([^`]*)`, got `([^`]*)`")
_ENCODED_STATE: Any = msgspec.defstruct(
    "EncodedState",
    [(name, dict[str, msgspec.Raw], field(default_factory=dict)) for name in ("specs", "tasks")],
    bases=(State,),
    kw_only=True,
)
"""As `State`, with specs and tasks that are not decoded yet."""


def encode_event(event: Event) -> bytes:
    """Return the JSON body of `event` in the journal.

    Raises:
        ValueError: If it could not be decoded again: a text that is not valid Unicode, or NaN or infinity.
    """
    try:
        check_numbers(event)
        return _encode(event)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{type(event).__name__} cannot be written as JSON: {error}") from error


def check_numbers(record: Any) -> None:
    """Raise ValueError if a record has NaN or infinity, which JSON cannot represent and msgspec would write as null."""
    for name in fields_with_floats(type(record)):
        value = getattr(record, name)
        if type(value) is not str and not _is_finite(value):
            raise ValueError(f"{name} has a number that JSON cannot represent")


def _is_finite(value: Any) -> bool:
    kind = type(value)
    if kind is str or value is None:
        return True
    if kind is float:
        return isfinite(value)
    if kind is dict:
        return all(map(_is_finite, value.values()))
    if kind is list or kind is tuple:
        return all(map(_is_finite, value))
    return not isinstance(value, Struct) or all(_is_finite(getattr(value, name)) for name in fields_with_floats(kind))


def _find_fields_with_floats(cls: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cls) if _can_hold_float(field.type))


fields_with_floats: Callable[[Any], tuple[str, ...]] = cache(_find_fields_with_floats)
"""The names of a class's fields that may hold a float, so that only these are checked for NaN."""


def _can_hold_float(hint: Any) -> bool:
    if hint in (Any, float):
        return True
    if isinstance(hint, type) and issubclass(hint, ValidatedRecord):
        return False  # It was validated when it was built.
    if isinstance(hint, type) and issubclass(hint, Struct):
        return bool(fields_with_floats(hint))
    return any(map(_can_hold_float, get_args(hint)))


def decode_events(rows: Sequence[tuple[int, str, bytes]]) -> list[Event]:
    """Return the events of journal rows `(seq, kind, body)`, a block at a time.

    Raises:
        NewerKind: If a row has a kind that this program does not know.
        CorruptJournal: If a body is invalid for its kind.
    """
    for seq, kind, _ in rows:
        if kind not in KINDS:
            raise NewerKind(seq, kind)
    bodies = [body for _, _, body in rows]
    try:
        if sum(map(len, bodies)) > _MAX_JOINED_BYTES:
            return list(map(_decoder_for(_EVENT).decode, bodies))
        events: list[Event] = _decoder_for(_EVENTS).decode(b"[" + b",".join(bodies) + b"]")
    except (ValueError, RecursionError) as error:
        raise _first_corrupt(rows) from error
    return events


def _first_corrupt(rows: Sequence[tuple[int, str, bytes]]) -> CorruptJournal:
    for seq, _, body in rows:
        try:
            _decoder_for(_EVENT).decode(body)
        except (ValueError, RecursionError) as error:
            return CorruptJournal(seq, str(error))
    return CorruptJournal(rows[0][0], "it is not JSON")


def encode_command(command: Command) -> bytes:
    """Return the JSON body of `command` in the inbox; raises BadValue if the engine would refuse it."""
    try:
        check_numbers(command)
        body = _encode(command)
        strict_json(body)
    except (ValueError, TypeError) as error:
        raise BadValue(command.type, (), f"cannot be written as JSON: {error}") from error
    return body


def decode_command(kind: str, body: bytes) -> Command:
    """Return the command of an inbox row; raises ValueError, with one line, if kind or body is invalid."""
    if kind not in COMMAND_KINDS:
        raise ValueError(f"unknown command {kind[:80]!r}; this engine knows {', '.join(sorted(COMMAND_KINDS))}")
    try:
        # Before msgspec, which silently takes the last of two equal keys.
        plain = strict_json(body)
        command: Command = _decoder_for(COMMAND_KINDS[kind]).decode(body)
    except NotStrict as error:
        raise ValueError(f"{kind}: body: {error}") from error
    except msgspec.ValidationError as error:
        raise ValueError(f"{kind}: {describe_decode_error(error, 'body', plain)}") from error
    return rebuild_checked(command, kind)


def describe_decode_error(error: msgspec.ValidationError, subject: str, value: JsonValue) -> str:
    """Return a decoding error of msgspec as one line with the path of the fault, or `subject` if all of it is wrong."""
    text, _, where = str(error).partition(" - at `$")
    where = where.removesuffix("`").removeprefix(".")
    if match := _EXPECTED.fullmatch(text):
        text = f"must be {match[1].replace(' | ', ' or ')}, not {_describe_value_at(value, where) or match[2]}"
    line = f"{where[:200] or subject}: {text.replace('`', '')[:300]}"
    return line if line.isprintable() else ascii(line)[1:-1]


def _describe_value_at(value: Any, where: str) -> str | None:
    try:
        for part in re.findall(r"[^.\[\]]+", where):
            value = value[int(part) if isinstance(value, list) else part]
    except (LookupError, TypeError, ValueError):
        return None  # msgspec does not name the keys of a mapping in its path.
    return short_repr(value)


def encode_state(state: State) -> bytes:
    """Return the whole state as JSON, the same bytes for equal states; fields at their defaults are left out."""
    return _encode(state)


def decode_strictly(body: bytes) -> State:
    """Return the state of an untrusted document, with every key and number checked; three times slower.

    Raises:
        NotStrict: If parsers may read the JSON differently.
        ValidationError: If it is not a state.
    """
    return msgspec.convert(strict_json(body), State, str_keys=True, dec_hook=_decode_hook)


def decode_state(body: bytes | msgspec.Raw) -> State:
    """Return the state of a snapshot, of a document, or of a part of one.

    Tasks are decoded one by one, and equal ids are interned: that saves a third of the memory. A state of 25,000 tasks
    takes 0.12 s of processor time.

    Raises:
        ValueError: If it is not a state.
    """
    encoded = _decoder_for(_ENCODED_STATE).decode(body)
    interned: dict[Any, Any] = {task_id: task_id for run in encoded.runs.values() for task_id in run.tasks}
    decode_task = _decoder_for(Task).decode
    tasks = {}
    for key, raw in encoded.tasks.items():
        task = decode_task(raw)
        task.id = key = interned.setdefault(key, key)
        _intern_ids(task, interned.setdefault)
        tasks[key] = task
    specs = {key: _spec_of(bytes(raw)) for key, raw in encoded.specs.items()}
    return State(**{name: getattr(encoded, name) for name in field_names(State)} | {"specs": specs, "tasks": tasks})


def decode_state_fast(body: bytes) -> State:
    """Return the state as `decode_state` does, for a short-lived one: with 40 % less time, and 50 % more memory."""
    state: State = _decoder_for(State).decode(body)
    return state


_MAX_CACHED_SPEC_BYTES = 4_000
"""Size of the largest cached spec, in bytes of JSON."""


def _spec_of(body: bytes) -> AgentSpec:
    """Decode a spec. Its checks are a third of the time for a state, and the next state often has the same specs.

    States with the same spec share its containers, which are never written to: a spec is replaced as a whole.
    """
    return copy(_decode_spec_cached(body)) if len(body) <= _MAX_CACHED_SPEC_BYTES else _decode_spec(body)


def _decode_spec(body: bytes) -> AgentSpec:
    spec: AgentSpec = _decoder_for(AgentSpec).decode(body)
    return spec


_decode_spec_cached = lru_cache(maxsize=2_048)(_decode_spec)


def _intern_ids(task: Any, intern: Callable[[Any, Any], Any]) -> None:
    """Replace the ids and numbers of a task by equal objects that other tasks use, to save memory."""
    task.run_id = intern(task.run_id, task.run_id)
    task.supervisor_id = intern(task.supervisor_id, task.supervisor_id)
    task.parent_id = intern(task.parent_id, task.parent_id)
    task.queue = intern(task.queue, task.queue)
    task.call_key = intern(task.call_key, task.call_key)
    task.created_ms = intern(task.created_ms, task.created_ms)
    if task.ready_seq is not None:
        task.ready_ms = intern(task.ready_ms, task.ready_ms)
        task.ready_seq = intern(task.ready_seq, task.ready_seq)
    if task.input == task.title:
        task.input = task.title
    if task.children:
        task.children = [*map(intern, task.children, task.children)]
        for call in task.calls.values():
            call.children = [*map(intern, call.children, call.children)]
