"""When a picture is drawn again that stands still, while nothing happens: after as long as it has stood still."""

from dashboard.views.view_state import ViewState

MAX_REST_MS = 4_000
"""At the latest after this long: what moves by the minute, such as `3 min ago`, is no later than that."""


class Stillness:
    """One picture; note when it is drawn, and whether that changed it."""

    def __init__(self) -> None:
        self._drawn_ms = self._moved_ms = 0

    def is_due(self, view: ViewState, *, quiet: bool, every_ms: int = 0) -> bool:
        """Tell whether it is to be drawn.

        Args:
            quiet: Whether nothing but the clock has changed since it was drawn.
            every_ms: The shortest time between two drawings in any case.
        """
        rest_ms = min(MAX_REST_MS, self._drawn_ms - self._moved_ms) if quiet else 0
        return view.is_due(self._drawn_ms + max(every_ms, rest_ms))

    def record_draw(self, view: ViewState, *, moved: bool) -> None:
        """Note that it was drawn, and whether it looks different now, or something had happened."""
        self._drawn_ms = view.wall_ms
        if moved:
            self._moved_ms = view.wall_ms
