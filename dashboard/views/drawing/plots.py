"""Character graphics: meters, sparklines, plots with an axis.

All are pure functions of numbers and a width in cells. A braille cell holds two samples of four levels.
"""

from collections.abc import Sequence
from math import ceil

from dashboard.views.drawing.lines import Line, Span, join_spans, pad

FILLED, HALF, REST = "━", "╸", "─"
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LEFT, _RIGHT = (0x40, 0x44, 0x46, 0x47), (0x80, 0xA0, 0xB0, 0xB8)
"""Bits of one to four dots from the base line up, in the left and in the right column of a braille cell."""
_TOPS = (1, 1.5, 2, 3, 4, 5, 6, 8)
"""Possible ends of an axis, times a power of ten."""


def meter(share: float, width: int, *, tone: str = "busy", rest: str = "line") -> tuple[Span, Span]:
    """Return a share from 0 to 1 as `━━━╸───`, with a resolution of half a cell."""
    halves = round(max(0.0, min(1.0, share)) * width * 2)
    filled = FILLED * (halves // 2) + (HALF if halves % 2 else "")
    return Span(filled, tone), Span(REST * (width - len(filled)), rest)


def spark(values: Sequence[float], width: int, *, full_value: float | None = None) -> str:
    """Return the newest samples as a line of braille, the newest at the right; 0 is the base line.

    Args:
        values: Samples, the oldest first; two per cell.
        full_value: The value of full height; the largest of the samples by default.
    """
    return area(values, width, 1, full_value=full_value, base=True)[0]


def area(
    values: Sequence[float], width: int, height: int, *, full_value: float | None = None, base: bool = False
) -> list[str]:
    """Return the newest samples as a filled area, `height` lines of braille from the top.

    Args:
        values: Samples, the oldest first; two per cell.
        height: In lines; each has four levels.
        full_value: The value of full height; the largest of the samples by default.
        base: Draw 0 as a dot on the base line.
    """
    newest = list(values[-2 * width :]) if width else []
    blank = [-1.0] * (2 * width - len(newest))
    top = (max(newest, default=0.0) if full_value is None else full_value) or 1.0
    steps = [_level(value, top, 4 * height, base=base) for value in (*blank, *newest)]
    return [
        "".join(
            _braille(steps[at] - 4 * row, steps[at + 1] - 4 * row)  # levels above the base of this line
            for at in range(0, 2 * width, 2)
        )
        for row in reversed(range(height))
    ]


def _level(value: float, top: float, levels: int, *, base: bool) -> int:
    if value < 0:
        return 0
    level = ceil(value / top * levels - 1e-9)
    return max(1 if base or value > 0 else 0, min(levels, level))


def _braille(left: int, right: int) -> str:
    if left <= 0 and right <= 0:
        return " "
    dots = (_LEFT[min(left, 4) - 1] if left > 0 else 0) | (_RIGHT[min(right, 4) - 1] if right > 0 else 0)
    return chr(0x2800 | dots)


_LEFT_DOT, _RIGHT_DOT = (0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08)
"""Bits of the dot at each level from the base line up, in the left and in the right column."""


def curve(values: Sequence[float], width: int, height: int, *, full_value: float) -> list[str]:
    """Return the newest samples as a line, `height` lines of braille from the top; 0 is not drawn.

    Args:
        values: Samples, the oldest first; two per cell.
        height: In lines; each has four levels.
        full_value: The value of full height.
    """
    newest = list(values[-2 * width :]) if width else []
    levels = [0] * (2 * width - len(newest)) + [
        _level(value, full_value or 1.0, 4 * height, base=False) for value in newest
    ]
    return [
        "".join(_dots(levels[at] - 4 * row, levels[at + 1] - 4 * row) for at in range(0, 2 * width, 2))
        for row in reversed(range(height))
    ]


def _dots(left: int, right: int) -> str:
    dots = (_LEFT_DOT[left - 1] if 0 < left <= 4 else 0) | (_RIGHT_DOT[right - 1] if 0 < right <= 4 else 0)
    return chr(0x2800 | dots) if dots else " "


def bar(share: float, *, max_level: int = 8) -> str:
    """Return a share from 0 to 1 as one block `▁` to `█`; blank only for 0."""
    eighths = ceil(max(0.0, min(1.0, share)) * max_level - 1e-9)
    return _EIGHTHS[eighths]


def axis_top(maximum: float) -> float:
    """Return the end of an axis that holds `maximum`: 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten."""
    if maximum <= 0:
        return 1.0
    power = 1.0
    while maximum > 8 * power:
        power *= 10
    while maximum <= power / 10 * 8:
        power /= 10
    return next((step * power for step in _TOPS if step * power >= maximum), 10 * power)


def plot(
    values: Sequence[float],
    width: int,
    height: int,
    *,
    top: float,
    labels: Sequence[str],
    tones: Sequence[str],
    over: Sequence[float] = (),
    stack: Sequence[tuple[str, Sequence[float]]] = (),
) -> list[Line]:
    """Return an area with its axis at the left.

    Args:
        values: Samples, the oldest first; two per cell.
        width: In cells, axis included.
        top: Value at the top of the axis.
        labels: Labels of the axis from top to bottom, spread over the height.
        tones: Styles of the lines from bottom to top, spread over the height.
        over: Samples that are drawn as a line over the area.
        stack: The parts of the area from bottom to top, each with its style and its samples.
    """
    label_width = max(map(len, labels), default=0)
    plot_width = max(0, width - label_width - 2)
    lines = []
    label_at = {round(index * (height - 1) / max(1, len(labels) - 1)): text for index, text in enumerate(labels)}
    overlay = curve(over, plot_width, height, full_value=top)
    for row, dots in enumerate(area(values, plot_width, height, full_value=top, base=True)):
        tone = tones[min(len(tones) - 1, (height - 1 - row) * len(tones) // height)]
        label = Span(pad(label_at.get(row, ""), label_width, right=True) + " ", "faint")
        axis = Span("┤" if row in label_at else "│", "line")
        value = top * (height - 1 - row + 0.5) / height
        tones_of_cells = stack_tones(stack, plot_width, value) if stack else [tone] * plot_width
        lines.append(Line((label, axis, *_lay_over(dots, overlay[row], tones_of_cells))))
    return lines


def stack_tones(stack: Sequence[tuple[str, Sequence[float]]], width: int, value: float) -> list[str]:
    """Return for each cell the style of the part that reaches a value, or of the highest part."""
    tones = [stack[0][0]] * width
    sums = [0.0] * (2 * width)
    for tone, samples in stack:
        newest = samples[-2 * width :]
        for place, sample in enumerate(newest, 2 * width - len(newest)):
            if sample > 0:
                if sums[place] < value:
                    tones[place // 2] = tone
                sums[place] += sample
    return tones


def _lay_over(below: str, overlay: str, tones: Sequence[str]) -> tuple[Span, ...]:
    """Return a line of braille with another one drawn over it in its own style."""
    cells = zip(below, overlay.ljust(len(below)), tones, strict=True)
    return join_spans((under, tone) if over == " " else (over, "plot-p95") for under, over, tone in cells)
