"""Guides through the demo: records what the operator did, chooses the current tip, and opens the report.

Only `quarterdeck demo` has a guide, and a browser that shows its crew. It reads the app and changes nothing of the
team.
"""

from itertools import takewhile

from dashboard.deck.deck import Deck
from dashboard.frame.frame import Frame
from dashboard.views.drawing.rows import Cell
from dashboard.views.measures.task_times import split_by_swap, times_of
from dashboard.views.words.tips import SwapOutcome, TipContext, Tips, followable_tips
from engine.core.events import AgentSwapped
from engine.core.queries.team.figures import median
from engine.core.state import RunStatus, State

HANDS_OFF_MS = 15_000
"""The report opens by itself after so long without a key, in milliseconds."""

MIN_TASKS_SINCE_SWAP = 3
"""Tasks that must have ended since a swap before their duration is compared."""
CREW = "dashboard.demo."
"""Prefix of the references to code of the demo's crew."""


def is_demo(state: State) -> bool:
    """Return whether a team is one of the demo's."""
    return any(str(code).startswith(CREW) for spec in state.specs.values() for code in (spec.run, *spec.tools))


class Guide:
    """Records what was done since the demo was opened, and suggests what to try next."""

    def __init__(self, *, in_browser: bool = False, viewer: bool = False) -> None:
        self._tips = Tips(followable_tips(in_browser=in_browser, viewer=viewer))
        self._done: set[str] = set()
        self._seq: int | None = None
        self._since_ms = self._touched_ms = 0
        self._swapped_id: str | None = None
        self._opened = False
        self._looked_ms = self._asked_ms = 0

    def note_activity(self, now_ms: int) -> None:
        """Note that a key or the mouse was used."""
        self._touched_ms = now_ms

    def dismiss(self, now_ms: int) -> None:
        self._tips.dismiss(now_ms - self._asked_ms)

    def look(self, app: Deck, now_ms: int) -> Cell:
        feed = app.feed
        if feed.opening:
            return Cell("")
        if not self._since_ms:
            self._since_ms = self._touched_ms = self._looked_ms = now_ms
        if app.screen.is_modal:  # a suggestion that is being followed does not make way for the next one
            self._asked_ms += now_ms - self._looked_ms
        self._looked_ms = now_ms
        self._learn(app)
        self._open_report(app, now_ms)
        engine = feed.engine
        pid = engine.pid if engine is not None and engine.alive else None
        swap, undoable = self._swap(app), bool(app.commands.undoable)
        session = TipContext(
            feed.state,
            now_ms - self._asked_ms,
            self._since_ms,
            self._done,
            pid,
            in_past=app.past.is_shown,
            undoable=undoable,
            swap=swap,
        )
        return self._tips.of(session)

    def _learn(self, app: Deck) -> None:
        state, since = app.feed.state, self._seq
        self._seq = state.seq
        new = [] if since is None else takewhile(lambda entry: entry.seq > since, reversed(app.feed.recent))
        for entry in reversed(list(new)):
            self._done.add(str(entry.event.type))
            if isinstance(entry.event, AgentSwapped):
                self._swapped_id = entry.event.agent_id
        screen = app.screen
        if isinstance(screen, Frame) and screen.is_there:
            self._done.add(screen.PLACE or type(screen).__module__.rpartition(".")[2])
            if screen.id_at_cursor(whole=True) in {run.id for run in state.finished} and not screen.PLACE:
                self._done.add("report")
        if app.files.has_forked:
            self._done.add("fork")
        if app.past.is_shown:
            self._done.add("past")

    def _swap(self, app: Deck) -> SwapOutcome | None:
        """Return what the pane of the agent shows of its last swap: the medians before and after it."""
        agent = app.feed.state.agents.get(self._swapped_id or "")
        times = None if agent is None else times_of(agent, app.feed.recent)
        if agent is None or times is None or not times.swaps:
            return None
        before, after = split_by_swap(times)
        now_ms = median(after) if len(after) >= MIN_TASKS_SINCE_SWAP else None
        return SwapOutcome(agent.name, median(before), now_ms)

    def _open_report(self, app: Deck, now_ms: int) -> None:
        """Show the report of the first run that ends, once, unless the user is busy on another screen."""
        done = [run for run in app.feed.state.finished if run.ended_ms >= self._since_ms]
        if self._opened or not done:
            return
        self._opened = True
        at_rest = isinstance(app.screen, Frame) and bool(app.screen.PLACE) and not app.past.is_shown
        if at_rest and done[0].status is RunStatus.DONE and now_ms - self._touched_ms >= HANDS_OFF_MS:
            app.open("run", done[0].id)
