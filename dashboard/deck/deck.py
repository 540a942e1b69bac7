"""What screens, dialogs and actions need from the app: the current view of the team, commands, files, messages.

Rule: this module imports none of its users; `app` lists the screens. Slow work runs in a thread and ends with a message
about its outcome.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.geometry import Offset
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget

from dashboard.deck.background import do_nothing
from dashboard.deck.time_travel import TimeTravel
from dashboard.engines.process import is_alive
from dashboard.reading.feed import Feed
from dashboard.user.settings import settings_path_text
from dashboard.user.theme import THEMES
from dashboard.views.changes.bulk import Bulk
from dashboard.views.changes.bulk import describe_outcomes as spoken_all
from dashboard.views.changes.outcomes import (
    NOTHING_TO_UNDO,
    REDO_HINT,
    UNDO_HINT,
    UNDO_PREVIOUS_HINT,
    can_be_undone,
    describe_outcome,
)
from dashboard.views.drawing.rows import Cell
from dashboard.views.past import PAST_REFUSAL
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import size
from dashboard.views.words.keyed import fill_keys
from dashboard.widgets.textual_seams import paint_now
from engine.core.commands import Command, StopEngine, Undo
from engine.core.errors import CoreError
from engine.core.state import MAX_UNDOABLE
from store import StoreError, can_command
from store.errors import FileLost, ReadRowsLost

if TYPE_CHECKING:
    from dashboard.user.habits import Habits
    from dashboard.views.words.tour import Tour
    from engine.archive import ExportResult, ImportPlan
    from engine.supervisor.client import Client, CommandReply

T = TypeVar("T")
PATIENCE_S = 10.0
"""How long to wait for an outcome before the command is reported as queued."""
HAND_OVER_S = 0.0001
"""How long the event loop releases the interpreter after a frame, for the thread that writes it, in seconds."""
READ_ONLY = "refused: this dashboard is read-only; open it without --readonly to change the team"
READ_ONLY_FILE = "refused: you may read this team, not change it; its owner lets you write {}"
READ_ONLY_TAB = "refused: this tab is read-only; `quarterdeck serve --role operator` allows changes"


class Deck(TimeTravel):
    """An app on the database of one team."""

    in_browser = False
    """Whether the operator uses a browser, without access to paths, programs, trust and engines of this machine."""
    tip: Cell | None = None
    """The current tip, or an empty cell; None if tips are off."""
    tour: "Tour | None" = None
    """The tour, while it is shown."""
    offer: Cell | None = None
    """The offer of the tour; it takes precedence over tips."""
    habits: "Habits"
    """Settings that the user has made in earlier sessions."""

    def __init__(self, db: Path, *, readonly: bool, feed: Feed, clock: Callable[[], int]) -> None:
        super().__init__(db, feed, clock)
        self.next_path: Path | None = None
        """The database to open after this app exits."""
        self._may_command = can_command(db)
        self.readonly = readonly or not self._may_command
        self.drafts: dict[str, str] = {}
        """Texts that were typed and not applied yet, by purpose."""
        self.begun_on: dict[str, int] = {}
        """Generation of the agent when the editing of its spec began, by key of the draft."""
        self.undoable: list[tuple[str, ...]] = []
        """Ids of this session's commands that can be undone; commands of one bulk change form one entry."""
        self._undos: set[str] = set()
        """Ids of commands that undid a change: to undo one of them redoes that change."""

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

    @property
    def cursor_position(self) -> Offset:
        """Position of the text cursor, where an input method shows its composition.

        Computed here, because Textual updates it when the text changes but not when the widget moves.
        """
        line = self.focused if self.screen_stack else None
        offset: Offset = getattr(line, "cursor_screen_offset", Offset())
        return offset

    @cursor_position.setter
    def cursor_position(self, offset: Offset) -> None:
        pass

    def action_leave(self) -> None:
        """Quit."""
        raise NotImplementedError

    def should_paint(self) -> bool:
        """Return whether to paint a frame at once, as the answer to a key; True counts as painted."""
        return False

    @property
    def is_answering(self) -> bool:
        """Whether a key was pressed that has no frame yet."""
        return False

    def can_write(self) -> bool:
        """Return whether changes are allowed; if not, warn why."""
        if self.in_past:
            refusal = fill_keys(PAST_REFUSAL)
        else:
            refusal = self._explain_read_only() if self.readonly else self._explain_file_loss()
        if refusal:
            self.say(refusal, "warn")
        return not refusal

    def _explain_file_loss(self) -> str:
        """Return why the file cannot be changed, if it was deleted or replaced; else an empty text."""
        try:
            self.feed.check_same_file()
        except (FileLost, ReadRowsLost):
            return f"refused: {self.feed.trouble}"
        return ""

    def _explain_read_only(self) -> str:
        """Return why this dashboard is read-only."""
        if not self._may_command:
            return READ_ONLY_FILE.format(f"{self.path}-inbox")
        return READ_ONLY_TAB if self.in_browser else READ_ONLY

    def has_local_access(self, request: str) -> bool:
        """Return whether files and programs of this machine may be used; if not, warn why.

        Args:
            request: The request, and its alternative, such as `a path; <export:x> exports to the browser`.
        """
        if self.in_browser:
            self.say(f"not in a browser: {fill_keys(request)}", "warn")
        return not self.in_browser

    def set_theme(self, name: str | None) -> None:
        """Change the theme, to the next one if no name is given."""
        names = [*THEMES]
        if name is not None and name not in THEMES:
            self.say(f"there is no theme {name!r}; there are {', '.join(names)}", "warn")
            return
        now = next(key for key, theme in THEMES.items() if theme.name == self.theme)
        theme_name = name or names[(names.index(now) + 1) % len(names)]
        self.theme = THEMES[theme_name].name
        if self.in_browser:
            self.habits.remember_theme(theme_name)
        where = "" if self.in_browser else settings_path_text()
        self.say(f'{theme_name} · to keep it: theme = "{theme_name}" in {where}' if where else theme_name)

    def open_database(self, path: Path) -> None:
        """Exit, and open another database; the engine of this one keeps running."""
        if self.has_local_access("another database"):
            self.next_path = path
            self.exit(0)

    def send_command(
        self,
        command: Command | None,
        receive: "Callable[[CommandReply], None] | None" = None,
        *,
        failed: Callable[[], None] = do_nothing,
    ) -> None:
        """Send a command, show its outcome and pass it to `receive`; if it cannot be sent, call `failed`."""
        if command is not None and self.can_write():
            self.say(f"… {command.type.replace('_', ' ')}", "muted")

            def announce(outcome: "CommandReply") -> None:
                self._report_outcome(command, outcome)
                if receive is not None:
                    receive(outcome)

            self.run_in_thread(
                partial(self._send, command), announce, (StoreError, CoreError), "not sent: ", failed=failed
            )

    def _client(self) -> "Client":
        from engine.platform.sender import sender_of
        from engine.supervisor.client import Client  # needed only for changes

        self.feed.check_same_file()
        return Client(self.path, sender=sender_of("quarterdeck dashboard"))

    def _send(self, command: Command) -> "CommandReply":
        """Runs in a thread."""
        return self._client().perform(command, PATIENCE_S if is_alive(self.path) else 0.0)

    def _report_outcome(self, command: Command, outcome: "CommandReply") -> None:
        way_back = self._track_undo([command], [outcome])
        cell = describe_outcome(
            command, outcome.status, outcome.seq, summary=outcome.summary, reason=outcome.reason, way_back=way_back
        )
        self.say(cell.text, cell.tone)

    def _track_undo(self, commands: Sequence[Command], outcomes: "Sequence[CommandReply]") -> str:
        """Update what `u` undoes next, and return the hint for it.

        An undo is itself undone only if no earlier change is left: otherwise a second press would redo the change, and
        earlier ones could not be reached. A new change, even one without an undo, drops the redo, as in an editor.
        """
        applied = [pair for pair in zip(commands, outcomes, strict=True) if pair[1].status == "applied"]
        if not applied:
            return ""
        undone = {reply.result.get("undone") for command, reply in applied if isinstance(command, Undo)}
        takes_back = bool(undone) and undone.isdisjoint(self._undos)
        undone_ids = undone | self._undos
        self.undoable = [ids for ids in self.undoable if undone_ids.isdisjoint(ids)]
        done = [reply.command_id for command, reply in applied if can_be_undone(command)]
        if takes_back:
            self._undos.update(done)
        if not done or (takes_back and self.undoable):
            return fill_keys(UNDO_PREVIOUS_HINT) if done else ""
        newest = done[-MAX_UNDOABLE:]
        self.undoable.append(tuple(newest))
        some = f", the newest {len(newest):,} can be undone" if len(newest) < len(done) else ""
        return some + fill_keys(REDO_HINT if undone else UNDO_HINT)

    def send_commands(
        self, bulk: Bulk, commands: Sequence[Command], *, failed: Callable[[], None] = do_nothing
    ) -> None:
        """Send several commands and show their outcomes in one line; if they cannot be sent, call `failed`."""
        if commands and self.can_write():
            self.say(f"… {len(commands):,} changes", "muted")
            announce = partial(self._report_outcomes, bulk, commands)
            self.run_in_thread(
                partial(self._send_all, commands), announce, (StoreError, CoreError), "not sent: ", failed=failed
            )

    def _send_all(self, commands: Sequence[Command]) -> "list[CommandReply]":
        """Runs in a thread; after one timeout it waits for no further outcome."""
        client = self._client()
        left_s = PATIENCE_S if is_alive(self.path) else 0.0
        replies = []
        for command_id in client.send_all(commands):
            replies.append(client.wait(command_id, left_s))
            left_s = 0.0 if replies[-1].status == "pending" else left_s
        return replies

    def _report_outcomes(self, bulk: Bulk, commands: Sequence[Command], outcomes: "Sequence[CommandReply]") -> None:
        cell = spoken_all(bulk, outcomes, way_back=self._track_undo(commands, outcomes))
        self.say(cell.text, cell.tone)

    def undo(self, command_id: str | None = None) -> None:
        """Undo a command, or the last change of this session; the engine refuses it if the object has changed since."""
        if command_id is not None:
            self.send_command(Undo(command_id=command_id))
        elif not self.undoable:
            self.say(fill_keys(NOTHING_TO_UNDO), "muted")
        elif self.can_write():
            # Popped before the outcome is known, so that a second press undoes the change before.
            last = self.undoable.pop()
            failed = partial(self.undoable.append, last)
            undoes = [Undo(command_id=command_id) for command_id in reversed(last)]
            if len(undoes) == 1:
                self.send_command(undoes[0], failed=failed)
            else:
                self.send_commands(Bulk("Undo", "undone", tuple(undoes)), undoes, failed=failed)

    def export(self, target: Path) -> None:
        from engine.archive import ArchiveError, export_archive  # needed only for exports

        def announce(done: "ExportResult") -> None:
            self.say(f"✓ exported as of seq {done.seq:,} to {done.path}, {size(done.bytes)}", "busy")

        self.say("… exporting", "muted")
        errors = (ArchiveError, StoreError, OSError)

        def exporting() -> "ExportResult":
            self.feed.check_same_file()
            return export_archive(self.path, target)

        self.run_in_thread(exporting, announce, errors, "not exported: ")

    def ask_upload(self) -> None:
        """Ask the browser to upload a file."""

    def plan_import(self, archive: Path, receive: "Callable[[ImportPlan | str], None]") -> None:
        """Plan an import in a thread; pass the plan, or a one-line error, to `receive`."""
        from engine.archive import ArchiveError, plan_import  # needed only for imports
        from engine.trusted_code.trust import user_list

        def looking() -> "ImportPlan | str":
            try:
                return plan_import(archive, self.path, user_list())
            except (ArchiveError, CoreError, StoreError, OSError) as error:
                return str(error).split("\n", 1)[0]

        self.run_in_thread(looking, receive, ())

    @property
    def environment(self) -> Mapping[str, str]:
        """Environment variables that name the user's editor and pager."""
        return os.environ

    def untrusted_references(self, references: Sequence[str]) -> list[str]:
        """Return the references that this user does not trust for this database; blocks if there are any."""
        from engine.trusted_code.trust import TrustError, needs_trust, user_list  # needed only for code

        allowed = user_list() if references else None
        try:
            return list(references) if allowed is None else needs_trust(allowed, references, self.feed.state, self.path)
        except TrustError:
            return list(references)

    def trust_code(self, references: Sequence[str], path: Path, sha256: str) -> bool:
        """Add code to the list that this user trusts for this database; on failure show why and return False.

        From a browser nothing is added: code that is not on the list is refused.
        """
        from engine.errors import EngineError  # needed only for code
        from engine.trusted_code.trust import TrustError, grant, user_list

        if self.in_browser:
            new = self.untrusted_references(references)
            return not new or self.has_local_access(f"{', '.join(new[:3])} is not trusted; trust it in a shell first")
        try:
            if references and (allowed := user_list()) is not None:
                grant(allowed, references, self.feed.state, db=self.path, path=path, sha256=sha256)
        except (TrustError, EngineError) as error:
            self.say(f"not trusted: {error}", "error")
            return False
        return True

    def begin(self) -> None:
        """Begin to paint; called once the first screen has its size."""
        raise NotImplementedError

    def begin_tour(self) -> None:
        """Start the tour."""
        raise NotImplementedError

    def quit_app(self, *, stop_engine: bool) -> None:
        """Quit; stop the engine first if `stop_engine`."""
        if not stop_engine:
            self.exit(0)
            return

        token = self.feed.engine.token if self.feed.engine is not None else None

        def stopping() -> None:
            client = self._client()
            client.perform(StopEngine(token=token), PATIENCE_S)

        self.run_in_thread(stopping, lambda _: self.exit(0), (StoreError, CoreError), "not stopped: ")


