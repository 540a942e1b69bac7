"""Lines and areas for typing that show nothing but text, whatever was pasted into them or begins in them.

Rule: what they hold stays as it is (joiners belong to some languages); only what is drawn changes, cell by cell.
"""

from rich.cells import cell_len
from rich.segment import Segment
from textual.strip import Strip
from textual.widgets import Input, TextArea

from dashboard.clean import literal

HIDDEN = "·"


class TextLine(Input):
    """A line for typing."""

    def render_line(self, y: int) -> Strip:
        """Return what is drawn of it."""
        return tame(super().render_line(y))


class TextBox(TextArea):
    """Several lines for typing."""

    def render_line(self, y: int) -> Strip:
        """Return what is drawn of one of them."""
        return tame(super().render_line(y))


def tame(strip: Strip) -> Strip:
    """Return a strip of the same width in which every character is drawn as what it is, or as a dot."""
    segments = [*strip]
    shown = [_shown(one.text) for one in segments]
    if all(text == one.text for text, one in zip(shown, segments, strict=True)):
        return strip
    drawn = Strip(one if one.control else Segment(text, one.style) for text, one in zip(shown, segments, strict=True))
    # Signs that a joiner had made one are several now, and wider.
    return drawn.adjust_cell_length(strip.cell_length)


def _shown(text: str) -> str:
    """Return a text with as many dots in place of a character as Textual counts cells for it, which may be none."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if safe else HIDDEN * cell_len(one) for one, safe in literal(text))
