"""The Teams screen: the databases of this machine, to switch between them."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from dashboard.frame.table_screen import BELOW, TableScreen
from dashboard.reading.databases import DatabaseInfo
from dashboard.reading.team_databases import LAST_EVENTS, find_teams, home
from dashboard.views.changes.team_summary import team_summary
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.rows import Listing
from dashboard.views.tail import newest_lines
from dashboard.views.teams import TeamDatabase, TeamFigures, describe_team, teams
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines

LOOK_EVERY_MS = 5_000


class TeamsScreen(TableScreen):
    """All databases found; enter opens another one in place of this one."""

    PLACE = "teams"
    SORTED = False
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 34
    KEYS = (
        ("enter", "switch to it", "show this team instead; the one here goes on"),
        ("/", "filter"),
    )

    def __init__(self) -> None:
        super().__init__()
        self._teams: list[TeamDatabase] = []
        self._has_looked = self._looking = False
        self._looked_ms = -LOOK_EVERY_MS

    def listing(self, view: ViewState) -> Listing:
        due = view.has_passed(self._looked_ms + LOOK_EVERY_MS)
        # A browser sees only its own team, because it has no access to paths.
        if due and not self._looking and not self.deck.access.in_browser:
            self._looking, self._looked_ms = True, view.wall_ms
            own_team = DatabaseInfo(self.deck.path, self.deck.feed.engine)
            teams_by_path = {team.path: team for team in self._teams}
            find = partial(find_teams, own_team, teams_by_path, view.wall_ms)
            self.deck.background.run_in_thread(find, self._receive_teams, ())
        return teams(
            self._teams,
            shown_path=str(self.deck.path),
            now_ms=view.present_ms,
            home=home(),
            needle=self.finding.needle,
            is_loaded=self._has_looked or self.deck.access.in_browser,
        )

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        at = {"now_ms": view.present_ms, "width": width, "height": height}
        return describe_team(self._teams, key, shown_path=str(self.deck.path), home=home(), **at)

    def on_lines_clicked(self, event: Lines.Clicked) -> None:
        """Open nothing, because the pane shows events of another file."""
        event.prevent_default()

    def _receive_teams(self, teams: list[TeamDatabase]) -> None:
        own_path = str(self.deck.path)
        self._teams = [self._with_feed_data(team) if team.path == own_path else team for team in teams]
        self._looking, self._has_looked = False, True
        self.due_ms = 0
        self.update_now()

    def _with_feed_data(self, team: TeamDatabase) -> TeamDatabase:
        """Return the row of the open team with data of the feed, because folding it again would take too long."""
        state, names, recent = self.deck.feed.state, self.deck.feed.names, self.deck.feed.recent
        return replace(
            team,
            name=state.roots[0].name if state.roots else team.name,
            holds=team_summary(state, working=team.alive),
            figures=TeamFigures.of(state, self.deck.view.counts),
            last=newest_lines(reversed(recent), names, LAST_EVENTS, joins=False),
        )

    def id_at_cursor(self, *, whole: bool = False) -> str:
        return ""

    def explain_no_target(self) -> str:
        return "these rows are databases, not agents or tasks; enter switches to one"

    def open_row(self, key: str) -> None:
        team = next((team for team in self._teams if team.path == key), None)
        if team is not None and team.error is not None:
            self.deck.messages.warn(f"{team.path} cannot be opened: {team.error}")
        elif key == str(self.deck.path):
            self.deck.action_go("network")
        else:
            self.deck.open_database(Path(key))


SCREEN = TeamsScreen
