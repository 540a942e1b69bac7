"""Decorators that make msgspec Structs of annotated classes.

`@fact` is for immutable records (events, commands, signals, effects); `@entity` is for parts of the state, which only
`core/fold/` changes. Both look frozen to mypy, so that an assignment elsewhere is a type error. A record that declares
a `type` is tagged with the name of its class in snake case, which tells the members of a union apart in JSON: renaming
such a class changes the format of journals. Records that people write (specs, options, policies) subclass `Struct`
themselves, and check their fields when they are built. See docs/reference/journal.md.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, TypeVar, cast, dataclass_transform, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo

from engine.core.errors import snake_case

T = TypeVar("T")

if TYPE_CHECKING:
    from pydantic import JsonValue as JsonValue

    Json: TypeAlias = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | None
else:
    JsonValue = Annotated[Any, "JSON"]
    """Any JSON value: a decoder returns nothing else, and `validation.rules` checks the values of programs."""
    Json = JsonValue
    """The same for arguments: type checkers accept a `list[str]` too, because it is covariant."""


class Entity(Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """Base class of entities at run time."""


class Tally(Struct, forbid_unknown_fields=True, gc=False):
    """Base class of tallies at run time."""


class _Fact(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """Base class of facts at run time."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
def fact(cls: type[T]) -> type[T]:
    """Make `cls` an immutable keyword-only record."""
    return _record(cls, _Fact)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def shared_fields(cls: type[T]) -> type[T]:
    """Mark `cls` as a base whose fields several facts share.

    It stays a plain class without instances: `@fact` copies its fields into each record, and keeps it as a base for
    `isinstance`. It needs `__slots__ = ()`, because records have no `__dict__`.
    """
    return cls


@dataclass_transform(frozen_default=True, kw_only_default=True)
def tally(cls: type[T]) -> type[T]:
    """Make `cls` a keyword-only record of amounts: facts carry it, and the fold adds to those in the state."""
    return _record(cls, Tally)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def entity(cls: type[T]) -> type[T]:
    """Make `cls` a keyword-only part of the state, which only the fold changes.

    JSON leaves out fields at their default, which are compared by identity: defaults must be None, flags, members of
    enums, empty containers and texts, or numbers up to 256. A `ClassVar` may be set on an instance through `vars`; it
    is never encoded.
    """
    return _record(cls, Entity)


def _record(cls: type[T], base: type) -> type[T]:
    annotations: dict[str, Any] = {}
    namespace: dict[str, Any] = {}
    for part in reversed(cls.__mro__[:-1]):
        annotations.update(part.__annotations__)
        namespace.update((name, value) for name, value in vars(part).items() if name not in _SKIPPED_ATTRIBUTES)
    tag = None
    if annotations.pop("type", None) is not None:
        namespace["type"] = tag = snake_case(cls.__name__)
    namespace["__annotations__"] = annotations
    has_class_vars = any(get_origin(hint) is ClassVar for hint in annotations.values())
    make: Any = type(Struct)
    record_class: Any = make(
        cls.__name__,
        (base, *(parent for parent in cls.__bases__ if parent is not object)),
        namespace,
        kw_only=True,
        gc=has_class_vars,
        dict=has_class_vars,
        tag=tag,
        tag_field=None if tag is None else "type",
    )
    if base is not _Fact:
        # msgspec's setter only registers a record with the garbage collector, but prevents CPython from storing into
        # the slot directly: 60 ns for an assignment instead of 10. See docs/decisions/measurements.md.
        record_class.__setattr__, record_class.__delattr__ = object.__setattr__, object.__delattr__
    return cast(type[T], record_class)


_SKIPPED_ATTRIBUTES = {
    "__dict__",
    "__slots__",
    "__weakref__",
    "__annotations__",
    "__annotate__",
    "__annotate_func__",
    "__annotations_cache__",
}


def facts_of(base: type[T], names: Mapping[str, object]) -> tuple[type[T], ...]:
    """Return the classes of facts with this base among the names of a module, in their order."""
    classes = (value for value in names.values() if isinstance(value, type))
    return tuple(cls for cls in classes if issubclass(cls, _Fact) and issubclass(cls, base))


fields: Callable[[Any], tuple[FieldInfo, ...]] = cache(msgspec.structs.fields)
"""Returns the fields of a class of records, with types and defaults."""


def field_names(record: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record or of its class."""
    field_names: tuple[str, ...] = record.__struct_fields__
    return field_names


def copy_with(record: T, **values: object) -> T:
    """Return a copy of `record` with other values in some fields."""
    return cast(T, msgspec.structs.replace(cast(Any, record), **values))
