"""Keys of steps and calls: a name, a hash of the input, and the number of its occurrence in its attempt."""

import hashlib
import json
from functools import lru_cache

from engine.core.records.records import JsonValue

_NUMBERED = frozenset({"model", "compact"})
"""Kinds of steps whose names are those of turns, with their numbers."""
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
"""Built once: `json.dumps` builds an encoder for each value."""


def stem_of(name: str, value: JsonValue) -> str:
    """Return the key of a step or a call without its number: the name, and 16 hex digits of its input."""
    return f"{name}:{hashlib.blake2b(_canonical(value).encode(), digest_size=8).hexdigest()}"


@lru_cache(maxsize=1024)
def kind_of_step(what: str, name: str) -> str:
    """Return the kind and name under which durations of steps are kept, `what:name`; all turns of models are alike."""
    if what in _NUMBERED:
        return f"{what}:{name.partition(':')[0]}"
    return name if name.startswith(f"{what}:") else f"{what}:{name}"
