"""The Catalogue screen: the agents that this user keeps for all teams, searched while words are typed."""

from collections.abc import Sequence

from textual.binding import Binding

from dashboard.actions import BY_NAME
from dashboard.actions.action import CommandLine
from dashboard.actions.catalogue import Change
from dashboard.frame.finding import RowFilter
from dashboard.frame.table_screen import BELOW, MARKS, TableScreen
from dashboard.reading import catalogue
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.rows import Cell, Listing
from dashboard.views.knowledge.catalogue import CatalogueRows, catalogue_listing, describe_entry
from dashboard.views.view_state import ViewState
from engine.catalogue.entries import CatalogueEntry
from engine.errors import CatalogueError

CHANGES = {"approve": catalogue.approve, "revoke": catalogue.revoke, "remove": catalogue.remove}
LOOK_EVERY_MS = 5_000
"""How often the catalogue is read again: other processes change it too."""
ASKED_MS = 10_000
"""How long the first press of a removal counts."""


class EntrySearch(RowFilter):
    """Searches the catalogue by words, in place of filtering rows."""

    LABEL = Cell("/ search", "faint")

    def suggest(self, line: str) -> list[str]:
        return []

    def advise(self, text: str) -> Cell:
        return Cell("" if text.strip() else "words of what an agent should do", "muted")


class CatalogueScreen(TableScreen):
    """Entries of the catalogue, the best match first."""

    PLACE = "catalogue"
    SORTED = False
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 20
    MARKED = "A approves them or takes that back, R removes them"
    KEYS = (
        ("enter", "add to the team", "add the agent under the cursor to the team"),
        ("/", "search"),
        ("A", "approve", "approve the entry, or the marked ones; once more takes that back"),
        ("R", "remove", "remove the entry, or the marked ones, from the catalogue; asks first"),
        ("space", "mark"),
    )
    BINDINGS = [
        *MARKS,
        Binding("A", "act('approve-entry')", "approve", show=False),
        Binding("R", "act('remove-entry')", "remove", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.finding = EntrySearch(self, self.show_filtered)
        self._rows = CatalogueRows()
        self._has_looked = self._looking = False
        self._looked_ms = 0
        self._asked_ids: list[str] = []
        self._asked_until_ms = 0

    def listing(self, view: ViewState) -> Listing:
        self._look(view)
        return catalogue_listing(self._rows, is_loaded=self._has_looked, in_browser=self.deck.access.in_browser)

    def _look(self, view: ViewState) -> None:
        """Search again for other words, or after some time; one search at a time, so that the latest words win."""
        words = self.finding.needle.strip()
        is_due = words != self._rows.words or not self._has_looked or view.has_passed(self._looked_ms + LOOK_EVERY_MS)
        if is_due and not self._looking and not self.deck.access.in_browser:
            self._looking, self._looked_ms = True, view.wall_ms
            self.deck.background.run_in_thread(lambda: catalogue.search_catalogue(words), self._receive, ())

    def _receive(self, rows: CatalogueRows) -> None:
        is_new = rows.words != self._rows.words
        self._rows, self._looking, self._has_looked, self.due_ms = rows, False, True, 0
        self.update_now()
        if is_new and rows.found and self.is_there:
            self.select_row(next(iter(rows.found)))

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        row = self._rows.found.get(key)
        history = None
        if row is not None:
            entry = row.entry
            history = self.details.look_up(
                f"{key} {entry.revision} {entry.approved_ms}", lambda: catalogue.history_of(entry)
            )
        return describe_entry(row, history, now_ms=view.present_ms, width=width, height=height)

    def facts(self) -> list[Cell]:
        shown, total = len(self._rows.found), self._rows.total
        is_cut = shown < total and not self.finding.needle
        return [*super().facts(), *([Cell(f"{shown:,} of {total:,}, search for others", "muted")] if is_cut else [])]

    def chosen_entries(self) -> list[CatalogueEntry]:
        """Return the marked entries, or the one under the cursor."""
        keys = self.marked_keys() or [self.table.selected or ""]
        return [self._rows.found[key].entry for key in keys if key in self._rows.found]

    def is_asked_again(self, ids: list[str]) -> bool:
        """Return whether the same removal was asked for just before: the first time says what it would do."""
        view = self.deck.view
        is_again = ids == self._asked_ids and not view.has_passed(self._asked_until_ms)
        self._asked_ids, self._asked_until_ms = ids, view.wall_ms + ASKED_MS
        return is_again

    def change_entries(self, change: Change, entries: Sequence[CatalogueEntry], outcome: str) -> None:
        def receive(_: None) -> None:
            self._asked_ids = []
            self.unmark()
            self.deck.messages.say(f"✓ {outcome}", "done")
            self._has_looked = False
            self.due_ms = 0
            self.update_now()

        self.deck.background.run_in_thread(lambda: CHANGES[change](entries), receive, (CatalogueError,))

    def can_be_marked(self, key: str) -> bool:
        return key in self._rows.found

    def selected_key(self) -> str:
        return self.table.selected or ""

    def id_at_cursor(self, *, whole: bool = False) -> str:
        return ""

    def explain_no_target(self) -> str:
        return "these rows are entries of the catalogue, not members of the team; enter adds one to it"

    def open_row(self, key: str) -> None:
        BY_NAME["add-entry"].call(self, CommandLine())


SCREEN = CatalogueScreen
