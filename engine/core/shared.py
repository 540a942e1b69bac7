"""Containers of entities that are empty most of the time: one empty one is shared, and replaced before it changes.

A task alone would have nine of its own, which took half of its memory and a third of the time to make or read it. A
field with a shared default is annotated as `Mapping` or `Sequence`, so that mypy finds who changes it in place;
it holds the shared one whenever it is empty, which JSON leaves out.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class _Shared(dict[Any, Any]):
    """A mapping that stays empty."""

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("this empty mapping is shared; use `put`")


EMPTY: Mapping[Any, Any] = _Shared()


def put(values: Mapping[K, V], key: K, value: V) -> Mapping[K, V]:
    """Return a mapping with a value more: the same one, unless that is shared."""
    own = values if type(values) is dict else {}
    own[key] = value
    return own


def drop(values: Mapping[K, V], key: K) -> Mapping[K, V]:
    """Return a mapping without a key, which may be in it."""
    if type(values) is dict:
        values.pop(key, None)
    return values or EMPTY


def extend(values: Sequence[V], more: Iterable[V]) -> Sequence[V]:
    """Return a list with more behind what is in it: the same one, unless that is shared."""
    own = values if type(values) is list else []
    own += more
    return own or ()
