"""Reads the corpus: journals, commands and archives that programs of earlier days wrote."""

import gzip
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
Row = list[Any]
"""Of a journal: at_ms, kind, run_id, task_id, agent_id, body; the body is a text, as it was written."""


@cache
def journals() -> dict[str, list[Row]]:
    """The rows of every journal, by the name of its file."""
    paths = [path for path in sorted(FOLDER.glob("*.jsonl.gz")) if not path.name.startswith("commands")]
    return {path.name.partition(".")[0]: unpacked(path) for path in paths}


def kind_of_row(row: Row) -> str:
    """The kind of an event."""
    return str(row[1])


@cache
def commands_in() -> list[tuple[str, str]]:
    """Kind and body of every command."""
    return [(kind, body) for path in sorted(FOLDER.glob("commands*.gz")) for kind, body in unpacked(path)]


def unpacked(path: Path) -> list[Row]:
    """The values of a packed file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def packed(values: Iterable[object]) -> bytes:
    """Values as lines of JSON."""
    lines = (json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values)
    return "".join(f"{line}\n" for line in lines).encode()
