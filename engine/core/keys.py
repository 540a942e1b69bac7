"""Keys of steps and calls: a name, a hash of the input, and the number of its occurrence in its attempt."""

import hashlib
import json

from engine.core.records import JsonValue


def stem_of(name: str, value: JsonValue) -> str:
    """Return the key of a step or a call without its number: the name, and 16 hex digits of its input."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return f"{name}:{hashlib.blake2b(canonical.encode(), digest_size=8).hexdigest()}"
