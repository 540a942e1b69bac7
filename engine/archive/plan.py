"""Plans of imports: what would be created, which code needs trust, which names clash."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.archive.container import file_sha256
from engine.archive.importing import open_pieces
from engine.archive.reading import Contents
from engine.core.documents.importing import free_name
from engine.core.state import State
from engine.reading.folding import fold_file
from engine.trusted_code.closure import Folder
from engine.trusted_code.trust import TrustList, code_folder, needs_trust


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The effects of importing an archive into a database."""

    creates: dict[str, int]
    """Number of new entities by kind; of tasks only those of agents."""
    references: list[str]
    """References of its agents."""
    needs_trust: list[str]
    """References that the user has not trusted yet."""
    clashes: list[str]
    """Names in use, each with the consequence in words."""
    sha256: str
    """Hash of the archive, for the `ImportState` command."""
    missing: list[str] = field(default_factory=list)
    """References that are neither in `folder` nor installed."""
    folder: Path = Path()
    """Folder in which the team's code is searched."""
    bound: list[str] = field(default_factory=list)
    """Bound callables of the exporting process; their agents cannot work before a swap."""


def plan_import(path: Path, db: Path | None, allowed: TrustList | None = None) -> ImportPlan:
    """Check an archive, and return the effects of importing it; blocks, writes nothing.

    Args:
        db: The database; None or a missing one counts as empty.
        allowed: Trust list of the user; None trusts nothing.

    Raises:
        ImportRefused: If the archive cannot be imported anywhere.
        StoreError, CoreError: If the database cannot be read.
    """
    sha256 = file_sha256(path)
    state = fold_file(db) if db is not None and db.exists() else State()
    with open_pieces(path, sha256, at_work=bool(state.minted)) as pieces:
        contents = next(pieces)
    assert isinstance(contents, Contents)
    references, counts = contents.references, contents.counts
    code = Folder(code_folder(state, Path.cwd()))
    return ImportPlan(
        creates={
            "supervisors": counts["supervisors"],
            "agents": counts["agents"],
            "runs": counts["runs"],
            "tasks": contents.tasks_of_agents,
            "finished": counts["finished"],
        },
        references=references,
        needs_trust=references if allowed is None else needs_trust(allowed, references, state, db),
        clashes=name_clashes(state, contents.roots, contents.registry),
        sha256=sha256,
        missing=[reference for reference in references if code.lacks(reference)],
        folder=code.path,
        bound=contents.bound,
    )


def name_clashes(state: State, roots: Sequence[str], registry: Mapping[str, str]) -> list[str]:
    """Return the names of an archive that are in use, each with the consequence in words."""
    used_names = {root.name for root in state.roots}
    descriptions = [
        f"supervisor {name}: the name is in use; it is imported as {free_name(name, used_names)}"
        for name in roots
        if name in used_names
    ]
    descriptions += [
        f"spec {name}: the registry has a different one, which is kept"
        for name, key in registry.items()
        if state.registry.get(name, key) != key
    ]
    return descriptions
