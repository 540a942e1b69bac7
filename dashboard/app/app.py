"""The Textual app: a client that reads the files of one team and sends commands.

It decides nothing. Ten times a second it folds what the feed has read, and redraws the visible screens; actions of an
operator become commands in the inbox, and their outcome a message of one line. Screens: `dashboard/deck/places.py`.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.text import Text
from textual import events
from textual.app import App
from textual.binding import Binding
from textual.command import CommandPalette
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input

from dashboard import dialogs
from dashboard.actions import give_keys
from dashboard.app.guide import Guide
from dashboard.app.navigation import visit
from dashboard.app.observation import observe
from dashboard.clean import clean
from dashboard.deck.deck import Deck
from dashboard.deck.live_screen import LiveScreen
from dashboard.deck.pace import FLUSH_S, KEY_S, STEP_S
from dashboard.deck.places import HOME, places, screen_class_of
from dashboard.deck.terminal import TerminalSignals
from dashboard.deck.touring import Touring
from dashboard.deck.view_state import make_view_state
from dashboard.frame.frame import Frame
from dashboard.frame.table_screen import TableScreen
from dashboard.reading.feed import Feed
from dashboard.user.habits import Habits
from dashboard.user.settings import Settings
from dashboard.user.theme import DARK, THEMES, coarse, few_colours
from dashboard.views.view_state import ViewState
from dashboard.views.words.news import News, silent_words
from dashboard.views.words.place import Place
from dashboard.views.words.tips import DISMISS
from dashboard.widgets.textual_seams import is_output_waiting, write_to_terminal
from dashboard.widgets.typing import EnterPassed, InOrder, KeyPassed, LineInput
from engine.platform.garbage import collect_all, collect_young

WARM_S = 1.0
INTERRUPT_S = 3.0
"""A second ctrl+c within this time quits."""
COLLECT_S = 60.0
"""How often a full garbage collection runs, in seconds; it takes about 50 ms, and automatic ones are off."""
_WARMED = (
    "engine.supervisor.client",
    "dashboard.frame.page_screen",
    "dashboard.app.palette",
    "dashboard.views.graph",
    "engine.core.preview",
)
_DASHBOARD = Path(__file__).resolve().parents[1]


def warm() -> None:
    """Import modules of the first dialog, page and command; called in a thread after the first frame."""
    for name in _WARMED:
        import_module(name)
    dialogs.load()


def wall_ms() -> int:
    """Now, in UTC milliseconds."""
    return time.time_ns() // 1_000_000


class QuarterdeckApp(Deck):
    """The dashboard of one database."""

    TITLE = "Quarterdeck"
    CSS_PATH = _DASHBOARD / "frame" / "frame.tcss"
    BINDINGS = [
        Binding("ctrl+q", "leave", "quit", show=False, priority=True),
        Binding("ctrl+c", "interrupt", "how to quit", show=False, priority=True),
        Binding("ctrl+z", "suspend", "suspend", show=False),
        # In the past these are the time bar's, whatever a screen does with them otherwise.
        Binding("comma", "step_past(-1)", "event before", show=False, priority=True),
        Binding("full_stop", "step_past(1)", "next event", show=False, priority=True),
        Binding("p", "play_past", "play", show=False, priority=True),
        Binding("space,right", "go_on_touring", "next step", show=False, priority=True),
        Binding("escape", "leave_tour", "leave the tour", show=False, priority=True),
        Binding(DISMISS, "dismiss_tip", "another suggestion", show=False),
    ]

    def __init__(
        self,
        db: Path,
        *,
        readonly: bool = False,
        ask_engine: bool = False,
        tips: bool = False,
        debug: bool = False,
        place: Place | None = None,
        clock: Callable[[], int] = wall_ms,
        feed: Feed | None = None,
        settings: Settings | None = None,
        habits: Habits | None = None,
    ) -> None:
        """Look at `db` through `feed`, by default one of its own; see `dashboard.app.running` for the rest."""
        super().__init__(db, readonly=readonly, feed=feed or Feed(db), clock=clock, habits=habits)
        self.settings = settings or Settings()
        self._terminal = TerminalSignals(self._tell_terminal, self.settings.call)
        self._interrupted_s = -INTERRUPT_S
        self._ask_engine = ask_engine
        self._guide = Guide() if tips else None
        self._shows_defects = debug
        self.opens_at = place
        """The place to open once the team has been read; None after that."""
        self._news = News()
        self._frame_key: tuple[object, ...] = ()
        self._stale = False
        self.feed.is_answering = lambda: self.pace.is_answering
        self.tour = Touring(self.habits, self.messages, observe=partial(observe, self), show=self.show)
        self._frames: dict[str, Frame] = {}
        self._behind_enter: list[events.Key] | None = None
        """Keys that arrived after `enter` while it is opening a row or line; None if it is not."""
        self._has_begun = False
        self._unpainted = ExitStack()
        """Suspends painting until the first screen has been laid out and drawn."""
        give_keys(self.settings.keys, self.settings.key_signs)
        self.view = self._make_view()

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

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DARK.variables

    def _apply_theme_variables(self) -> None:
        """Set the theme before the first style sheet is read: set later, all styles would be computed twice."""
        few = few_colours(self)
        for theme in THEMES.values():
            self.register_theme(coarse(theme, few) if few else theme)
        chosen = THEMES[self.habits.theme or self.settings.theme]
        self.set_reactive(App.theme, chosen.name)
        self.set_class(chosen.dark, "-dark-mode", update=False)
        self.set_class(not chosen.dark, "-light-mode", update=False)
        self.add_class(f"-theme-{chosen.name}", update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    def get_default_screen(self) -> Screen[Any]:
        self._apply_theme_variables()  # no earlier: until now it was not known what it is drawn on
        return self._frame(HOME)

    def on_mount(self) -> None:
        self._unpainted.enter_context(self.batch_update())
        if self.settings.is_reduced:
            self.animation_level = "none"  # what screens and Textual itself ask
        self.set_keymap(dict(self.settings.keys))
        if self.settings.problem:
            self.messages.say(self.settings.problem, "warn")
        self.feed.start()
        self.set_interval(FLUSH_S, self._tick)
        self.set_timer(WARM_S, lambda: self.run_worker(warm, thread=True))
        self.set_interval(COLLECT_S, self.collect)
        if not (self.is_headless or self.access.in_browser):
            # Ended at once, it would leave the terminal in raw mode, reporting the mouse to the shell.
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit, 128 + signal.SIGTERM)

    def watch_app_focus(self, is_in_front: bool) -> None:
        """Focus a screen that was opened while the terminal had no focus: Textual restores only the previous focus."""
        if is_in_front and self.screen_stack and self.screen.focused is None:
            self.screen.focus_next()

    def collect(self) -> None:
        """Collect reference cycles, such as nodes of old styles: half a megabyte each time a screen is reopened."""
        if self.pace.key_is_first:
            self.set_timer(KEY_S, self.collect)
        else:
            collect_all()

    def on_unmount(self) -> None:
        self._terminal.leave()
        self.past.playback.leave()
        self.feed.stop()

    def _tell_terminal(self, text: str) -> None:
        if not (self.is_headless or self.access.in_browser):
            write_to_terminal(self, text)

    async def _tick(self) -> None:
        """Fold and redraw in steps, so that a key that arrives in between is answered first."""
        self._unpainted.close()
        if self._opening is not None:
            return
        if not self.pace.is_answering:
            for screen in self._find_visible_screens():
                screen.key_frames.run_deferred()  # a key that changed nothing else had no frame
        changed = await self.pace.fold(self.feed)
        self._stale |= changed and not self.past.is_shown
        if self._is_free and self.update_surroundings(changed=False):
            view = self._make_view(self.view)
            await self.pace.give_way()
            if self._is_free:
                await self._redraw_in_steps(view)
        elif not changed:
            return
        await self.pace.give_way()
        if not self.pace.key_is_first:
            collect_young()

    @property
    def _is_free(self) -> bool:
        """Whether the screens can be redrawn now: neither a key nor the terminal has to be waited for."""
        # No redraw while a screen opens: its object could be gone. There is no screen while the app closes.
        waits = self._opening is not None or self.pace.key_is_first or is_output_waiting(self)
        return bool(self.screen_stack) and not waits

    def begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self.flush()  # the first frame shows what has been read by now, and none comes before it
        self._unpainted.close()

    def flush(self) -> None:
        """Fold events that have arrived, and redraw the visible screens if something has changed."""
        if self.screen_stack and self._opening is None and self.update_surroundings(changed=self.feed.advance(STEP_S)):
            self._redraw(self._make_view(self.view))

    def update_surroundings(self, *, changed: bool) -> bool:
        """Update everything beside the state; return whether a redraw is due."""
        now_ms = self.clock()
        moved, in_past = self.past.advance(now_ms), self.past.is_shown
        self.history.update(now_ms)
        self.tour.follow(self.view, now_ms)
        self.messages.expire(now_ms)
        if self.messages.may_replace(now_ms):
            caught_up = self.feed.has_polled and not self.feed.behind
            news = self._news.of(self.feed.state, self.view.counts, caught_up=caught_up)
            if news is not None and not in_past:
                self.messages.say(news.text, news.tone)
        if self._guide is not None:
            self.tip = self._guide.look(self, now_ms)
        self._stale |= moved if in_past else changed or self.feed.live != self.view.live
        return self._frame_key_at(now_ms) != self._frame_key or (self._stale and self._should_redraw)

    def _frame_key_at(self, now_ms: int) -> tuple[object, ...]:
        """Return the values whose change is drawn at once."""
        feed = self.feed
        return now_ms // 1000, feed.engine and feed.engine.alive, feed.trouble, feed.opening, self._moment_key()

    def _redraw(self, view: ViewState) -> None:
        self.show(by_clock=self._set_view(view))
        self._open_place()

    async def _redraw_in_steps(self, view: ViewState) -> None:
        """Redraw the body, then the frame; a key that arrives in between is answered first."""
        by_clock = self._set_view(view)
        for screen in [*self._find_visible_screens()]:
            if by_clock or not isinstance(screen, Frame):
                self._show(screen, by_clock=by_clock)
            elif screen.is_there:
                screen.update_body(view)
                await self.pace.give_way()
                if screen.is_there:
                    screen.surroundings.update(self.view)
                    screen.update_engine(self.view)
        self._open_place()

    def _set_view(self, view: ViewState) -> bool:
        """Replace the view; return whether only the clock has changed."""
        old_frame_key, self._frame_key = self._frame_key, self._frame_key_at(self.clock())
        by_clock = (
            old_frame_key[1:] == self._frame_key[1:] and view.counts.counts_as(self.view.counts) and not self._stale
        )
        self._stale = False
        self.pace.note_redraw()
        self.view = view
        if not self.past.is_shown:
            silent, stuck = (silent_words(view.state, view.counts, kind) for kind in ("silent", "stuck"))
            self._terminal.update(self._team_name(), len(view.counts.needs_person), silent=silent, stuck=stuck)
        return by_clock

    def _open_place(self) -> None:
        """Open the requested place once the team has been read."""
        situation = self.view.situation
        if self.opens_at is not None and situation.is_loaded and not situation.opening:
            place, self.opens_at = self.opens_at, None
            visit(self, place)

    @property
    def _should_redraw(self) -> bool:
        """Whether a redraw between two full seconds is allowed: with reduced motion it is not."""
        return self.animation_level != "none" and self.pace.should_redraw

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable the keys of the time bar only in the past, those of the tour in it; neither in input fields."""
        is_free = isinstance(self.screen, Frame) and not isinstance(self.focused, Input)
        if action in ("step_past", "play_past"):
            return self.past.is_shown and is_free
        if action in ("go_on_touring", "leave_tour"):
            return self.tour.takes(action) and is_free
        return super().check_action(action, parameters)

    def action_step_past(self, by: int) -> None:
        self.past.step_events(by)

    def action_play_past(self) -> None:
        self.past.play()

    def action_go_on_touring(self) -> None:
        self.tour.go_on()

    def action_leave_tour(self) -> None:
        self.tour.leave()

    def action_dismiss_tip(self) -> None:
        if self._guide is not None:
            self._guide.dismiss(self.clock())

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.MouseDown):
            self.pace.note_key()
            if self._guide is not None:
                self._guide.note_activity(self.clock())
        comes_up = isinstance(event, events.Key) and event.is_forwarded
        if self.screen_stack or not isinstance(event, events.InputEvent):  # ignore keys while the app closes
            await super().on_event(event)
        if comes_up and self.screen_stack and isinstance(self.screen, LiveScreen):
            self.screen.key_frames.paint()  # its action has run

    def _moment_key(self) -> tuple[int, int, int]:
        """Return the shown moment and the speed of playback, whose changes are drawn at once."""
        past = self.past.playback.moment(0, 0)
        if past is None or past.speed:
            return (-1, 0, 0 if past is None else past.speed)
        return (past.seq, past.at_ms, 0)

    def show(self, *, by_clock: bool = False) -> None:
        for screen in self._find_visible_screens():
            self._show(screen, by_clock=by_clock)

    def _show(self, screen: LiveScreen, *, by_clock: bool) -> None:
        if by_clock:
            screen.update_clock(self.view)
        else:
            screen.update_view(self.view)
        screen.update_engine(self.view)

    def show_time(self) -> None:
        self.flush()
        for screen in self._find_visible_screens():
            if isinstance(screen, Frame):
                screen.surroundings.update_time_bar(self.view)

    def _find_visible_screens(self) -> Iterator[LiveScreen]:
        """Yield the visible screens, the topmost first; none while the app closes."""
        for screen in reversed(self.screen_stack) if self.is_running else ():
            if isinstance(screen, LiveScreen) and screen.has_begun:
                yield screen
            if not screen.is_modal or (isinstance(screen, LiveScreen) and screen.holds):
                break

    def _make_view(self, before: ViewState | None = None) -> ViewState:
        return make_view_state(
            self.feed,
            self.past.playback,
            db=self.path,
            wall_ms=self.clock(),
            readonly=self.access.readonly,
            in_browser=self.access.in_browser,
            before=before,
        )

    def action_go(self, place: str, *, filtered: str | None = None, selected: str | None = None) -> None:
        if self.screen.is_modal or place not in places():
            return
        frame = self._frame(place)
        while len(self.screen_stack) > (1 if place == HOME else 2):
            self.pop_screen()
        if len(self.screen_stack) == 1 and place != HOME:  # the first screen is always there
            self.push_screen(frame)
        elif self.screen is not frame:
            self.switch_screen(frame)
        self.call_after_refresh(self._arrive, frame, filtered, selected)

    def open(self, kind: str, key: str) -> None:
        self.push_screen(screen_class_of("pages", kind)(key))

    @property
    def _opening(self) -> LiveScreen | None:
        """The topmost screen if it is not mounted yet, else None."""
        for top in self.screen_stack[-1:]:
            if isinstance(top, LiveScreen) and not top.has_begun:
                return top
        return None

    def _frame(self, place: str) -> Frame:
        if place not in self._frames:
            self._frames[place] = screen_class_of("screens", place)()
            self.install_screen(self._frames[place], place)  # else a screen that is left is closed for good
        return self._frames[place]

    def _arrive(self, frame: Frame, filtered: str | None, selected: str | None) -> None:
        if filtered is not None:
            frame.finding.seek(filtered)
        if selected is not None and isinstance(frame, TableScreen):
            frame.finding.seek("")
            frame.select_row(selected)

    async def on_key(self, event: events.Key) -> None:
        """Route keys that were typed ahead to the input line, dialog or page that is opening."""
        line = self.focused
        if self._behind_enter is not None:
            self._behind_enter.append(event)
            event.prevent_default()
        elif self._opening is not None:
            self._opening.typed_ahead.append(event)
            event.prevent_default()
        elif isinstance(line, LineInput):
            if not line.has_seen(event) and await line.take(event):
                event.prevent_default()
        elif event.key == "enter" and line is not None and isinstance(self.screen, Frame):
            # A widget posts the chosen row to its screen; without waiting, later keys would overtake that message.
            self._behind_enter = []
            self.call_later(self._enter_passes, line)

    def on_paste(self, event: events.Paste) -> None:
        """Forward a paste that bubbled up to the input line or area that has just opened."""
        line = self.focused
        if isinstance(line, InOrder):
            line.post_message(events.Paste(event.text))

    def _enter_passes(self, chosen_in: Widget) -> None:
        """Post `EnterPassed` behind the messages that `enter` made a widget post to its screen."""
        if not chosen_in.post_message(EnterPassed()):
            self.on_enter_passed()

    def on_enter_passed(self) -> None:
        """Post the waiting keys: they are for the screen that has been opened."""
        behind, self._behind_enter = self._behind_enter or [], None
        for key in behind:
            self.post_message(events.Key(key.key, key.character))

    def on_key_passed(self, event: KeyPassed) -> None:
        """Release keys typed after a bound one; a line or dialog that it closed is gone by now."""
        event.typed_in.note_passed(event)

    def report_bug(self) -> None:
        """Report a bug of the dashboard in one line; the team keeps running."""
        if self._shows_defects:
            super().report_bug()
        else:
            self.panic(Text(f"{self.defect}; where: --debug"))

    @property
    def defect(self) -> str:
        """The bug of the dashboard that ended it, in one line; empty for none."""
        text = f"the dashboard has a defect, the team keeps running: {type(self.bug).__name__}: {self.bug}"
        return clean(text) if self.bug is not None else ""

    def _team_name(self) -> str:
        roots = self.feed.state.roots
        return roots[0].name if roots else self.path.stem

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            from dashboard.app.palette import Palette  # no first frame waits for it

            self.push_screen(Palette())

    def action_interrupt(self) -> None:
        """Say how to quit; quit when it is pressed again."""
        now_s = time.monotonic()
        if now_s - self._interrupted_s < INTERRUPT_S:
            self.action_leave()
        else:
            self._interrupted_s = now_s
            self.messages.say("ctrl+c again, or q, quits; the team keeps running", "muted")

    def action_suspend(self) -> None:
        """Suspend to the shell; `fg` comes back.

        The whole process group stops, as where a terminal does it: a shell waits as long as `make` runs on.
        """
        if self.access.has_local_access("a shell to go back to; <quit:q> quits"):
            with self.suspend():
                os.kill(0, signal.SIGSTOP)

    def action_leave(self) -> None:
        """Quit; where this program started the engine, ask first whether it goes on."""
        info = self.feed.engine
        asks = self._ask_engine and info is not None and info.alive
        # Before the first screen exists, the dialog would open below it.
        if (
            not asks
            or not isinstance(self.screen, Frame | ModalScreen)
            or isinstance(self.screen, dialogs.engine.LeaveDialog)
        ):
            self.exit(0)
        else:
            self.push_screen(dialogs.engine.LeaveDialog())
