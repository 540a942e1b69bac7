"""Dialogs about the engine: start one, show the leader and hand over, and keep it or stop it on quit."""

import shlex
from collections.abc import Iterable
from functools import partial

from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input

from dashboard.deck.live_screen import is_on_top
from dashboard.dialogs.dialog import Answer, ChoiceDialog, Dialog, DialogText
from dashboard.engines.process import EngineDidNotStart, engine_at_work, start_engine
from dashboard.views.drawing.rows import Cell, Choice
from dashboard.views.header import can_hand_over, leading_lines, paused_runs, restart_lines
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.parsers import Mistyped, parse_duration_s
from dashboard.widgets.fields import Field
from engine.core.commands import HandOver
from store import StoreError

GRACE_S, LONGEST_GRACE_S = 2.0, 600.0


class EngineDialog(Dialog, ModalScreen[object]):
    """Show what a new engine would continue; enter starts it."""

    BUTTON_LABEL = "Start"
    NEEDS_ENGINE = False

    def title_line(self) -> str:
        return "Start an engine"

    def begin(self) -> None:
        view = self.deck.view
        self.text_of("details").show(restart_lines(view.state, view.situation))
        self.query_one("#confirm", Button).focus()

    def confirm(self) -> None:
        if not is_on_top(self):
            return
        deck, info = self.deck, self.deck.view.situation.engine
        takeover = info is not None and info.hung

        def start() -> int:
            started = start_engine(deck.path, *["--takeover"] * takeover)
            started.leave()
            leader = engine_at_work(deck.path)  # another engine may have been first
            return started.process.pid if leader is None else leader.pid

        def announce(pid: int) -> None:
            stays = f"✓ engine {pid} is at work, and stays when this screen is closed"
            deck.messages.say(stays + paused_runs(deck.feed.state), "busy")

        self.app.pop_screen()
        deck.messages.say("… starting an engine", "muted")
        deck.background.run_in_thread(start, announce, (EngineDidNotStart, StoreError, OSError))


class LeadingDialog(Dialog):
    """Show the leader; with a standby, the first button hands over."""

    BUTTON_LABEL = "Hand over"

    def __init__(self, grace: str | None = None, *, hands_over: bool = False) -> None:
        super().__init__()
        self._grace, self._hands_over = grace, hands_over

    def title_line(self) -> str:
        return "Hand over to the standby engine" if self._hands_over else "The leading engine"

    def compose_body(self) -> Iterable[Widget]:
        yield DialogText(id="details")
        field = Field("grace", id="grace", text=self._grace or f"{GRACE_S:g}s", placeholder="2s")
        field.add_class("-first")
        yield field

    def begin(self) -> None:
        able = can_hand_over(self.deck.view.situation) and not self.deck.access.readonly
        self.query_one("#grace-field").display = able
        self.query_one("#confirm", Button).display = able or self._hands_over
        self.query_one("#confirm" if self._hands_over and able else "#decline", Button).focus()
        self.update_view(self.deck.view)

    def update_view(self, view: ViewState) -> None:
        self.text_of("details").show(leading_lines(view.state, view.situation))

    def build_command(self) -> Answer:
        info = self.deck.view.situation.engine
        if info is None or not can_hand_over(self.deck.view.situation):
            raise Mistyped("no engine stands by; start one: quarterdeck engine --standby")
        grace_s = parse_duration_s(self.query_one("#grace", Input).value or f"{GRACE_S:g}")
        if grace_s is not None and grace_s > LONGEST_GRACE_S:
            raise Mistyped(f"the engine waits for {LONGEST_GRACE_S:g} s at most before it hands over")
        return HandOver(token=info.token, grace_s=GRACE_S if grace_s is None else grace_s)


class LeaveDialog(ChoiceDialog, ModalScreen[object]):
    """Ask whether the engine keeps running."""

    BUTTON_LABEL = "Quit"
    NEEDS_ENGINE = False

    def title_line(self) -> str:
        return "Quit. What about the engine?"

    def begin(self) -> None:
        feed = self.deck.feed  # not the view, which may show a past moment
        pid = feed.engine.pid if feed.engine is not None else "?"
        runs = len(feed.state.runs)
        text = f"engine {pid} works on {pluralize(runs, 'open run')}" if runs else f"engine {pid} waits for requests"
        back = f"quarterdeck --db {shlex.quote(str(self.deck.path))}"
        lines = [Cell(text), Cell(back, "accent", "come back with  ")]
        if self.deck.tip is not None:
            lines.append(Cell("quarterdeck init my-team", "accent", "a team of yours "))
        self.text_of("details").show(lines)
        self.text_of("would").show_any([])
        self.offer(
            (
                Choice("go on", "leave it running", "it works without a screen"),
                Choice("stop", "stop it", "cleanly; open runs go on with the next engine"),
            )
        )

    def confirm(self) -> None:
        leave = partial(self.deck.exit, 0)
        if self.chosen == "stop":
            self.deck.commands.stop_engine(leave)
        else:
            leave()
