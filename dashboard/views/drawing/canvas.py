"""A canvas of cells: texts, and lines whose arms join to the north, east, south and west of a cell.

Only the visible part is drawn, so that the cost does not depend on the size of the picture.
"""

from collections.abc import Sequence

from rich.cells import cell_len

from dashboard.views.drawing.lines import Line, Span, join_spans

LIGHT, HEAVY = 1, 2
NORTH, EAST, SOUTH, WEST = 27, 9, 3, 1
"""Place values in base three: each arm is absent (0), light (1) or heavy (2)."""
_JOINED = " ╴╸╷┐┑╻┒┓╶─╾┌┬┭┎┰┱╺╼━┍┮┯┏┲┳╵┘┙│┤┥╽┧┪└┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋"
"""The character of each combination of arms."""
_DASHED = {"─": "╌", "│": "╎"}
_ARMS = (NORTH, EAST, SOUTH, WEST)


class Canvas:
    """A window of a larger plane, `width` by `height` cells from (`left`, `top`)."""

    def __init__(self, width: int, height: int, *, left: int = 0, top: int = 0) -> None:
        self.width, self.height = width, height
        self.left, self.top = left, top
        self._texts = [[" "] * width for _ in range(height)]
        self._tones = [[""] * width for _ in range(height)]
        self._arms: dict[tuple[int, int], list[int]] = {}
        self._dashed: set[tuple[int, int]] = set()

    def text(self, x: int, y: int, text: str, tone: str = "") -> int:
        """Write a text, with two cells for a wide character; return the x after its end."""
        row = y - self.top
        is_plain = text.isascii() and text.isprintable()
        for char in text:
            width = 1 if is_plain else cell_len(char)
            if width == 0:
                continue
            at = x - self.left
            if 0 <= row < self.height and at >= 0 and at + width <= self.width:
                self._texts[row][at], self._tones[row][at] = char, tone
                if width == 2:
                    self._texts[row][at + 1], self._tones[row][at + 1] = "", tone
            x += width
        return x

    def spans(self, x: int, y: int, spans: Sequence[Span], ground: str = "") -> int:
        """Write spans one after the other, each on the same ground."""
        for span in spans:
            x = self.text(x, y, span.text, f"{span.tone} {ground}" if ground else span.tone)
        return x

    def draw_across(self, y: int, x0: int, x1: int, tone: str, *, weight: int = LIGHT, dashed: bool = False) -> None:
        """Draw a horizontal line between the centres of two cells; where lines overlap, the heavier weight wins."""
        if not self.top <= y < self.top + self.height:
            return
        for x in range(max(x0, self.left), min(x1, self.left + self.width - 1) + 1):
            arms = (0, weight if x < x1 else 0, 0, weight if x > x0 else 0)
            self._join(x, y, arms if x0 < x1 else (0, weight, 0, weight), tone, dashed=dashed)

    def draw_down(self, x: int, y0: int, y1: int, tone: str, *, weight: int = LIGHT, dashed: bool = False) -> None:
        """Draw a vertical line between the centres of two cells."""
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
        """Draw the border of a box; `size` is its columns and rows, with the border."""
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
