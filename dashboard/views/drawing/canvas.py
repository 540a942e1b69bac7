"""A canvas of cells: texts, and lines whose arms join to the north, east, south and west of a cell.

What lies outside of the part that is looked at is not drawn, so that a picture of any size costs what is in sight.
"""

from collections.abc import Sequence

from rich.cells import cell_len

from dashboard.views.drawing.lines import Line, Span, join_spans

LIGHT, HEAVY = 1, 2
NORTH, EAST, SOUTH, WEST = 27, 9, 3, 1
"""Places of a base of three: an arm is absent, light or heavy."""
_JOINED = " ╴╸╷┐┑╻┒┓╶─╾┌┬┭┎┰┱╺╼━┍┮┯┏┲┳╵┘┙│┤┥╽┧┪└┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋"
"""The character of each combination of arms."""
_DASHED = {"─": "╌", "│": "╎"}
_ARMS = (NORTH, EAST, SOUTH, WEST)


class Canvas:
    """A part of a larger plane, `width` by `height` cells from (`left`, `top`)."""

    def __init__(self, width: int, height: int, *, left: int = 0, top: int = 0) -> None:
        self.width, self.height = width, height
        self.left, self.top = left, top
        self._texts = [[" "] * width for _ in range(height)]
        self._tones = [[""] * width for _ in range(height)]
        self._arms: dict[tuple[int, int], list[int]] = {}
        self._dashed: set[tuple[int, int]] = set()

    def text(self, x: int, y: int, text: str, tone: str = "") -> int:
        """Write a text whose characters take one cell each or, of wide ones, two; return where the next one begins."""
        row = y - self.top
        wide = 1 if text.isascii() and text.isprintable() else 0
        for char in text:
            room = wide or cell_len(char)
            if room == 0:
                continue
            at = x - self.left
            if 0 <= row < self.height and at >= 0 and at + room <= self.width:
                self._texts[row][at], self._tones[row][at] = char, tone
                if room == 2:
                    self._texts[row][at + 1], self._tones[row][at + 1] = "", tone
            x += room
        return x

    def spans(self, x: int, y: int, spans: Sequence[Span], ground: str = "") -> int:
        """Write spans one after the other, each on the same ground."""
        for span in spans:
            x = self.text(x, y, span.text, f"{span.tone} {ground}" if ground else span.tone)
        return x

    def across(self, y: int, x0: int, x1: int, tone: str, *, weight: int = LIGHT, dashed: bool = False) -> None:
        """Draw a line from the middle of one cell to the middle of another; of two weights the heavier stays."""
        if not self.top <= y < self.top + self.height:
            return
        for x in range(max(x0, self.left), min(x1, self.left + self.width - 1) + 1):
            arms = (0, weight if x < x1 else 0, 0, weight if x > x0 else 0)
            self._join(x, y, arms if x0 < x1 else (0, weight, 0, weight), tone, dashed=dashed)

    def down(self, x: int, y0: int, y1: int, tone: str, *, weight: int = LIGHT, dashed: bool = False) -> None:
        """Draw a line from the middle of one cell to the middle of another below it."""
        if not self.left <= x < self.left + self.width:
            return
        for y in range(max(y0, self.top), min(y1, self.top + self.height - 1) + 1):
            self._join(x, y, (weight if y > y0 else 0, 0, weight if y < y1 else 0, 0), tone, dashed=dashed)

    def _join(self, x: int, y: int, arms: tuple[int, int, int, int], tone: str, *, dashed: bool) -> None:
        place = (x - self.left, y - self.top)
        cell_arms = self._arms.get(place)
        if cell_arms is None:
            self._arms[place] = list(arms)
            if dashed:
                self._dashed.add(place)
        else:
            for side, arm in enumerate(arms):
                cell_arms[side] = max(cell_arms[side], arm)
            if not dashed:
                self._dashed.discard(place)
        self._tones[place[1]][place[0]] = tone

    def frame(self, x: int, y: int, size: tuple[int, int], tone: str, *, weight: int = LIGHT) -> None:
        """Draw the border of a box, `size` columns and rows with it."""
        columns, rows = size
        across, up = ("━", "┃") if weight == HEAVY else ("─", "│")
        corners = "┏┓┗┛" if weight == HEAVY else "┌┐└┘"
        self.text(x, y, corners[0] + across * (columns - 2) + corners[1], tone)
        self.text(x, y + rows - 1, corners[2] + across * (columns - 2) + corners[3], tone)
        for row in range(y + 1, y + rows - 1):
            self.text(x, row, up, tone)
            self.text(x + columns - 1, row, up, tone)

    def lines(self) -> list[Line]:
        rows = [row.copy() for row in self._texts]
        for (x, y), arms in self._arms.items():
            if rows[y][x] == " ":
                char = _JOINED[sum(place * arm for place, arm in zip(_ARMS, arms, strict=True))]
                rows[y][x] = _DASHED.get(char, char) if (x, y) in self._dashed else char
        return [
            Line(join_spans(zip(texts, tones, strict=True))) for texts, tones in zip(rows, self._tones, strict=True)
        ]
