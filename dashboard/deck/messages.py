"""One-line messages to the operator, in place of the time bar's text."""

from collections.abc import Callable

from dashboard.views.drawing.rows import Cell
from dashboard.widgets.textual_seams import DefectApp


class Messages(DefectApp):
    """An app that shows messages of one line."""

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__()
        self._clock = clock
        self.message: Cell | None = None
        """Message shown in place of the time bar's text; None without a recent one."""
        self._said_ms = 0

    def show(self) -> None:
        """Refresh every visible screen."""
        raise NotImplementedError

    def say(self, text: str, tone: str = "") -> None:
        """Show one line."""
        self.message, self._said_ms = Cell(text, tone), self._clock()
        self.show()
