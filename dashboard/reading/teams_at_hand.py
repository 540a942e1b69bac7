"""What the other databases of this machine hold, each read when it has changed; for as long as a state takes to fold.

Called in a thread. Every file is closed before its team is told.
"""

from collections.abc import Mapping
from contextlib import suppress

from dashboard.reading.databases import Found, databases_at_hand
from dashboard.reading.feed import entries_of
from dashboard.views.changes.holdings import holdings
from dashboard.views.drawing.lines import Line
from dashboard.views.tail import Told, newest
from dashboard.views.teams import TeamFound
from dashboard.views.words.names import Names
from engine.core.errors import CoreError
from engine.platform import folders
from engine.reading.folding import fold_from
from store import Reader, StoreError

LAST_EVENTS = 60
"""Events of each that are read for the pane below."""


def teams_at_hand(here: Found, known: Mapping[str, TeamFound]) -> list[TeamFound]:
    """Return the teams at hand, that of the file that is shown among them."""
    try:
        found = databases_at_hand(folders.data_folder())
    except folders.NoHome:
        found = []
    own = [] if here.path in [one.path for one in found] else [here]
    return [team_of(one, known.get(str(one.path)), is_shown=one.path == here.path) for one in (*own, *found)]


def home() -> str:
    """Return the folder of the user; empty where there is none."""
    try:
        return str(folders.home_folder())
    except folders.NoHome:
        return ""


def team_of(found: Found, known: TeamFound | None, *, is_shown: bool) -> TeamFound:
    """Read what a row needs; the name is that of the first supervisor at the top.

    The state is folded only if it changed since it was `known`, and not that of the file that is shown.
    """
    name, newest_ms, error = found.path.stem, None, found.error
    holds, last, names, seq, size_bytes = list[Line](), list[Told](), Names(), -1, 0
    try:
        with Reader(found.path) as reader:
            newest_ms, size_bytes = reader.newest_ms() or None, reader.size_bytes()
            now = (reader.last_seq(), newest_ms, found.alive)
            if known is not None and now == (known.seq, known.newest_ms, known.alive):
                name, holds, last, seq = known.name, [*known.holds], [*known.last], known.seq
            elif not is_shown:
                state = fold_from(reader)
                name = state.roots[0].name if state.roots else name
                holds = holdings(state, working=found.alive)
                names.learn_state(state)
                records = reader.records_before(state.seq + 1, LAST_EVENTS)
                last = newest(reversed(entries_of(reader, records, names)), names, LAST_EVENTS, joins=False)
                seq = state.seq
    except (StoreError, CoreError) as why:
        error = error or str(why)
        with suppress(OSError):
            size_bytes = found.path.stat().st_size
    return TeamFound(str(found.path), name, found.state, found.alive, newest_ms, size_bytes, error, holds, last, seq)
