"""What is stored of the team: moments to go back to, archives, forks; export, import, fork from here."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from textual.binding import Binding
from textual.widget import Widget

from dashboard import dialogs
from dashboard.frame.panels_screen import give_rows
from dashboard.frame.table_screen import BELOW, TableScreen
from dashboard.reading.comparing import key_of
from dashboard.reading.stored_files import files_beside, holdings_of
from dashboard.views.changes.holdings import holdings
from dashboard.views.drawing.lines import Line, Span
from dashboard.views.drawing.row_pane import More
from dashboard.views.drawing.rows import Listing
from dashboard.views.stored import NEWEST, Beside, Stored, of_stored, stored, stored_facts
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from store import Reader

READ_EVERY_MS = 2_000


class StateScreen(TableScreen):
    """Snapshots, archives and forks; enter goes to one of them."""

    PLACE = "state"
    SORTED = False
    GRIPS = (BELOW,)
    BELOW_FROM, FILLS = 34, True
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
        self._found, self._looked, self._reading = Stored(), False, False
        self._read_ms = self._counted_ms = -READ_EVERY_MS
        self._held_now: Sequence[Line] = ()
        self._kinds = Counter[str]()

    def body(self) -> Iterable[Widget]:
        yield Lines(id="facts")
        yield from super().body()

    def show(self, view: ViewState) -> None:
        if not self._reading and view.has_passed(self._read_ms + READ_EVERY_MS):
            self._read(view)
        lines = stored_facts(view.state, self._found, db=str(self.deck.path), width=self.size.width)
        facts = self.query_one("#facts", Lines)
        give_rows(facts, len(lines) + 1)
        facts.show(lines)
        super().show(view)

    def _read(self, view: ViewState) -> None:
        self._reading, self._read_ms = True, view.wall_ms
        path, folder = self.deck.path, not self.deck.in_browser  # whose operator has no paths of this machine

        def read(reader: Reader) -> Stored:
            return Stored(
                reader.first_seq(),
                reader.last_seq(),
                reader.newest_ms(),
                reader.size_bytes(),
                reader.snapshots(),
                files_beside(path) if folder else (),
            )

        def then(found: Stored) -> None:
            self._found, self._looked, self._reading = found, True, False
            self._next_ms = 0
            self.look_again()

        def failed() -> None:
            self._reading = False

        self.deck.read(read, then, failed=failed)

    def listing(self, view: ViewState) -> Listing:
        past = view.past
        return stored(
            self._found,
            shown_seq=view.state.seq if past is not None else 0,
            now_ms=view.present_ms,
            needle=self.needle,
            looked=self._looked,
        )

    def more(self, view: ViewState, key: str, width: int, height: int) -> More | None:
        holds: Sequence[Line] | None
        if view.due(self._counted_ms) or not self._kinds:  # none: the journal was not summed up yet
            self._counted_ms = view.wall_ms + READ_EVERY_MS
            self._held_now, self._kinds = holdings(view.state, working=view.working), Counter[str]()
            for span in self.deck.spans:
                self._kinds.update(span.counts)
        if key == NEWEST and view.past is None:
            holds = self._held_now
        elif key.endswith(".zip"):
            holds = [Line((Span("enter opens it: an archive is read only after all of it was checked", "muted"),))]
        else:
            path = self.deck.path if key == NEWEST or key.isdigit() else Path(key)
            engine = self.deck.feed.engine
            working = key.isdigit() or (key == NEWEST and engine is not None and engine.alive)  # a moment is shown so
            seq = int(key) if key.isdigit() else None
            holds = self.looked_up(key, lambda: holdings_of(path, seq, working=working))
        return of_stored(
            self._found,
            key,
            holds,
            self._kinds,
            shown_seq=view.state.seq if view.past is not None else 0,
            now_ms=view.present_ms,
            width=width,
            height=height,
        )

    def open_row(self, key: str) -> None:
        beside = next((one for one in self._found.beside if one.path == key), None)
        if beside is not None:
            self._open(beside)
        elif key == NEWEST:
            self.deck.live()
        elif key.isdigit():
            self.deck.goto_seq(int(key))

    def looked_at(self, *, whole: bool = False) -> str:
        return ""

    def no_target(self) -> str:
        return "these rows are moments and files, not agents or tasks; enter goes to one, = compares it"

    def action_compare(self) -> None:
        """Show what differs from the row under the cursor to the moment that is shown, or from that to the newest."""
        key, shown = self.table.selected, str(self.state.seq)
        if key is None or (key == NEWEST and not self.deck.in_past):
            self.warn("choose a snapshot, an archive or a fork to compare with the newest state")
        elif key == NEWEST:
            self.deck.open("diff", key_of(shown, str(self._found.last_seq)))
        else:
            self.deck.open("diff", key_of(key, shown))

    def _open(self, beside: Beside) -> None:
        if beside.kind == "fork":
            self.deck.switch(Path(beside.path))
        elif self.deck.may():
            self.ask(dialogs.files.ImportDialog(self.deck.path, beside.path))


SCREEN = StateScreen
