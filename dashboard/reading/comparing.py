"""Compares two teams that an operator names: moments of the open database, other databases, archives.

Blocks while it reads files and folds states; call it in a thread.
"""

import shlex
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from dashboard.user.typed_paths import exists, expand_path
from dashboard.views.changes.compared import Comparison, Side
from dashboard.views.words.parsers import Mistyped, Seq, parse_moment
from store import Reader


def sides_of(key: str) -> tuple[str, str]:
    """Return the two names in a key of the page.

    Raises:
        Mistyped: If it does not consist of two names.
    """
    try:
        names = shlex.split(key)
    except ValueError as error:
        raise Mistyped("the quotes do not close") from error
    if len(names) != 2:
        raise Mistyped("diff A B: two seqs, times, databases or archives, such as 812 900, or team.zip 900")
    return names[0], names[1]


def key_of(first: str, other: str) -> str:
    """Return the key of the page that compares two teams."""
    return shlex.join([first.removeprefix("@"), other.removeprefix("@")])


def is_path(name: str) -> bool:
    """Return whether a name is a file, not a moment."""
    return "/" in name or name.endswith((".db", ".zip")) or ("@" in name.lstrip("@"))


def compare(db: Path, key: str, *, now_ms: int) -> Comparison:
    """Compare two teams.

    Args:
        db: The open database; moments without a path belong to it.
        key: As `key_of` returns it.
        now_ms: The time of the team, UTC milliseconds; for `10m`.

    Raises:
        Mistyped: If a name cannot be parsed, or its file does not exist.
        StoreError, CoreError, ImportRefused: If a file cannot be read, or an archive is invalid.
    """
    from engine.history.moments import compare_moments  # needed only for comparisons

    with ExitStack() as stack:
        names = sides_of(key)
        first, other = (stack.enter_context(_open_side(db, name, now_ms)) for name in names)
        differences = compare_moments(first, other)
        sides = [Side("" if side.path == db else str(side.path), side.seq, side.state.at_ms) for side in (first, other)]
    return Comparison(sides[0], sides[1], differences)


def _open_side(db: Path, name: str, now_ms: int) -> AbstractContextManager:  # type: ignore[type-arg]
    from engine.history.moments import open_moment

    path, when = db, name
    if is_path(name):
        path, when = expand_path(name), ""
        if not exists(path) and "@" in name:
            named, _, when = name.rpartition("@")
            path = expand_path(named)
        if not exists(path):
            raise Mistyped(f"there is no file {str(path)!r}")
    if not when:
        return open_moment(path)
    position = parse_moment(when.removeprefix("@"), now_ms)

    def seq_of(reader: Reader) -> int:
        seq = int(position) if isinstance(position, Seq) else reader.seq_at(position)
        return min(max(seq, 1, reader.first_seq()), reader.last_seq())

    return open_moment(path, seq_of)
