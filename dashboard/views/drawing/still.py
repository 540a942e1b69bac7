"""Schedules redraws of a picture while nothing happens: the longer it has not changed, the longer it rests."""

from dashboard.views.view_state import ViewState

MAX_REST_MS = 4_000
"""Longest rest, in milliseconds, and so the longest delay of texts such as `3 min ago`."""


class Stillness:
    """Records when one picture was drawn, and when that changed it."""

    def __init__(self) -> None:
        self._drawn_ms = self._moved_ms = 0

    def is_due(self, view: ViewState, *, quiet: bool, every_ms: int = 0) -> bool:
        """Return whether to draw it now.

        Args:
            quiet: Whether only the clock has changed since it was drawn.
            every_ms: Minimum time between two drawings in any case.
        """
        rest_ms = min(MAX_REST_MS, self._drawn_ms - self._moved_ms) if quiet else 0
        return view.is_due(self._drawn_ms + max(every_ms, rest_ms))

    def record_draw(self, view: ViewState, *, moved: bool) -> None:
        """Record a drawing; `moved` says whether it looks different, or was not `quiet`."""
        self._drawn_ms = view.wall_ms
        if moved:
            self._moved_ms = view.wall_ms
