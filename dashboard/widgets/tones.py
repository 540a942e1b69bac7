"""From tones to colours: what every widget of ours paints with, and the one place where its text is cleaned."""

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.widget import Widget

from dashboard.clean import clean
from dashboard.theme import TONES
from dashboard.views.rows import Cell

if TYPE_CHECKING:
    _Base = Widget
else:
    _Base = object  # Textual takes the CSS of the first base that is a widget, so that this may not be one

TONE_CLASSES = {*(f"tone--{tone}" for tone in TONES), "row--selected", "row--away", "cell--fresh"}
"""The component classes that a widget with tones has."""


def tone_css(widget: str) -> str:
    """Return the rules that give the tones of a widget class their colours."""
    rules = [f"{widget} > .tone--{tone} {{ color: $tone-{tone}; }}" for tone in TONES]
    return "\n".join(
        [
            *rules,
            f"{widget} > .tone--accent, {widget} > .tone--strong, {widget} > .tone--attention {{ text-style: bold; }}",
            f"{widget} > .row--selected {{ background: $selected; }}",
            f"{widget} > .row--away {{ background: $selected-away; }}",
            f"{widget} > .cell--fresh {{ color: $fresh; text-style: bold; }}",
        ]
    )


class Toned(_Base):
    """Mixed into a widget: paints cells in the colours of their tones."""

    LEAD_TONE = "faint"
    """The tone of what stands before a cell."""
    _base: Style | None = None

    @property
    def rich_style(self) -> Style:
        """The widget's own style; Textual mixes it anew from all ancestors at each call, as dear as a row."""
        if self._base is None:
            self._base = super().rich_style
        return self._base

    def notify_style_update(self) -> None:
        self._base = None
        super().notify_style_update()

    def tone(self, name: str) -> Style:
        """Return what a tone changes of the widget's own style."""
        return self.get_component_rich_style(f"tone--{name}", partial=True) if name in TONES else Style.null()

    def painted(self, cells: Iterable[Cell], base: Style, *, gap: str = "  ") -> list[Segment]:
        """Return cells one after the other, cleaned, with a gap between them."""
        segments: list[Segment] = []
        for cell in cells:
            if segments:
                segments.append(Segment(gap, base))
            if cell.lead:
                segments.append(Segment(clean(cell.lead), base + self.tone(self.LEAD_TONE)))
            segments.append(Segment(clean(cell.text), base + self.tone(cell.tone)))
        return segments


@lru_cache(4096)
def fit(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` cleaned and exactly `width` cells wide; what is too long ends in `…`."""
    text = clean(text)
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    blank = " " * (width - length)
    return blank + text if right else text + blank
