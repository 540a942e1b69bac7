"""Shared empty containers: a field that is mostly empty holds one shared instance, replaced before it changes.

Otherwise a task would have nine containers, half of its memory and a third of the time to create or decode it. Such a
field is annotated as `Mapping` or `Sequence`, so that mypy finds code that changes it in place. It holds the shared
instance whenever it is empty, which JSON leaves out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from typing_extensions import override

K = TypeVar("K")
V = TypeVar("V")


class _Shared(dict[Any, Any]):
    """A mapping that refuses to be filled."""

    @override
    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("this empty mapping is shared; use `put`")


EMPTY: Mapping[Any, Any] = _Shared()


def put(values: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    """Return the mapping with `key` set: changed in place, unless it is the shared one."""
    own = values if type(values) is dict else {}
    own[key] = value
    return own


def drop(values: Mapping[K, V], key: K) -> Mapping[K, V]:
    """Return the mapping without `key`, which may be missing; the shared one if it is empty then."""
    if type(values) is dict:
        values.pop(key, None)
    return values or EMPTY


def extend(values: Sequence[V], more: Iterable[V]) -> Sequence[V]:
    """Return the list with `more` appended: changed in place, unless it is the shared one."""
    own = values if type(values) is list else []
    own += more
    return own or ()
