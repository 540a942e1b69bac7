"""Reading a team's file from beside its engine: texts that the state refers to. Blocks; for a thread."""

import json
from pathlib import Path

from pydantic import JsonValue

from engine.core.values import Held, TextRef
from engine.texts import walk
from store import Reader


def text_in(path: Path, value: Held) -> JsonValue:
    """Return a value that a state holds, read from the journal at `path` where it stands only there.

    Raises:
        StoreError: If the file cannot be read, or does not have it.
    """
    if not isinstance(value, TextRef):
        return value
    with Reader(path) as reader:
        found: JsonValue = walk(json.loads(reader.record(value.seq).body), value.path)
    return found