class LiveScreen:
    """Mixin of every screen and dialog: it shows the team as of the last redraw."""

    has_begun = True
    """False until it can handle keys."""
    holds = False
    """Whether the screen below is not redrawn while this one is on top."""
    typed_ahead: list[events.Key]
    """Keys that arrived before `has_begun`."""
    _deferred: Sequence[Callable[[], None]] = ()
    """Callbacks that wait for the frame of a key."""

    def take_breakpoints(self) -> None:
        """Set the size classes before the first frame; Textual sets them after it, so that the layout would jump."""
        assert isinstance(self, Screen)
        breakpoints = (self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS)
        for cells, steps in zip(self.app.size, breakpoints, strict=True):
            self.add_class(*[name for least, name in sorted(steps or []) if cells >= least][-1:])

    def on_idle(self) -> None:
        self.paint_answer()

    def paint_answer(self) -> None:
        """Paint the effect of a key at once: Textual's timer may take two of its periods."""
        assert isinstance(self, Screen)
        if not self.is_current or not isinstance(self.app, Deck):
            return
        if paint_now(self, self.app.should_paint):
            time.sleep(HAND_OVER_S)
            self.call_next(self.run_deferred)

    def after_frame(self, do: Callable[[], None]) -> None:
        """Call `do` after the frame that answers a key; at once if there is no such key."""
        assert isinstance(self, Screen)
        if isinstance(self.app, Deck) and self.app.is_answering:
            self._deferred = [*dict.fromkeys([*self._deferred, do])]
        else:
            do()

    def run_deferred(self) -> None:
        """Run the callbacks that waited for the frame of a key."""
        callbacks, self._deferred = self._deferred, ()
        for callback in callbacks:
            callback()

    def replay_keys(self) -> None:
        """Post the keys again that arrived before `has_begun`."""
        assert isinstance(self, Screen)
        ahead, self.typed_ahead = self.typed_ahead, []
        for key in ahead:
            self.app.post_message(events.Key(key.key, key.character))

    def update_view(self, view: ViewState) -> None:
        """Redraw; called when the team has changed."""

    def update_clock(self, view: ViewState) -> None:
        """Redraw; called in place of `update_view` when only the clock has changed."""
        self.update_view(view)

    def update_engine(self, view: ViewState) -> None:
        """Show whether an engine runs, if the header is hidden; called with `update_view`."""

    def update_time_bar(self, view: ViewState) -> None:
        """Redraw the time bar, if there is one."""


class IgnoreStaleResize(MessagePump):
    """Mixin of screens: drops resize events whose size is not the current size of the terminal.

    After a layout, a screen sends itself its size once more. With two sizes in the queue, as from a window that opens,
    each layout would send the other size again without end.
    """

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Resize) or event.size == self.app.size:
            await super().on_event(event)


class ClosesOnce(IgnoreStaleResize):
    """Mixin of modal screens: a second click or key must not close the screen below."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close this screen if it is on top."""
        assert isinstance(self, Screen)
        return Screen.dismiss(self, result) if is_on_top(self) else AwaitComplete()


def is_on_top(screen: Screen[Any]) -> bool:
    """Tell whether a screen is on top; Textual's `is_current` also holds for a visible screen below."""
    return screen.app.screen_stack[-1:] == [screen]


def deck_of(widget: Widget) -> Deck:
    """Return the app of a widget."""
    assert isinstance(widget.app, Deck)
    return widget.app
