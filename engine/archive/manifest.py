"""The manifest of an archive: its format, and the limits of the other parts."""

from collections.abc import Mapping

from msgspec import Struct, field

from engine.core.encoding.strict_json import MAX_FOREIGN_VALUES, NotStrict, check_values
from engine.core.state import State

FORMAT = "quarterdeck-archive"
VERSION = 4
MANIFEST, STATE, TEXTS, EVENTS = "manifest.json", "state.json", "texts.jsonl", "events.jsonl"
REQUIRED = (MANIFEST, STATE, TEXTS)
PARTS = (*REQUIRED, EVENTS)

MAX_BYTES = 100_000_000
"""Size of an archive, and of all its parts together."""
MAX_RATIO = 200
"""Highest compression ratio of a part."""


class Manifest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The manifest: what the archive contains and where it comes from."""

    format: str = FORMAT
    version: int = VERSION
    program: str = ""
    """Version of quarterdeck that wrote it."""
    created_ms: int = 0
    """Time of the export, UTC milliseconds."""
    seq: int = 0
    """The last event that is included."""
    at_ms: int = 0
    """Time of that event, UTC milliseconds."""
    counts: dict[str, int] = field(default_factory=dict)
    bound: list[str] = field(default_factory=list)
    """Bound callables of the exporting process; their agents have to be swapped."""
    parts: dict[str, str] = field(default_factory=dict)
    """SHA-256 of every other part, 64 hex digits, by name."""
    state_sha256: str = ""
    """SHA-256 of the state in canonical form; equal states have equal hashes in all files."""


MAX_COUNTS = {
    "supervisors": 10_000,
    "agents": 10_000,
    "specs": 20_000,
    "runs": 50_000,
    "tasks": 100_000,
    "texts": 200_000,
}
"""Limits of an archive, by kind."""
MAX_COUNTS_AT_WORK = {
    "supervisors": 1_000,
    "agents": 1_000,
    "specs": 2_000,
    "runs": 5_000,
    "tasks of agents": 10_000,
    "timers": 2_000,
}
"""How much of each kind an engine at work imports at once without delaying other messages."""
MAX_ENTITY_BYTES_AT_WORK = 1_000_000
"""Largest text or entity that an engine at work imports, in bytes."""
OWN_FILE_HINT = "import it into a file of its own: quarterdeck import FILE --db NEW.db"


def check_version(format_name: object, version: object) -> None:
    """Check that this program reads archives of a format and its version; raises NotStrict if it does not."""
    if format_name != FORMAT or type(version) is not int or version < 1:
        raise NotStrict("it is not an archive of quarterdeck")
    if version < VERSION:
        raise NotStrict(f"an older quarterdeck wrote it (format {version}, this one reads {VERSION}); export it again")
    if version > VERSION:
        raise NotStrict(
            f"a newer quarterdeck wrote it (format {version}, this one reads {VERSION}); update quarterdeck"
        )


def limit_exceeded(counts: Mapping[str, int], *, at_work: bool) -> str | None:
    """Return why these numbers of entities exceed the limits, lower ones for a team at work; None if they do not."""
    for kind, count in counts.items():
        if count > MAX_COUNTS.get(kind, count):
            return f"holds {count:,} {kind}; an archive holds up to {MAX_COUNTS[kind]:,}"
        if at_work and count > MAX_COUNTS_AT_WORK.get(kind, count):
            limit = MAX_COUNTS_AT_WORK[kind]
            return f"holds {count:,} {kind}, and a team at work takes in up to {limit:,}; {OWN_FILE_HINT}"
    return None


def counts_of(state: State, texts: int) -> dict[str, int]:
    """Return the number of entities by kind."""
    kinds = ("supervisors", "agents", "specs", "runs", "tasks", "finished")
    return {kind: len(getattr(state, kind)) for kind in kinds} | {"texts": texts}


def check_amount(parts: Mapping[str, bytes]) -> None:
    """Raise NotStrict if the parts of an archive hold more values than can be imported; before they are parsed."""
    check_values([parts[name] for name in (MANIFEST, STATE) if name in parts], texts=parts[TEXTS])
    check_values((), MAX_FOREIGN_VALUES, texts=parts[TEXTS])
