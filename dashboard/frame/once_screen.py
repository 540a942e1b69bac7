"""A page whose text is made once, in a thread: an event, a comparison, a replay."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from dashboard.frame.frame import Frame
from dashboard.views.drawing.rows import Cell
from dashboard.views.view_state import ViewState
from dashboard.widgets.pane import Pane
from engine.core.errors import CoreError
from store import StoreError


class OnceScreen(Frame):
    """Shows the cells that `build_cells` returns."""

    FINDS = True
    WAITING: ClassVar[str] = "…"
    """Shown until they are built."""
    ERRORS: ClassVar[tuple[type[Exception], ...]] = (StoreError, CoreError)
    """Exceptions of `build_cells` that the page shows."""

    def __init__(self, subject_id: str) -> None:
        super().__init__(subject_id)
        self._cells: Sequence[Cell] = (Cell(self.WAITING, "muted"),)

    def body(self) -> Iterable[Widget]:
        yield Pane(id="body")

    def build_cells(self, now_ms: int) -> Sequence[Cell]:
        """Return the paragraphs of the page; called in a thread."""
        raise NotImplementedError

    def on_mount(self) -> None:
        now_ms = self.deck.view.present_ms
        self.deck.background.run_in_thread(lambda: self._build(now_ms), self._show_cells, ())

    def _build(self, now_ms: int) -> Sequence[Cell]:
        try:
            self.deck.feed.check_same_file()
            return self.build_cells(now_ms)
        except self.ERRORS as error:
            return [Cell(str(error), "error")]

    def _show_cells(self, cells: Sequence[Cell]) -> None:
        self._cells = cells
        self.update_now()

    def show(self, view: ViewState) -> None:
        self.query_one("#body", Pane).show(self._cells)
