"""What an import would do, before it does it: what it creates, which code has to be trusted, which names clash."""

from dataclasses import dataclass, field
from pathlib import Path

from engine.archive.container import file_sha256
from engine.archive.reading import Archive, read_archive
from engine.core.document import references_in
from engine.core.importing import free_name, is_empty
from engine.core.state import State
from engine.folding import folded


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import of one archive into one database would do."""

    creates: dict[str, int]
    """How many of each kind it adds; of tasks those of agents, as everywhere."""
    needs_trust: list[str]
    """References that its agents call and that the operator has not allowed there."""
    clashes: list[str]
    """Names that are in use there, each with what becomes of it, in words."""
    sha256: str
    """Of the archive file, for the `ImportState` that is to follow."""
    archive: Archive
    bound: list[str] = field(default_factory=list)
    """Callables that only the process that exported them had; their agents cannot work before a swap."""


def plan_import(path: Path, db: Path | None) -> ImportPlan:
    """Read an archive, and say what importing it into a database would do. Blocks; writes nothing.

    Args:
        path: The archive.
        db: The database; None, or one that does not exist yet, is an empty one.

    Raises:
        ImportRefused: If the archive cannot be imported anywhere.
        StoreError, CoreError: If the database cannot be read.
    """
    sha256 = file_sha256(path)
    archive = read_archive(path, sha256)
    state = folded(db) if db is not None and db.exists() else State()
    needed = [reference for reference in references_in(archive.document) if reference not in state.trusted]
    counts = archive.manifest.counts
    return ImportPlan(
        creates={
            "supervisors": counts["supervisors"],
            "agents": counts["agents"],
            "runs": counts["runs"],
            "tasks": sum(task.kind == "agent" for task in archive.state.tasks.values()),
            "finished": counts["finished"],
        },
        needs_trust=needed,
        clashes=[] if is_empty(state) else clashes(state, archive.state),
        sha256=sha256,
        archive=archive,
        bound=list(archive.manifest.bound),
    )


def clashes(state: State, incoming: State) -> list[str]:
    """Return the names of an incoming state that are in use, each with what an import makes of it."""
    taken = {root.name for root in state.roots}
    found = [
        f"supervisor {root.name}: there is one already; it comes in as {free_name(root.name, taken)}"
        for root in incoming.roots
        if root.name in taken
    ]
    found += [
        f"spec {name}: the registry has another one, which stays"
        for name, key in incoming.registry.items()
        if state.registry.get(name, key) != key
    ]
    return found
