"""The two decorators that every record of the core is made with.

`@fact` is for what is said once and never changes (events, commands, signals, effects); `@entity` is for what
`core/fold/` alone changes. Both look frozen to mypy, so that a stray assignment elsewhere is an error before it runs;
at run time neither pays for the check.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def fact(cls: type[T]) -> type[T]:
    """Make `cls` a slotted, keyword-only record that is never changed after it was built."""
    return dataclass(slots=True, kw_only=_must_name(cls), unsafe_hash=True)(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def entity(cls: type[T]) -> type[T]:
    """Make `cls` a slotted, keyword-only part of the state, changed by the fold and by nothing else."""
    return dataclass(slots=True, kw_only=_must_name(cls))(cls)


def _must_name(cls: type) -> bool:
    """Return whether fields have to be keyword-only at run time too: where one without a default follows one with one.

    Elsewhere only mypy holds callers to it: the interpreter looks up defaults of keyword-only parameters by name at
    every call, which makes a task, with its sixty fields, a fifth dearer.
    """
    has_default = [hasattr(cls, name) for name in cls.__annotations__]
    return has_default != sorted(has_default)


def changed(record: T, **values: object) -> T:
    """Return a copy of `record` with other values in some fields."""
    return cast(T, replace(cast(Any, record), **values))
