"""Versions of kinds: how events of earlier versions are read today.

A released kind never changes. A new field makes a new version: raise it in `VERSIONS` and say in `UPCASTS` what an
older body becomes. No kind has a second version yet.
"""

import json
from collections.abc import Callable
from typing import Any

VERSIONS: dict[str, int] = {}
"""The current version of every kind that is past its first."""

UPCASTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From a kind as it stands in the journal (`task_failed`, `task_failed.2`) to the body of the next version."""


def version_of(name: str) -> int:
    """Return the current version of a kind."""
    return VERSIONS.get(name, 1)


def needs_upcast(kind: str) -> bool:
    """Return True when rows of `kind` are of an earlier version."""
    return kind in UPCASTS


def upcast(kind: str, body: bytes) -> bytes:
    """Return the body of an older row as the current version has it."""
    document = json.loads(body)
    while kind in UPCASTS:
        document = UPCASTS[kind](document)
        name, _, version = kind.partition(".")
        kind = f"{name}.{int(version or 1) + 1}"
    return json.dumps(document, separators=(",", ":")).encode()
