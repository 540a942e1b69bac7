"""Texts that the state holds by reference, and JSON made readable."""

import json
from typing import Any

from engine.core.values import Held, TextRef


def said(held: Held, otherwise: str) -> str:
    """What the state itself has of a value; `otherwise` where only the journal has it."""
    if isinstance(held, TextRef):
        return otherwise
    return "" if held is None else str(held)


class Texts:
    """Values from the journal as far as they were read; what was asked for in vain is noted in `missing`."""

    def __init__(self) -> None:
        self._read: dict[tuple[int, str], str] = {}
        self.missing: list[TextRef] = []

    def of(self, held: Held) -> str:
        """Return a value as text; `…` until the journal was read."""
        if not isinstance(held, TextRef):
            return "" if held is None else readable(held)
        found = self._read.get((held.seq, held.path))
        if found is None:
            self.missing.append(held)
            return "…"
        return found

    def add(self, ref: TextRef, body: bytes | None) -> None:
        """Keep what event `ref.seq` has at `ref.path`; None says that the journal does not have the event."""
        self._read[ref.seq, ref.path] = "(no longer in the journal)" if body is None else _at(body, ref.path)


def _at(body: bytes, path: str) -> str:
    value: Any = json.loads(body)
    for part in path.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (IndexError, KeyError, TypeError, ValueError):
            return "(not where the state says)"
    return readable(value)


def readable(value: Any) -> str:
    """Return a JSON value as a person reads it: a text as it is, all else indented."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def pretty(body: bytes) -> str:
    """Return the body of an event with indents; what is not JSON stands as it is."""
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body.decode("utf-8", errors="replace")
