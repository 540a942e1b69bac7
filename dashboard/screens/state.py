"""The State screen: snapshots, archives and forks; export, import and fork."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from textual.binding import Binding
from textual.widget import Widget

from dashboard import dialogs
from dashboard.actions.action import show_dialog
from dashboard.frame.panels_screen import give_rows
from dashboard.frame.table_screen import BELOW, TableScreen
from dashboard.reading.comparing import key_of
from dashboard.reading.stored_files import files_beside, stored_summary
from dashboard.views.changes.team_summary import team_summary
from dashboard.views.drawing.lines import Line, Span
from dashboard.views.drawing.row_pane import RowDetails
from dashboard.views.drawing.rows import Listing
from dashboard.views.stored import NEWEST, SiblingFile, StoredStates, describe_stored, stored_facts, stored_listing
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from store import Reader

READ_EVERY_MS = 2_000


class StateScreen(TableScreen):
    """Snapshots, archives and forks; enter goes to one of them."""

    PLACE = "state"
    SORTED = False
    GRIPS = (BELOW,)
    BELOW_MIN_HEIGHT = 34
    KEYS = (
        ("enter", "go there", "go back to this moment, or look into this archive or fork"),
        ("=", "compare", "say what differs between this row and what is shown"),
        "export",
        "import",
        "fork",
        ("/", "filter"),
    )
    BINDINGS = [Binding("equals_sign", "compare", "compare", show=False)]
    DEFAULT_CSS = """
    StateScreen #facts { height: 5; max-height: 35%; background: $background; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._stored, self._has_looked, self._reading = StoredStates(), False, False
        self._read_ms = self._counted_ms = -READ_EVERY_MS
        self._held_now: Sequence[Line] = ()
        self._kinds = Counter[str]()

    def body(self) -> Iterable[Widget]:
        yield Lines(id="facts")
        yield from super().body()

    def show(self, view: ViewState) -> None:
        if not self._reading and view.has_passed(self._read_ms + READ_EVERY_MS):
            self._read(view)
        lines = stored_facts(view.state, self._stored, db=str(self.deck.path), width=self.size.width)
        facts = self.query_one("#facts", Lines)
        give_rows(facts, len(lines) + 1)
        facts.show(lines)
        super().show(view)

    def _read(self, view: ViewState) -> None:
        self._reading, self._read_ms = True, view.wall_ms
        path, folder = self.deck.path, not self.deck.access.in_browser  # a browser has no access to paths

        def read(reader: Reader) -> StoredStates:
            return StoredStates(
                reader.first_seq(),
                reader.last_seq(),
                reader.newest_ms(),
                reader.size_bytes(),
                reader.snapshots(),
                files_beside(path) if folder else (),
            )

        def receive(stored: StoredStates) -> None:
            self._stored, self._has_looked, self._reading = stored, True, False
            self.due_ms = 0
            self.update_now()

        def handle_failure() -> None:
            self._reading = False

        self.deck.background.read(read, receive, on_failure=handle_failure)

    def listing(self, view: ViewState) -> Listing:
        past = view.past
        return stored_listing(
            self._stored,
            shown_seq=view.state.seq if past is not None else 0,
            now_ms=view.present_ms,
            needle=self.finding.needle,
            is_loaded=self._has_looked,
        )

    def describe_row(self, view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
        holds: Sequence[Line] | None
        if view.is_due(self._counted_ms) or not self._kinds:  # empty until the journal is summarized
            self._counted_ms = view.wall_ms + READ_EVERY_MS
            self._held_now, self._kinds = team_summary(view.state, working=view.working), Counter[str]()
            for span in self.deck.history.spans:
                self._kinds.update(span.counts)
        if key == NEWEST and view.past is None:
            holds = self._held_now
        elif key.endswith(".zip"):
            holds = [Line((Span("enter opens it: an archive is read only after all of it was checked", "muted"),))]
        else:
            path = self.deck.path if key == NEWEST or key.isdigit() else Path(key)
            engine = self.deck.feed.engine
            # A past moment is shown as it was at work.
            working = key.isdigit() or (key == NEWEST and engine is not None and engine.alive)
            seq = int(key) if key.isdigit() else None
            holds = self.details.look_up(key, lambda: stored_summary(path, seq, working=working))
        return describe_stored(
            self._stored,
            key,
            holds,
            self._kinds,
            shown_seq=view.state.seq if view.past is not None else 0,
            now_ms=view.present_ms,
            width=width,
            height=height,
        )

    def open_row(self, key: str) -> None:
        beside = next((file for file in self._stored.files if file.path == key), None)
        if beside is not None:
            self._open(beside)
        elif key == NEWEST:
            self.deck.past.live()
        elif key.isdigit():
            self.deck.past.goto_seq(int(key))

    def id_at_cursor(self, *, whole: bool = False) -> str:
        return ""

    def explain_no_target(self) -> str:
        return "these rows are moments and files, not agents or tasks; enter goes to one, = compares it"

    def action_compare(self) -> None:
        """Compare the row under the cursor with the moment shown, or that with the newest state."""
        key, seq = self.table.selected, str(self.state.seq)
        if key is None or (key == NEWEST and not self.deck.past.is_shown):
            self.deck.messages.warn("choose a snapshot, an archive or a fork to compare with the newest state")
        elif key == NEWEST:
            self.deck.open("diff", key_of(seq, str(self._stored.last_seq)))
        else:
            self.deck.open("diff", key_of(key, seq))

    def _open(self, beside: SiblingFile) -> None:
        if beside.kind == "fork":
            self.deck.open_database(Path(beside.path))
        elif self.deck.access.can_write():
            show_dialog(self, dialogs.files.ImportDialog(self.deck.path, beside.path))


SCREEN = StateScreen
