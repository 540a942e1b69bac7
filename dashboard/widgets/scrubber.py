"""The time bar under every screen: shows the whole history and where the operator stands in it, and takes the mouse."""

from collections.abc import Sequence

from textual import events
from textual.message import Message

from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.rows import Cell
from dashboard.views.measures.time_bar_columns import TimeBar, time_bar
from dashboard.views.measures.time_bar_lines import column_under, columns_at, rows_at, time_bar_lines
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from store.journals.records import EventSpan


class Scrubber(Lines):
    """Show the time bar; post `Sought` when the mouse goes to a moment."""

    DEFAULT_CSS = """
    Scrubber { height: 1; width: 100%; }
    """

    class Sought(Message):
        """A moment was chosen by a click or a drag."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    class MessageClicked(Message):
        """The message in or above the bar was clicked."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._spans: Sequence[EventSpan] = ()
        self._cut: tuple[int, int] = (0, 0)
        self._bar: TimeBar | None = None
        self._rows = 1
        self._message_rows = 0
        """Rows of the message above the bar, or in its place."""
        self._dragged = False

    def show_time(self, view: ViewState, spans: Sequence[EventSpan], message: Cell | None) -> None:
        """Show the moment of a view in the history; `message` replaces the text of the bar."""
        width, rows = self.screen.size.width, rows_at(self.screen.size.height)
        engine = view.situation.engine
        stays = message is not None and message == view.banner and view.situation.trouble is None
        lines = time_bar_lines(
            self._columns(spans, columns_at(width, rows), rows),
            width=width,
            rows=rows,
            seq=view.state.seq,
            at_ms=view.state.at_ms,
            alive=engine is not None and engine.alive,
            past=view.past,
            notice=message,
            stays=stays,
        )
        self._rows = rows
        self._message_rows = (
            0 if message is None or not message.text else 1 if stays and rows == 1 else len(lines) - rows + 1
        )
        self._fit(lines)
        self.show(lines)

    def _columns(self, spans: Sequence[EventSpan], columns: int, rows: int) -> TimeBar:
        if self._bar is None or spans is not self._spans or self._cut != (columns, rows):
            self._spans, self._cut = spans, (columns, rows)
            self._bar = time_bar(spans, width=columns, rows=max(1, rows - 1))
        return self._bar

    def _fit(self, lines: Sequence[Line]) -> None:
        height = self.styles.height
        if height is None or height.value != len(lines):
            self.styles.height = len(lines)

    def _seek(self, event: events.MouseEvent) -> None:
        column = column_under(event.x, width=self.size.width, rows=self._rows)
        if self._bar is not None and (seq := self._bar.seq_at(column)):
            self.post_message(self.Sought(seq))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.y < self._message_rows:  # on the message above the bar, not on a moment
            self.post_message(self.MessageClicked())
            return
        self._dragged = True
        self.capture_mouse()
        self._seek(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged:
            self._seek(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._dragged = False
        self.release_mouse()
