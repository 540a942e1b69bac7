"""What an import would do, before it does it: what it creates, which code has to be trusted, which names clash."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.archive.container import file_sha256
from engine.archive.importing import opened
from engine.archive.reading import Contents
from engine.closure import Folder
from engine.core.state import State
from engine.core.transfer.importing import free_name
from engine.folding import folded
from engine.trust import TrustList, code_folder, needs_trust


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import of one archive into one database would do."""

    creates: dict[str, int]
    """How many of each kind it adds; of tasks those of agents, as everywhere."""
    references: list[str]
    """What its agents call."""
    needs_trust: list[str]
    """Those of them that the user has not allowed there."""
    clashes: list[str]
    """Names that are in use there, each with what becomes of it, in words."""
    sha256: str
    """Of the archive file, for the `ImportState` that is to follow."""
    missing: list[str] = field(default_factory=list)
    """What its agents call that is neither in `folder` nor installed."""
    folder: Path = Path()
    """Where code of the team is looked for."""
    bound: list[str] = field(default_factory=list)
    """Callables that only the process that exported them had; their agents cannot work before a swap."""


def plan_import(path: Path, db: Path | None, allowed: TrustList | None = None) -> ImportPlan:
    """Check an archive, and say what importing it into a database would do. Blocks; writes nothing.

    Args:
        path: The archive.
        db: The database; None, or one that does not exist yet, is an empty one.
        allowed: What the user who asks trusts; None trusts nothing.

    Raises:
        ImportRefused: If the archive cannot be imported anywhere.
        StoreError, CoreError: If the database cannot be read.
    """
    sha256 = file_sha256(path)
    state = folded(db) if db is not None and db.exists() else State()
    with opened(path, sha256, at_work=bool(state.minted)) as pieces:
        held = next(pieces)
    assert isinstance(held, Contents)
    references, counts = held.references, held.counts
    code = Folder(code_folder(state, Path.cwd()))
    return ImportPlan(
        creates={
            "supervisors": counts["supervisors"],
            "agents": counts["agents"],
            "runs": counts["runs"],
            "tasks": held.tasks_of_agents,
            "finished": counts["finished"],
        },
        references=references,
        needs_trust=references if allowed is None else needs_trust(allowed, references, state, db),
        clashes=clashes(state, held.roots, held.registry),
        sha256=sha256,
        missing=[one for one in references if code.lacks(one)],
        folder=code.path,
        bound=held.bound,
    )


def clashes(state: State, roots: Sequence[str], registry: Mapping[str, str]) -> list[str]:
    """Return the names of an archive that are in use, each with what an import makes of it."""
    taken = {root.name for root in state.roots}
    found = [
        f"supervisor {name}: there is one already; it comes in as {free_name(name, taken)}"
        for name in roots
        if name in taken
    ]
    found += [
        f"spec {name}: the registry has another one, which stays"
        for name, key in registry.items()
        if state.registry.get(name, key) != key
    ]
    return found
