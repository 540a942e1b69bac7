"""JSON at the boundary: events, commands and the state, to bytes and back.

Inside, records are plain slotted dataclasses that nobody checks; here pydantic checks every field, refuses extra ones,
and reads whole blocks at once. Adapters are built on first use, because building sixty costs a tenth of a second.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache, partial
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from pydantic_core import PydanticSerializationError, to_json

from engine.core.commands import COMMAND_KINDS, Command
from engine.core.errors import BadValue, CorruptJournal, NewerKind
from engine.core.events import KINDS, Event
from engine.core.state import State
from engine.core.strict_json import NotStrict, strict_json
from engine.core.upcast import needs_upcast, upcast, version_of
from engine.core.validation.records import checked
from engine.core.validation.rules import shown

STRICT = ConfigDict(extra="forbid", ser_json_inf_nan="constants", val_json_bytes="utf8")


def _make_adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(with_config(STRICT)(kind))


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(_make_adapter)


def _make_writer(kind: Any) -> Callable[[Any], bytes]:
    # Half the time of `dump_json`, which is this behind a dozen options. What is not of its type is not written: an
    # engine could not read it again.
    return partial(_adapter(kind).serializer.to_json, warnings="error")


_writer: Callable[[Any], Callable[[Any], bytes]] = cache(_make_writer)


@cache
def _events_adapter() -> TypeAdapter[list[Event]]:
    for kind in KINDS.values():
        with_config(STRICT)(kind)
    return TypeAdapter(list[Annotated[Event, Field(discriminator="type")]])


@cache
def _state_adapter() -> TypeAdapter[State]:
    return TypeAdapter(with_config(STRICT)(State))


def _make_kind(event_type: Any) -> str:
    name = str(fields(event_type)[0].default)
    version = version_of(name)
    return name if version == 1 else f"{name}.{version}"


kind_of: Callable[[Any], str] = cache(_make_kind)
"""From a class of event to the kind under which it stands in the journal, with its version where it is not 1."""


def encode_event(event: Event) -> bytes:
    """Return the JSON body of `event`, as it stands in the journal.

    Raises:
        ValueError: If a text in it cannot be written as UTF-8, or a value is not of its type.
    """
    try:
        return _writer(type(event))(event)
    except PydanticSerializationError as error:
        raise ValueError(f"{type(event).__name__} cannot be written as JSON: {error}") from error


def decode_events(rows: Sequence[tuple[int, str, bytes]]) -> list[Event]:
    """Return the events of journal rows `(seq, kind, body)`, a block at a time.

    Raises:
        NewerKind: If a row has a kind or a version that this program does not know.
        CorruptJournal: If a body is not what its kind says.
    """
    bodies: list[bytes] = []
    for seq, kind, body in rows:
        if kind not in KINDS:
            name, _, version = kind.partition(".")
            if name not in KINDS or int(version or 1) > version_of(name):
                raise NewerKind(seq, kind)
        bodies.append(upcast(kind, body) if needs_upcast(kind) else body)
    try:
        return _events_adapter().validate_json(b"[" + b",".join(bodies) + b"]")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = first["loc"][0] if first["loc"] else 0
        seq = rows[at][0] if isinstance(at, int) and at < len(rows) else rows[0][0]
        raise CorruptJournal(seq, first["msg"]) from error


def encode_command(command: Command) -> bytes:
    """Return the JSON body of `command`, as it stands in the inbox.

    Raises:
        BadValue: If an engine would refuse to read it.
    """
    try:
        body = to_json(command, inf_nan_mode="constants")
        strict_json(body)
    except (PydanticSerializationError, NotStrict) as error:
        raise BadValue(command.type, (), f"cannot be written as JSON: {error}") from error
    return body


def decode_command(kind: str, body: bytes) -> Command:
    """Return the command of an inbox row.

    Raises:
        ValueError: If the kind is unknown or the body is not what its kind says; one line.
    """
    if kind not in COMMAND_KINDS:
        raise ValueError(f"unknown command {kind[:80]!r}; this engine knows {', '.join(sorted(COMMAND_KINDS))}")
    try:
        command: Command = _adapter(COMMAND_KINDS[kind]).validate_json(body, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(part[:80] if (part := str(one)).isprintable() else shown(part) for one in first["loc"])
        given = "" if first["type"] in ("missing", "value_error", "json_invalid") else f", not {shown(first['input'])}"
        raise ValueError(f"{kind}: {where or 'body'}: {first['msg'].removeprefix('Value error, ')}{given}") from error
    try:
        strict_json(body)
    except NotStrict as wrong:
        raise ValueError(f"{kind}: body: {wrong}") from wrong
    return checked(command, kind)


def encode_state(state: State) -> bytes:
    """Return the whole state as JSON, the same bytes for equal states."""
    with unscheduled(state):
        return _state_adapter().dump_json(state)


@contextmanager
def unscheduled(state: State) -> Iterator[None]:
    """Let a state stand without its schedule, which follows from the rest, while it is written."""
    kept = state.schedule
    object.__setattr__(state, "schedule", None)
    try:
        yield
    finally:
        object.__setattr__(state, "schedule", kept)


def decode_state(body: bytes) -> State:
    """Return the state of a snapshot.

    Raises:
        ValueError: If it is not one.
    """
    return _state_adapter().validate_json(body)
