"""What every record of the core is made of: classes of annotations that become msgspec Structs.

`@fact` is for what is said once and never changes (events, commands, signals, effects); `@entity` is for what
`core/fold/` alone changes. Both look frozen to mypy, so that a stray assignment elsewhere is an error before it runs.
A record that declares a `type` is tagged with the name of its class, in lower case with underscores, which tells the
members of a union apart in JSON; to rename such a class is to change the format of journals. What people write (specs,
options, policies) subclasses `Struct` itself: it checks its fields when it is built.
See docs/reference/journal.md.
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
    """Any value of JSON: a decoder finds nothing else, and `validation.rules` holds what programs give to it."""
    Json = JsonValue
    """The same as an argument: checkers take a `list[str]` too, which is not a list of any values."""


class Entity(Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """What entities are at run time."""


class Tally(Struct, forbid_unknown_fields=True, gc=False):
    """What tallies are at run time."""


class Fact(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What facts are at run time."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
def fact(cls: type[T]) -> type[T]:
    """Make `cls` a keyword-only record that is never changed after it was built."""
    return _record(cls, Fact)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def shared_fields(cls: type[T]) -> type[T]:
    """Mark `cls` as a base with fields that several facts begin with.

    It stays a plain class, of which no object is made: `@fact` copies its fields into each record, which keeps it as a
    base for `isinstance`. Therefore it needs `__slots__ = ()`, as records have no `__dict__`.
    """
    return cls


@dataclass_transform(frozen_default=True, kw_only_default=True)
def tally(cls: type[T]) -> type[T]:
    """Make `cls` a keyword-only record of amounts, which facts carry and to which the fold adds where it keeps one."""
    return _record(cls, Tally)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def entity(cls: type[T]) -> type[T]:
    """Make `cls` a keyword-only part of the state, changed by the fold and by nothing else.

    JSON leaves out what is at its default, which is told by identity: defaults are None, flags, members of enums, empty
    containers and texts, and numbers up to 256. A `ClassVar` may be set on an instance too, through `vars`, and stands
    in no JSON.
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
    if base is not Fact:
        # msgspec's setter, which only tells the garbage collector of a record that it did not know yet, keeps CPython
        # from storing straight into the slot: 60 ns an assignment in place of 10. See docs/decisions/measurements.md.
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
    fact_types = (
        candidate for candidate in names.values() if isinstance(candidate, type) and issubclass(candidate, Fact)
    )
    return tuple(fact_type for fact_type in fact_types if issubclass(fact_type, base))


def _fields_of(cls: Any) -> tuple[FieldInfo, ...]:
    return msgspec.structs.fields(cls)


fields: Callable[[Any], tuple[FieldInfo, ...]] = cache(_fields_of)
"""From a class of records to its fields, with types and defaults."""


def names(record: Any) -> tuple[str, ...]:
    """Return the names of the fields of a record or of its class."""
    field_names: tuple[str, ...] = record.__struct_fields__
    return field_names


def copy_with(record: T, **values: object) -> T:
    """Return a copy of `record` with other values in some fields."""
    return cast(T, msgspec.structs.replace(cast(Any, record), **values))
