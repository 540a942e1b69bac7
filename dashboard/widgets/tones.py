"""Converts tones to styles, and cleans text: every widget paints through this module."""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from dashboard.clean import clean
from dashboard.user.theme import BOLD_TONES, DARK, THEMES, coarse, few_colours
from dashboard.views.drawing.rows import Cell

if TYPE_CHECKING:
    _Base = Widget
else:
    _Base = object  # Textual takes the CSS of the first base that is a widget, so that this may not be one

_NONE = Style.null()
MAX_CHARACTERS = 2_000
"""Characters of a text that a line can show; the rest is cut off before cleaning."""


@cache
def _palette(theme: str, *, few: str) -> dict[str, Style]:
    """Return the colours of a theme by tone, and those of rows: chosen, chosen elsewhere, fresh, heading.

    Component classes would do the same through CSS, for a tenth of the time until the first frame is there.
    """
    chosen = next((candidate for candidate in THEMES.values() if candidate.name == theme), DARK)
    chosen = coarse(chosen, few) if few else chosen
    colours = chosen.variables
    tones = {name.removeprefix("tone-"): colour for name, colour in colours.items() if name.startswith("tone-")}
    return {
        **{
            name: Style(color=colour, bgcolor=colours.get(f"ground-{name}"), bold=True if name in BOLD_TONES else None)
            for name, colour in tones.items()
        },
        "bold": Style(bold=True),
        "selected": Style(bgcolor=colours["selected"]),
        "away": Style(bgcolor=colours["selected-away"]),
        "fresh": Style(color=colours["fresh"], bold=True),
        "raised": Style(bgcolor=chosen.surface),
        "heading": Style(color=colours["tone-muted"], bgcolor=chosen.surface),
    }


class Mixed(dict[str, Style]):
    """A style combined with each tone, cached: adding styles costs more than drawing a cell."""

    def __init__(self, base: Style, widget: "Toned") -> None:
        super().__init__()
        self._base = base
        self._widget = widget

    def __missing__(self, tone: str) -> Style:
        style = self[tone] = self._base + self._widget.tone(tone)
        return style


class Toned(_Base):
    """Mixed into a widget: paints cells in the colours of their tones."""

    LEAD_TONE = "faint"
    """The tone of the lead of a cell."""
    _base: Style | None = None
    _tones: dict[str, Style] | None = None
    _mixed: dict[Style, Mixed] | None = None

    @property
    def rich_style(self) -> Style:
        """The widget's own style, cached: Textual mixes it from all ancestors at each call, as costly as a row."""
        if self._base is None:
            self._base = super().rich_style
        return self._base

    def notify_style_update(self) -> None:
        self._base = self._tones = self._mixed = None
        super().notify_style_update()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def tone(self, name: str) -> Style:
        """Return the style of a tone, or of several separated by spaces; unknown tones change nothing."""
        if self._tones is None:
            self._tones = dict(_palette(self.app.theme, few=few_colours(self.app)))
        style = self._tones.get(name)
        if style is None:
            style = self._tones[name] = sum((self._tones.get(part, _NONE) for part in name.split()), _NONE)
        return style

    def on(self, base: Style) -> Mixed:
        """Return `base` with each tone on it."""
        if self._mixed is None:
            self._mixed = {}
        mixed = self._mixed.get(base)
        if mixed is None:
            mixed = self._mixed[base] = Mixed(base, self)
        return mixed

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters without that for ANSI colours, which tones do not use."""
        filters = super().get_line_filters()
        if few_colours(self.app):
            return filters
        return [line_filter for line_filter in filters if type(line_filter) is not ANSIToTruecolor]

    def clip_strips(self, strips: list[Strip], crop: Region) -> list[Strip]:
        """Return lines as `render_lines` gives them to Textual.

        Without borders and paddings of CSS: no widget of tones has any, and looking for them takes long.
        """
        for each in self.get_line_filters():
            background = self.background_colors[1]
            strips = [strip.apply_filter(each, background) for strip in strips]
        cropped = crop.column_span != (0, self.size.width)
        return [strip.crop(*crop.column_span) for strip in strips] if cropped else strips

    def to_segments(self, cells: Iterable[Cell], base: Style, *, gap: str = "  ") -> list[Segment]:
        """Return the segments of cells, cleaned, with a gap between them."""
        segments: list[Segment] = []
        on = self.on(base)
        for cell in cells:
            if segments:
                segments.append(Segment(gap, base))
            if cell.lead:
                segments.append(Segment(clean(cell.lead[:MAX_CHARACTERS]), on[self.LEAD_TONE]))
            for text, tone in cell.spans or ((cell.text, cell.tone),):
                segments.append(Segment(clean(text[:MAX_CHARACTERS]), on[tone]))
        return segments


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` cleaned and exactly `width` cells wide; what is too long ends in `…`."""
    return _fit(text[: 3 * max(width, 0) + 4], width, right)  # of three characters at most two take no cell


@lru_cache(4096)
def _fit(text: str, width: int, right: bool) -> str:
    text = clean(text)
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    blank = " " * (width - length)
    return blank + text if right else text + blank
