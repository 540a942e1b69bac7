"""The team as it was when a run ended, read from the journal: the state has forgotten the tasks of that run since."""

from collections.abc import Callable

from dashboard.deck.deck import Deck
from dashboard.views.graph.model import COOL_MS
from dashboard.views.graph.nodes import Sight
from dashboard.views.measures.digest import make_digest
from dashboard.views.view_state import ViewState
from engine.core.state import RunSummary, State

READ_AGAIN_MS = 500
"""Time until a failed read is repeated, in milliseconds."""


class EndedRun:
    """Caches the last run that was requested.

    Args:
        deck: Reads the file.
        ready: Called when the requested run has been read.
    """

    def __init__(self, deck: Deck, ready: Callable[[], None]) -> None:
        self._deck, self._ready = deck, ready
        self._run_id = ""
        self._sight: Sight | None = None
        self._failed_ms = -READ_AGAIN_MS

    def sight(self, run_id: str, view: ViewState) -> Sight | None:
        """Return the team just before a run ended, all its work unfolded; None while it is read, or if unknown."""
        summary = view.state.summary(run_id)
        if summary is None:
            return None
        if run_id != self._run_id and view.is_due(self._failed_ms + READ_AGAIN_MS):
            self._run_id, self._sight = run_id, None
            self._read(summary)
        return self._sight if run_id == self._run_id else None

    def _read(self, summary: RunSummary) -> None:
        def receive(state: State) -> None:
            if summary.id == self._run_id and summary.id in state.runs:  # one that was imported ended in another file
                self._sight = Sight(
                    state=state, counts=make_digest(state), now_ms=summary.ended_ms + COOL_MS, idle=True
                )
                self._ready()

        def handle_failure() -> None:
            if summary.id == self._run_id:
                self._run_id, self._failed_ms = "", self._deck.view.wall_ms

        self._deck.background.read_state(summary.seq - 1, receive, on_failure=handle_failure)
