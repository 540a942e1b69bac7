"""A few lines that appear and disappear, such as a step of the tour, once there is room for them."""

from collections.abc import Sequence

from dashboard.views.lines import Line
from dashboard.widgets.lines import Lines


class Card(Lines):
    """Show lines that were put down before the card had its size."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._put: Sequence[Line] = ()

    def put(self, lines: Sequence[Line]) -> None:
        """Show these lines, now or when there is room."""
        self._put = lines
        self.show(lines)

    def on_resize(self) -> None:
        super().on_resize()
        self.show(self._put)
