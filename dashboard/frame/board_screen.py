"""A screen whose body is one drawing: graphs and timelines."""

from collections.abc import Iterable

from textual.widget import Widget

from dashboard.frame.frame import Frame
from dashboard.widgets.board import Board
from dashboard.widgets.lines import Lines


class BoardScreen(Frame):
    """Shows what a subclass draws on its board."""

    def body(self) -> Iterable[Widget]:
        yield Board(id="body")

    @property
    def board(self) -> Board:
        return self.query_one("#body", Board)

    def on_lines_resized(self, event: Lines.Resized) -> None:
        if event.lines is self.board:
            self.redraw_now()

    def redraw_now(self) -> None:
        """Redraw at once, even if the next redraw is not due yet."""
        self.forget()
        if self.is_current:
            self.update_view(self.deck.view)

    def forget(self) -> None:
        """Drop cached drawings, so that the next redraw makes them again."""
