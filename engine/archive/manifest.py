"""The first part of an archive: its format, and what the other parts must be."""

from dataclasses import dataclass, field
from functools import cache

from pydantic import ConfigDict, TypeAdapter, with_config

from engine.core.document import Document, entities

FORMAT = "quarterdeck-archive"
VERSION = 1
MANIFEST, STATE, TEXTS, EVENTS = "manifest.json", "state.json", "texts.jsonl", "events.jsonl"
REQUIRED = (MANIFEST, STATE, TEXTS)
PARTS = (*REQUIRED, EVENTS)

MOST_BYTES = 256 * 1024 * 1024
"""Size of an archive, and of all its parts together."""
MOST_RATIO = 200
"""How many times its packed size a part may have."""


@dataclass(slots=True, kw_only=True)
class Manifest:
    """What an archive says of itself."""

    format: str = FORMAT
    version: int = VERSION
    program: str = ""
    """Version of quarterdeck that wrote it."""
    created_ms: int = 0
    """When, UTC milliseconds."""
    seq: int = 0
    """The last event of the journal that it was made from."""
    at_ms: int = 0
    """When that event happened."""
    counts: dict[str, int] = field(default_factory=dict)
    bound: list[str] = field(default_factory=list)
    """Callables that only the process that made them has; their agents have to be swapped."""
    parts: dict[str, str] = field(default_factory=dict)
    """SHA-256 of every other part, 64 hex digits, by name."""
    state_sha256: str = ""
    """Of the state in canonical form; the same for the same state in another file."""


@cache
def manifest_adapter() -> TypeAdapter[Manifest]:
    """Return what reads and writes a manifest."""
    return TypeAdapter(with_config(ConfigDict(extra="forbid", strict=True))(Manifest))


def counts_of(document: Document, texts: int) -> dict[str, int]:
    """Return how much of each kind a state document holds."""
    kinds = ("supervisors", "agents", "specs", "runs", "tasks", "finished")
    return {kind: len(entities(document, kind)) for kind in kinds} | {"texts": texts}
