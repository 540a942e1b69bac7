"""One-line notifications about runs that end."""

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import duration
from dashboard.views.words.keyed import fill_keys
from engine.core.records.values import preview
from engine.core.state import RunStatus, RunSummary, State

_SHOW_WHY = " · <runs:7> and enter show why"


class News:
    """Notices runs that end while the dashboard is open."""

    def __init__(self) -> None:
        self._last_id: str | None = None

    def of(self, state: State, *, caught_up: bool) -> Cell | None:
        """Return the news since the last call.

        Args:
            state: The team, as far as it is folded.
            caught_up: Whether the whole file is folded; until then nothing is news.
        """
        newest = state.finished[-1] if state.finished else None
        now = newest.id if newest is not None else ""
        if self._last_id is None:
            self._last_id = now if caught_up else None
            return None
        if now == self._last_id or newest is None:
            return None
        self._last_id = now
        return _describe_end(newest)


def _describe_end(run: RunSummary) -> Cell | None:
    """Describe the end of a run; None if it was cancelled, because the user knows."""
    title = preview(run.title, 24)
    if run.status is RunStatus.DONE:
        took = duration(run.ended_ms - run.started_ms)
        return Cell(f"✓ {title} is done after {took}{fill_keys(' · <runs:7> and enter show its output')}", "busy")
    if run.status is RunStatus.FAILED:
        return Cell(f"✕ {title} has failed{fill_keys(_SHOW_WHY)}", "error")
    if run.status is RunStatus.SKIPPED:
        return Cell(f"– {title} was skipped{fill_keys(_SHOW_WHY)}", "stopped")
    return None
