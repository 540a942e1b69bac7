"""Panes that can be resized by mouse or key; their sizes are saved as habits of the user."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from textual.binding import Binding
from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget

from dashboard.deck.deck import deck_of
from dashboard.views.arrangement import PANE_MIN_COLUMNS
from dashboard.widgets.lines import Lines

MIN_WIDTH, MIN_HEIGHT = 24, 4
"""Smallest size of the resized pane and of what is left beside it, in cells."""
WIDTH_STEP = 3
"""Cells by which a key moves a vertical hairline."""


class Grip(NamedTuple):
    """A hairline that can be moved."""

    at: str
    """Id of the pane of lines at whose edge the hairline is."""
    sizes: str
    """Id of the pane that is resized."""
    edge: Literal["left", "top"]
    before: bool = False
    """Whether the resized pane is left of or above the hairline; else right of or below it."""

    def size_at(self, sized: Widget, at: Offset) -> int:
        """Return the size of the pane with the hairline at a cell of the screen."""
        assert isinstance(sized.parent, Widget)
        own, area = sized.region, sized.parent.region
        if self.edge == "left":
            size, whole, least = at.x - own.x if self.before else own.right - at.x, area.width, MIN_WIDTH
        else:
            size, whole, least = at.y - own.y if self.before else own.bottom - at.y, area.height, MIN_HEIGHT
        return max(least, min(size, whole - least))


SIZE_KEYS = (
    Binding("ctrl+left", "size('left', -1)", "line to the left", show=False),
    Binding("ctrl+right", "size('left', 1)", "line to the right", show=False),
    Binding("ctrl+up", "size('top', -1)", "line up", show=False),
    Binding("ctrl+down", "size('top', 1)", "line down", show=False),
)


class PaneSizes:
    """The sizes of the panes of a screen.

    Args:
        redraw: Draws the screen again, after a pane has another size.
    """

    def __init__(self, screen: Screen[Any], grips: Sequence[Grip], redraw: Callable[[], None]) -> None:
        self._screen, self._grips, self._redraw = screen, grips, redraw

    def chosen_size(self, grip: Grip) -> int | None:
        """Return the size that the user chose for a pane; None for its default."""
        return deck_of(self._screen).habits.panes.get(self._name_of(grip))

    def _name_of(self, grip: Grip) -> str:
        return f"{type(self._screen).__module__.rpartition('.')[2]}.{grip.sizes}"

    def is_open(self, grip: Grip) -> bool:
        """Return whether the panes of a grip are side by side now."""
        return self._screen.size.width >= PANE_MIN_COLUMNS and not self._screen.has_class("-prompt")

    def apply(self) -> None:
        """Apply the sizes that the user chose, to panes that are side by side."""
        for grip in self._grips if self._screen.display else ():  # a page may be left before it is laid out
            for lines in self._screen.query(f"#{grip.at}").results(Lines):
                lines.grip = grip.edge if self.is_open(grip) else ""
            self.set_size(grip, self.chosen_size(grip) if self.is_open(grip) else None)

    def set_size(self, grip: Grip, cells: int | None) -> None:
        """Set the size of a pane in cells; None restores that of the style sheet."""
        sized, upright = self._screen.query_one(f"#{grip.sizes}"), grip.edge == "left"
        rules = ("width", "max_width") if upright else ("height", "max_height")
        if cells is not None:
            size = self._screen.size
            whole, least = (size.width, MIN_WIDTH) if upright else (size.height, MIN_HEIGHT)
            cells = min(cells, whole - least)
        for rule in rules:
            if cells is None and sized.styles.inline.has_rule(rule):
                sized.styles.clear_rule(rule)
            elif cells is not None:
                setattr(sized.styles, rule, cells)

    def drag(self, dragged: Lines.Dragged) -> None:
        """Move a hairline to the mouse; a double click resets it."""
        grip = next((grip for grip in self._grips if grip.at == dragged.lines.id), None)
        if grip is not None:
            self._move(grip, dragged.at, save=dragged.done)

    def step(self, edge: str, by: int) -> None:
        """Move the first visible vertical (`left`) or horizontal (`top`) hairline."""
        for grip in self._grips:
            line = self._screen.query_one(f"#{grip.at}")
            if grip.edge == edge and self.is_open(grip) and line.display and line.region:
                step = Offset(by * WIDTH_STEP, 0) if edge == "left" else Offset(0, by)
                self._move(grip, line.region.offset + step, save=True)
                return

    def _move(self, grip: Grip, at: Offset | None, *, save: bool) -> None:
        cells = None if at is None else grip.size_at(self._screen.query_one(f"#{grip.sizes}"), at)
        deck_of(self._screen).habits.size(self._name_of(grip), cells, save=save)
        self.apply()
        self._screen.call_after_refresh(self._redraw)

    def reset(self) -> None:
        """Reset every pane of the screen to its default size."""
        for grip in self._grips:
            self._move(grip, None, save=True)
