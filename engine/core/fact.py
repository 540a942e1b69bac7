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
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def entity(cls: type[T]) -> type[T]:
    """Make `cls` a slotted, keyword-only part of the state, changed by the fold and by nothing else."""
    return dataclass(slots=True, kw_only=True)(cls)


def changed(record: T, **values: object) -> T:
    """Return a copy of `record` with other values in some fields."""
    return cast(T, replace(cast(Any, record), **values))
