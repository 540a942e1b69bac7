"""The state of an agent as a mapping: `ctx.state`.

Child processes load this file by its path, so it imports only the standard library, as `isolated.py` does.
"""

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from typing_extensions import override

MAX_KEYS = 64
MAX_KEY_CHARS = 64
MAX_BYTES = 64 * 1024
"""Limit on all keys and values, in bytes of JSON."""


class AgentState(MutableMapping[str, Any]):
    """The state that an agent keeps for itself, with the changes that no event has carried yet.

    Values are copied in and out, by `encode` and `decode`: only an assignment changes one.

    Raises:
        ValueError: On assignment, if the key is no text of 1 to 64 characters, or the state has no room for the value.
        NotJson: On assignment, if the value is not JSON; in a child process TypeError or ValueError.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        encode: Callable[[Any], Any] | None = None,
        decode: Callable[[Any], Any] | None = None,
    ) -> None:
        self._values = dict(values)
        self._changes: dict[str, list[Any]] = {}
        self._reads: set[str] = set()
        self._encode = encode or _copy
        self._decode = decode or _copy
        self._sizes: dict[str, int] | None = None
        self._guard = threading.Lock()

    @override
    def __getitem__(self, key: str) -> Any:
        """Return a copy of a value."""
        if key not in self._changes:
            self._reads.add(key)
        return self._decode(self._values[key])

    @override
    def __setitem__(self, key: str, value: Any) -> None:
        """Set a value."""
        if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY_CHARS:
            raise ValueError(f"ctx.state: a key must be a text of 1 to {MAX_KEY_CHARS} characters, not {key!r:.80}")
        encoded = self._encode(value)
        size = _size_of(key, encoded)
        with self._guard:
            if self._sizes is None:
                self._sizes = {name: _size_of(name, item) for name, item in self._values.items()}
            sizes = self._sizes | {key: size}
            if len(sizes) > MAX_KEYS:
                raise ValueError(f"ctx.state: {key!r} would be key number {len(sizes)}, and {MAX_KEYS} is the limit")
            if (total := sum(sizes.values())) > MAX_BYTES:
                raise ValueError(
                    f"ctx.state: with {key!r} it would be {total:,} bytes, and {MAX_BYTES:,} is the limit;"
                    " write long values to a file, and keep its name"
                )
            self._sizes = sizes
            self._values[key] = encoded
            self._changes[key] = [encoded]

    @override
    def __delitem__(self, key: str) -> None:
        """Remove a value."""
        with self._guard:
            del self._values[key]
            self._changes[key] = []
            if self._sizes is not None:
                del self._sizes[key]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter([*self._values])

    @override
    def __len__(self) -> int:
        return len(self._values)

    @override
    def __repr__(self) -> str:
        return f"AgentState({self._values!r})"

    @property
    def values_by_key(self) -> Mapping[str, Any]:
        """The values themselves, for reading."""
        return self._values

    @property
    def pending(self) -> Collection[str]:
        """The keys that were changed since `take_changes`."""
        return self._changes.keys()

    def take_changes(self) -> dict[str, list[Any]]:
        """Return the changes since the last call: `[value]` sets a key, `[]` removes it."""
        with self._guard:
            changes, self._changes = self._changes, {}
        return changes

    def take_reads(self) -> set[str]:
        """Return the keys that were read since the last call, but for values that were set before."""
        reads, self._reads = self._reads, set()
        return reads

    def drop_changes(self, keys: Iterable[str]) -> None:
        """Forget that keys were changed; they keep their values."""
        with self._guard:
            for key in keys:
                self._changes.pop(key, None)

    def apply(self, changes: Mapping[str, list[Any]]) -> None:
        """Make the changes that a copy of it has taken."""
        for key in [key for key, change in changes.items() if not change]:
            self.pop(key, None)
        self.update((key, change[0]) for key, change in changes.items() if change)

    def reset(self, key: str, values: Mapping[str, Any]) -> None:
        """Set a key to its value in `values`, or remove it, without a change."""
        with self._guard:
            self._changes.pop(key, None)
            self._values.pop(key, None)
            if key in values:
                self._values[key] = values[key]
            self._sizes = None


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def _size_of(key: str, value: Any) -> int:
    return len(json.dumps({key: value}, ensure_ascii=False, separators=(",", ":")).encode())
