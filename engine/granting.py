"""Allowing code for one database: what a file beside a team, an archive or another process brings to it. Blocks."""

import time
from collections.abc import Sequence
from pathlib import Path

from engine.closure import Folder, files_of
from engine.core.state import State
from engine.trust import TrustList


def code_folder(state: State, otherwise: Path) -> Path:
    """Return where code of a team stands that is not installed: beside its file, else where its engine was started."""
    return Path(state.team.path).parent if state.team is not None else otherwise


def needs_trust(allowed: TrustList, references: Sequence[str], state: State, db: Path | None) -> list[str]:
    """Return which of some references the user's list does not allow for a database.

    Raises:
        UnusableTrustList: If the list cannot be read.
    """
    team = Path(state.team.path) if state.team is not None else None
    folder = Folder(code_folder(state, Path.cwd()))
    granted = allowed.granted(references, folder, db=None if db is None else db.resolve(), team=team)
    return [one for one in references if one not in granted]


def grant(
    allowed: TrustList,
    references: Sequence[str],
    state: State,
    *,
    db: Path,
    path: Path,
    sha256: str,
    folder: Path | None = None,
) -> None:
    """Allow references for a database, with the code that stands behind them now.

    Args:
        allowed: The list of the user who runs the engine.
        references: What may be imported.
        state: What the database holds.
        db: The database.
        path: What names the references: a file, an archive, or the database itself.
        sha256: Of its content; empty for a database.
        folder: Where its engine was started, where no team file says where its code stands; here by default.

    Raises:
        UnusableTrustList: If the list cannot be written.
        Unusable: If the code cannot be read.
    """
    code = Folder(code_folder(state, folder or Path.cwd()))
    files = files_of(code.sources(*references), code.path)
    at_ms = time.time_ns() // 1_000_000
    allowed.allow(path, sha256, references=references, at_ms=at_ms, files=files, db=db.resolve())
