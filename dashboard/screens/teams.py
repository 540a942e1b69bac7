"""The teams of this machine, to switch between them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dashboard.databases import Found, databases_at_hand
from dashboard.feed import entries_of
from dashboard.frame.table_screen import BELOW, TableScreen
from dashboard.views.header import ViewState
from dashboard.views.holdings import holdings
from dashboard.views.lines import Line
from dashboard.views.names import Names
from dashboard.views.row_pane import More
from dashboard.views.rows import Listing
from dashboard.views.tail import Told, newest
from dashboard.views.teams import TeamFound, of_team, teams
from dashboard.widgets.lines import Lines
from engine import folders
from engine.core.errors import CoreError
from engine.folding import folded_from
from store import Reader, StoreError

LOOK_EVERY_MS = 5_000
LAST_EVENTS = 60
"""Events of each that are read for the pane below."""


class TeamsScreen(TableScreen):
    """Every database at hand; enter opens another one in place of this."""

    PLACE = "teams"
    SORTED = False
    GRIPS = (BELOW,)
    BELOW_FROM, FILLS = 34, True
    KEYS = (
        ("enter", "switch to it", "show this team instead; the one here goes on"),
        ("/", "filter"),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self._found: list[TeamFound] = []
        self._looked = self._looking = False
        self._looked_ms = -LOOK_EVERY_MS

    def listing(self, view: ViewState) -> Listing:
        due = view.has_passed(self._looked_ms + LOOK_EVERY_MS)
        # A browser sees its own team alone: paths of this machine are not its business.
        if due and not self._looking and not self.deck.in_browser:
            self._looking, self._looked_ms = True, view.wall_ms
            here = Found(self.deck.path, self.deck.feed.engine)
            known = {one.path: one for one in self._found}
            self.deck.aside(lambda: _teams_beside(here, known), self._then, ())
        return teams(
            self._found,
            here=str(self.deck.path),
            now_ms=_now_ms(view),
            home=_home(),
            needle=self.needle,
            looked=self._looked or self.deck.in_browser,
        )

    def more(self, view: ViewState, key: str, width: int, height: int) -> More | None:
        at = {"now_ms": _now_ms(view), "width": width, "height": height}
        return of_team(self._found, key, here=str(self.deck.path), home=_home(), **at)

    def on_lines_clicked(self, event: Lines.Clicked) -> None:
        """Open nothing: what the pane tells is of another file."""
        event.prevent_default()

    def _then(self, found: list[TeamFound]) -> None:
        shown = str(self.deck.path)
        self._found = [self._of_feed(one) if one.path == shown else one for one in found]
        self._looking, self._looked = False, True
        self._next_ms = 0
        if self.is_there:
            self.look(self.deck.view)

    def _of_feed(self, found: TeamFound) -> TeamFound:
        """Tell of the team that is shown what the feed knows: folding it anew takes as long as opening it."""
        state, names, recent = self.deck.feed.state, self.deck.feed.names, self.deck.feed.recent
        return replace(
            found,
            name=state.roots[0].name if state.roots else found.name,
            holds=holdings(state, working=found.alive),
            last=newest(reversed(recent), names, LAST_EVENTS, joins=False),
        )

    def looked_at(self, *, whole: bool = False) -> str:
        return ""

    def no_target(self) -> str:
        return "these rows are databases, not agents or tasks; enter switches to one"

    def open_row(self, key: str) -> None:
        one = next((one for one in self._found if one.path == key), None)
        if one is not None and one.error is not None:
            self.warn(f"{one.path} cannot be opened: {one.error}")
        elif key == str(self.deck.path):
            self.deck.action_go("network")
        else:
            self.deck.switch(Path(key))


def _teams_beside(here: Found, known: Mapping[str, TeamFound]) -> list[TeamFound]:
    """Runs in a thread: return the teams at hand, that of the file that is shown among them."""
    try:
        found = databases_at_hand(folders.data_folder())
    except folders.NoHome:
        found = []
    own = [] if here.path in [one.path for one in found] else [here]
    return [team_of(one, known.get(str(one.path)), is_shown=one.path == here.path) for one in (*own, *found)]


def _now_ms(view: ViewState) -> int:
    """Return the time: what other files hold is told as of now, also where this one is shown at a past moment."""
    return view.now_ms if view.past is None else view.past.now_ms


def _home() -> str:
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
    holds, last, names, seq = list[Line](), list[Told](), Names(), -1
    try:
        with Reader(found.path) as reader:
            newest_ms = reader.newest_ms() or None
            now = (reader.last_seq(), newest_ms, found.alive)
            if known is not None and now == (known.seq, known.newest_ms, known.alive):
                name, holds, last, seq = known.name, [*known.holds], [*known.last], known.seq
            elif not is_shown:
                state = folded_from(reader)
                name = state.roots[0].name if state.roots else name
                holds = holdings(state, working=found.alive)
                names.learn_state(state)
                records = reader.records_before(state.seq + 1, LAST_EVENTS)
                last = newest(reversed(entries_of(reader, records, names)), names, LAST_EVENTS, joins=False)
                seq = state.seq
    except (StoreError, CoreError) as why:
        error = error or str(why)
    try:
        size_bytes = found.path.stat().st_size
    except OSError:
        size_bytes = 0
    return TeamFound(str(found.path), name, found.state, found.alive, newest_ms, size_bytes, error, holds, last, seq)


SCREEN = TeamsScreen
