"""Compares two teams: moments of the database that is shown, files, archives, as an operator names them.

Reads files for as long as a state takes to fold: called in a thread.
"""

import shlex
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from dashboard.user.typed_paths import exists, path_typed
from dashboard.views.changes.compared import Comparison, Side
from dashboard.views.words.parsers import Mistyped, Seq, moment_of
from store import Reader


def sides_of(key: str) -> tuple[str, str]:
    """Return the two names that a key of the page joins.

    Raises:
        Mistyped: If it does not join two.
    """
    try:
        said = shlex.split(key)
    except ValueError as error:
        raise Mistyped("the quotes do not close") from error
    if len(said) != 2:
        raise Mistyped("diff A B: two seqs, times, databases or archives, such as 812 900, or team.zip 900")
    return said[0], said[1]


def key_of(one: str, other: str) -> str:
    """Return the key of the page that compares two."""
    return shlex.join([one.removeprefix("@"), other.removeprefix("@")])


def is_path(said: str) -> bool:
    """Tell whether a name is a file of this machine and not a moment."""
    return "/" in said or said.endswith((".db", ".zip")) or ("@" in said.lstrip("@"))


def compare(db: Path, key: str, *, now_ms: int) -> Comparison:
    """Compare two teams.

    Args:
        db: The database that is shown; moments without a path are of it.
        key: As `key_of` joins them.
        now_ms: The time of the team, UTC milliseconds; for `10m`.

    Raises:
        Mistyped: If one cannot be understood or is not there.
        StoreError, CoreError, ImportRefused: If a file cannot be read, or an archive cannot be believed.
    """
    from engine.history.moments import compare_moments  # only who compares needs it

    with ExitStack() as stack:
        names = sides_of(key)
        one, other = (stack.enter_context(_opened(db, said, now_ms)) for said in names)
        found = compare_moments(one, other)
        sides = [Side("" if side.path == db else str(side.path), side.seq, side.state.at_ms) for side in (one, other)]
    return Comparison(sides[0], sides[1], found)


def _opened(db: Path, said: str, now_ms: int) -> AbstractContextManager:  # type: ignore[type-arg]
    from engine.history.moments import open_moment

    path, when = db, said
    if is_path(said):
        path, when = path_typed(said), ""
        if not exists(path) and "@" in said:
            named, _, when = said.rpartition("@")
            path = path_typed(named)
        if not exists(path):
            raise Mistyped(f"there is no file {str(path)!r}")
    if not when:
        return open_moment(path)
    meant = moment_of(when.removeprefix("@"), now_ms)

    def seq_of(reader: Reader) -> int:
        seq = int(meant) if isinstance(meant, Seq) else reader.seq_at(meant)
        return min(max(seq, 1, reader.first_seq()), reader.last_seq())

    return open_moment(path, seq_of)
