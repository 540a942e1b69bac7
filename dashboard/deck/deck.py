"""What screens, dialogs and actions need from the app: the view of the team, and the parts of the app.

Rule: this module imports none of its users; `app` lists the screens. Slow work runs in a thread and ends with a message
about its outcome.
"""

from collections.abc import Callable
from pathlib import Path

from textual.widget import Widget

from dashboard.deck.access import Access
from dashboard.deck.background import Background
from dashboard.deck.commands import Commands
from dashboard.deck.files import TeamFiles
from dashboard.deck.history import History
from dashboard.deck.messages import Messages
from dashboard.deck.pace import Pace
from dashboard.deck.time_travel import TimeTravel
from dashboard.deck.touring import Touring
from dashboard.deck.trust import CodeTrust
from dashboard.reading.feed import Feed
from dashboard.user.habits import Habits
from dashboard.views.drawing.rows import Cell
from dashboard.views.view_state import ViewState
from dashboard.widgets.textual_seams import DefectApp


class Deck(DefectApp):
    """An app on the database of one team; its parts know each other only as far as they are given at their making."""

    in_browser = False
    view: ViewState
    """The team as of the last redraw."""
    tour: Touring
    tip: Cell | None = None
    """The current tip, or an empty cell; None if tips are off."""

    def __init__(
        self, db: Path, *, readonly: bool, feed: Feed, clock: Callable[[], int], habits: Habits | None = None
    ) -> None:
        super().__init__()
        self.path, self.feed, self.clock = db, feed, clock
        self.habits = habits or Habits()
        """Settings that the user has made in earlier sessions."""
        self.next_path: Path | None = None
        """The database to open after this app exits."""
        self.drafts: dict[str, str] = {}
        """Texts that were typed and not applied yet, by purpose."""
        self.begun_on: dict[str, int] = {}
        """Generation of the agent when the editing of its spec began, by key of the draft."""
        self.pace = Pace()
        self.messages = messages = Messages(clock, self.show)
        self.background = background = Background(self, db, feed, messages)
        self.past = TimeTravel(
            db,
            feed,
            messages,
            view=lambda: self.view,
            flush=self.flush,
            flush_later=lambda: self.call_later(self.flush),
        )
        self.history = History(
            background, feed, redraw=self.show_time, is_reduced=lambda: self.animation_level == "none"
        )
        self.access = access = Access(db, feed, messages, self.past, readonly=readonly, in_browser=self.in_browser)
        self.trust = CodeTrust(db, feed, messages, access)
        self.files = TeamFiles(db, feed, background, messages)
        self.commands = Commands(db, feed, background, messages, access)

    def action_go(self, place: str, *, filtered: str | None = None, selected: str | None = None) -> None:
        """Show one of the screens."""
        raise NotImplementedError

    def open(self, kind: str, key: str) -> None:
        """Show the page about one object."""
        raise NotImplementedError

    def open_key(self, key: str) -> None:
        """Show the page about the object of a row's key, or of an event: a seq, also with `event:` before it."""
        state, seq = self.view.state, key.removeprefix("event:")
        if seq.isdigit():
            self.open("event", seq)
        elif key in state.agents:
            self.open("agent", key)
        elif key in state.supervisors:
            self.open("supervisor", key)
        elif key in state.runs or state.summary(key) is not None:
            self.open("run", key)
        elif key:
            self.open("task", key)

    def open_database(self, path: Path) -> None:
        """Exit, and open another database; the engine of this one keeps running."""
        if self.access.has_local_access("another database"):
            self.next_path = path
            self.exit(0)

    def action_leave(self) -> None:
        """Quit."""
        raise NotImplementedError

    def begin(self) -> None:
        """Begin to paint; called once the first screen has its size."""
        raise NotImplementedError

    def show(self) -> None:
        """Refresh every visible screen."""
        raise NotImplementedError

    def show_time(self) -> None:
        """Fold what has arrived, and redraw every visible time bar."""
        raise NotImplementedError

    def flush(self) -> None:
        """Fold what has arrived."""
        raise NotImplementedError


def deck_of(widget: Widget) -> Deck:
    """Return the app of a widget."""
    assert isinstance(widget.app, Deck)
    return widget.app
