"""The teams of this machine, to switch between them."""

from dataclasses import replace
from pathlib import Path

from dashboard.frame.table_screen import BELOW, TableScreen
from dashboard.reading.databases import Found
from dashboard.reading.teams_at_hand import LAST_EVENTS, home, teams_at_hand
from dashboard.views.changes.holdings import holdings
from dashboard.views.drawing.row_pane import More
from dashboard.views.drawing.rows import Listing
from dashboard.views.tail import newest
from dashboard.views.teams import TeamFound, of_team, teams
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines

LOOK_EVERY_MS = 5_000


class TeamsScreen(TableScreen):
    """Every database at hand; enter opens another one in place of this."""

    PLACE = "teams"
    SORTED = False
    GRIPS = (BELOW,)
    BELOW_FROM, FILLS = 34, True
    KEYS = (
        ("enter", "switch to it", "show this team instead; the one here goes on"),
        ("/", "filter"),
    )

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
            self.deck.aside(lambda: teams_at_hand(here, known), self._then, ())
        return teams(
            self._found,
            here=str(self.deck.path),
            now_ms=view.present_ms,
            home=home(),
            needle=self.needle,
            looked=self._looked or self.deck.in_browser,
        )

    def more(self, view: ViewState, key: str, width: int, height: int) -> More | None:
        at = {"now_ms": view.present_ms, "width": width, "height": height}
        return of_team(self._found, key, here=str(self.deck.path), home=home(), **at)

    def on_lines_clicked(self, event: Lines.Clicked) -> None:
        """Open nothing: what the pane tells is of another file."""
        event.prevent_default()

    def _then(self, found: list[TeamFound]) -> None:
        shown = str(self.deck.path)
        self._found = [self._of_feed(one) if one.path == shown else one for one in found]
        self._looking, self._looked = False, True
        self._next_ms = 0
        self.look_again()

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


SCREEN = TeamsScreen
