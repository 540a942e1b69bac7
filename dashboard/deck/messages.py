"""One-line messages to the operator, in place of the time bar's text."""

from collections.abc import Callable

from dashboard.views.drawing.rows import Cell

SHOWN_MS, UNDISTURBED_MS = 6_000, 2_000
"""How long a message stays, and how long before news may replace it, in milliseconds."""


class Messages:
    """The message of the moment.

    Args:
        clock: Now, in UTC milliseconds.
        show: Refreshes every visible screen.
    """

    def __init__(self, clock: Callable[[], int], show: Callable[[], None]) -> None:
        self._clock, self._show = clock, show
        self.current: Cell | None = None
        """Message shown in place of the time bar's text; None without a recent one."""
        self._said_ms = 0

    def say(self, text: str, tone: str = "") -> None:
        """Show one line."""
        self.current, self._said_ms = Cell(text, tone), self._clock()
        self._show()

    def warn(self, text: str) -> None:
        """Show a refusal or a warning."""
        self.say(text, "warn")

    def expire(self, now_ms: int) -> None:
        """Drop a message that has been shown for long enough."""
        if self.current is not None and not 0 <= now_ms - self._said_ms <= SHOWN_MS:
            self.current = None

    def may_replace(self, now_ms: int) -> bool:
        """Return whether news may be shown in place of the message, if there is one."""
        return self.current is None or now_ms - self._said_ms > UNDISTURBED_MS
