"""Panes whose hairlines can be moved, by mouse or by key; their sizes are remembered for the next dashboard."""

from typing import ClassVar, Literal, NamedTuple

from textual.binding import Binding
from textual.geometry import Offset
from textual.widget import Widget

from dashboard.actions.action import ActionScreen
from dashboard.views.arrangement import PANE_MIN_COLUMNS
from dashboard.widgets.lines import Lines

MIN_WIDTH, MIN_HEIGHT = 24, 4
"""What every pane keeps, the one that is sized and what is left beside it."""
WIDTH_STEP = 3
"""Cells by which a key moves an upright hairline."""


class Grip(NamedTuple):
    """A hairline that can be moved."""

    at: str
    """Id of the pane of lines at whose edge it is."""
    sizes: str
    """Id of the pane that becomes larger or smaller."""
    edge: Literal["left", "top"]
    before: bool = False
    """Whether the pane that is sized stands before the hairline; else behind it."""

    def size_at(self, sized: Widget, at: Offset) -> int:
        """Return how large the pane is once the hairline has gone to a cell of the screen."""
        assert isinstance(sized.parent, Widget)
        own, area = sized.region, sized.parent.region
        if self.edge == "left":
            size, whole, least = at.x - own.x if self.before else own.right - at.x, area.width, MIN_WIDTH
        else:
            size, whole, least = at.y - own.y if self.before else own.bottom - at.y, area.height, MIN_HEIGHT
        return max(least, min(size, whole - least))


class Sized(ActionScreen):
    """A screen whose panes can be made larger and smaller."""

    GRIPS: ClassVar[tuple[Grip, ...]] = ()
    BINDINGS = [
        Binding("ctrl+left", "size('left', -1)", "line to the left", show=False),
        Binding("ctrl+right", "size('left', 1)", "line to the right", show=False),
        Binding("ctrl+up", "size('top', -1)", "line up", show=False),
        Binding("ctrl+down", "size('top', 1)", "line down", show=False),
    ]

    def user_size(self, grip: Grip) -> int | None:
        """Return the size that the user gave a pane; None where it has its own."""
        return self.deck.habits.panes.get(self._name_of(grip))

    def _name_of(self, grip: Grip) -> str:
        return f"{type(self).__module__.rpartition('.')[2]}.{grip.sizes}"

    def is_open(self, grip: Grip) -> bool:
        """Tell whether its panes stand beside each other now."""
        return self.size.width >= PANE_MIN_COLUMNS and not self.has_class("-prompt")

    def apply_sizes(self) -> None:
        """Make panes as large as the user wants them, where they stand beside each other."""
        for grip in self.GRIPS if self.display else ():  # a page may be left before it is laid out
            for lines in self.query(f"#{grip.at}").results(Lines):
                lines.grip = grip.edge if self.is_open(grip) else ""
            self.set_size(grip, self.user_size(grip) if self.is_open(grip) else None)

    def set_size(self, grip: Grip, cells: int | None) -> None:
        """Make one pane so large; None lets the style sheet say it."""
        sized, upright = self.query_one(f"#{grip.sizes}"), grip.edge == "left"
        rules = ("width", "max_width") if upright else ("height", "max_height")
        if cells is not None:
            whole, least = (self.size.width, MIN_WIDTH) if upright else (self.size.height, MIN_HEIGHT)
            cells = min(cells, whole - least)
        for rule in rules:
            if cells is None and sized.styles.inline.has_rule(rule):
                sized.styles.clear_rule(rule)
            elif cells is not None:
                setattr(sized.styles, rule, cells)

    def on_lines_dragged(self, event: Lines.Dragged) -> None:
        """Move a hairline to the mouse; put it back where it was at first after a double click."""
        grip = next((grip for grip in self.GRIPS if grip.at == event.lines.id), None)
        if grip is not None:
            self._move(grip, event.at, save=event.done)

    def action_size(self, edge: str, by: int) -> None:
        """Move the first upright, or the first level, hairline that is there."""
        for grip in self.GRIPS:
            line = self.query_one(f"#{grip.at}")
            if grip.edge == edge and self.is_open(grip) and line.display and line.region:
                step = Offset(by * WIDTH_STEP, 0) if edge == "left" else Offset(0, by)
                self._move(grip, line.region.offset + step, save=True)
                return

    def _move(self, grip: Grip, at: Offset | None, *, save: bool) -> None:
        cells = None if at is None else grip.size_at(self.query_one(f"#{grip.sizes}"), at)
        self.deck.habits.size(self._name_of(grip), cells, save=save)
        self.apply_sizes()
        self.call_after_refresh(self.update_now)

    def reset_sizes(self) -> None:
        """Let every pane of this screen have its own size again."""
        for grip in self.GRIPS:
            self._move(grip, None, save=True)
