"""Reads from a team's file what its state does not hold: texts, and runs that ended long ago. Blocks; for a thread."""

import json
from pathlib import Path

from pydantic import JsonValue

from engine.core.state import RunSummary
from engine.core.values import Held, TextRef
from engine.folding import finished_run
from engine.texts import walk
from store import Reader


def text_in(path: Path, value: Held) -> JsonValue:
    """Return a value that a state holds, read from the journal at `path` where it stands only there.

    Raises:
        StoreError: If the file cannot be read, or does not have it.
    """
    if not isinstance(value, TextRef):
        return value
    found: JsonValue = walk(json.loads(body_in(path, value.seq)), value.path)
    return found


def body_in(path: Path, seq: int) -> bytes:
    """Return the body of one event in the journal at `path`.

    Raises:
        StoreError: If the file cannot be read, or does not have it.
    """
    with Reader(path) as reader:
        return reader.record(seq).body


def finished_in(path: Path, run_id: str) -> RunSummary | None:
    """Return the summary of a run that has ended, from the journal at `path`; None if none of that id has.

    Raises:
        StoreError, CoreError: If the file cannot be read.
    """
    with Reader(path) as reader:
        return finished_run(reader, run_id)
