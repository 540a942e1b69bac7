"""Boxes of nodes in six sizes, by their rows: 9, 6, 4, 3, 2 and 1."""

from rich.cells import cell_len

from dashboard.views.drawing.canvas import HEAVY, LIGHT, Canvas
from dashboard.views.drawing.graph_layout import MAX_BARE_ROWS
from dashboard.views.drawing.lines import Span, cell_width, cut, cut_name, cut_path, fit_spans
from dashboard.views.drawing.plots import meter, spark
from dashboard.views.drawing.sections import wrap_end
from dashboard.views.graph.model import Node

SIZES = (9, 6, 4, 3, 2, 1)
TALKING = 9
"""Rows of a box with the last words, the tokens and the cost of its agent."""
TALL = 6
TALL_BOX_MIN_COLUMNS = 150
"""Minimum columns for tall boxes."""
MIN_WIDTH, BARE_MIN_WIDTH, MAX_WIDTH, TALKING_WIDTH = 10, 8, 34, 44
TALKING_MIN_WIDTH = 32
"""Minimum columns of a box with words, which change while boxes keep their place."""
MAX_WORDS_LINES = 3
_GAPS = {9: 0, 6: 0, 4: 0, 3: 0, 2: 1, 1: 0}
_MIN_METER_WIDTH = 3
"""Cells of the shortest meter."""
_BORDERS = {"busy": "busy-before", "done": "heat-3", "waiting": "heat-1", "idle": "line", "stopped": "line"}
"""Tones of borders by those of states; other states use their own tone."""
_GROUND = "raised"


def gap_of(size: int) -> int:
    """Return the rows between boxes of a size."""
    return _GAPS[size]


def natural_width(node: Node, size: int) -> int:
    """Return the columns of a box without any cut text."""
    name, took = cell_len(node.name), cell_len(node.took)
    if size == 1:
        right = _right_text(node)
        width = 5 + name + (2 + cell_len(right) if right else 0)
    elif size == 2:
        beside, figure = cell_len(_text_beside_name(node)), cell_len(node.figure)
        below = (_MIN_METER_WIDTH + 1 if node.share is not None else 0) + figure if figure else 0
        width = 5 + max(name + (2 + beside if beside else 0), below)
    elif size == 3:
        figure = cell_len(node.figure)
        width = max(
            6 + name, (6 + _MIN_METER_WIDTH + figure if node.share is not None else 4 + figure) if figure else 0
        )
    else:
        row = cell_len(_figure(node, size)) + (_MIN_METER_WIDTH + 1 if node.share is not None else 0)
        top = 2 + name + (2 + took if took and size >= TALL else 0)
        widest = {TALKING: TALKING_WIDTH - 4, TALL: 24}.get(size, 0)
        texts = (node.now[:76], node.words[:76], node.spent) if size == TALKING else (node.now[:76],)
        least = TALKING_MIN_WIDTH - 4 if size == TALKING and node.now else 0
        width = 4 + max(top, row, least, *(min(widest, cell_len(text)) for text in texts))
    max_width = TALKING_WIDTH if size == TALKING else MAX_WIDTH
    return max(MIN_WIDTH if size > MAX_BARE_ROWS else BARE_MIN_WIDTH, min(max_width, width))


def figure_width(node: Node, size: int) -> int:
    """Return the columns of a box with its whole figure, even if its name is cut."""
    figure = cell_len(_figure(node, size).replace(" of ", "/"))
    return max(MIN_WIDTH, min(MAX_WIDTH, figure + (5 if size <= MAX_BARE_ROWS else 4))) if size > 1 else MIN_WIDTH


def _right_text(node: Node) -> str:
    """Return the text beside the name in a box of one line."""
    if node.is_group:
        return node.figure if "/" in node.figure else node.took
    return node.took if node.is_awake else node.figure if node.figure != node.word else ""


def _text_beside_name(node: Node) -> str:
    """Return the text beside the name in a box of several lines, unless it equals the figure below."""
    return node.took if node.is_awake and node.took != node.figure else ""


def draw(canvas: Canvas, node: Node, place: tuple[int, int], size: tuple[int, int], *, selected: bool) -> None:
    """Draw a box at (x, y), `size` columns and rows."""
    x, y = place
    width, height = size
    ground = "selected" if selected else _GROUND if node.is_awake else ""
    if height <= MAX_BARE_ROWS:
        _draw_bare(canvas, node, place, size, ground, selected=selected)
        return
    tone = "accent" if selected else _border(node)
    canvas.frame(x, y, size, tone, weight=HEAVY if selected else LIGHT)
    if node.badge:
        canvas.text(x + width - 1 - cell_len(node.badge) - 1, y, node.badge, "accent bold")
    inner = width - 4
    rows = _rows(node, inner, height)
    for at, spans in enumerate(rows):
        canvas.text(x + 1, y + 1 + at, " " * (width - 2), ground)
        canvas.spans(x + 2, y + 1 + at, fit_spans(spans, inner), ground)
    if height == MAX_BARE_ROWS + 1:
        _draw_border_meter(canvas, node, (x, y + height - 1), width)


def _border(node: Node) -> str:
    return _BORDERS.get(node.tone, node.tone) if node.is_awake or node.tone in ("paused", "done") else "line"


def _name_spans(node: Node) -> tuple[Span, Span]:
    tone = "strong" if node.is_awake else "muted"
    return Span(f"{node.glyph} ", node.tone), Span(node.name, tone)


def _rows(node: Node, inner: int, height: int) -> list[list[Span]]:
    """Return the rows of a box inside its border."""
    glyph, label = _name_spans(node)
    name = [glyph, label._replace(text=cut_name(node.name, inner - cell_width([glyph])))]
    available = inner - cell_width(name)
    beside = _text_beside_name(node) if _figure(node, height) != node.took else ""
    if height != MAX_BARE_ROWS + 1 and beside and available >= cell_len(beside) + 2:
        name += [Span(" " * (available - cell_len(beside))), Span(beside, "muted")]
    if height == MAX_BARE_ROWS + 1:
        return [name]
    progress = _progress_spans(node, inner, height)
    if height == MAX_BARE_ROWS + 2:
        return [name, progress]
    now = (
        [Span(cut_path(node.now, inner), "" if node.is_awake else "muted")] if node.now not in ("", node.figure) else []
    )
    tone = "busy-before" if node.is_awake else "idle"
    sparkline = [] if node.shares is None else [Span(spark(node.shares(2 * inner), inner, full_value=1.0), tone)]
    if height < TALKING:
        return [name, now, progress, sparkline] if now else [name, progress, [], sparkline]
    words = [[Span(piece, "muted")] for piece in wrap_end(node.words, inner, MAX_WORDS_LINES)]
    spent = [Span(node.spent, "" if node.is_awake else "muted")]
    rows = [name, now, *words, progress, sparkline, spent if node.spent != node.figure else []]
    return [row for row in rows if row and "".join(span.text for span in row).strip()]


def _figure(node: Node, height: int) -> str:
    """Return the text beside the meter; the largest box has the time beside the name."""
    if height == TALKING and node.figure and node.spent.startswith(node.figure):
        return ""  # it has a line of its own
    return node.figure or (node.took if height < TALL else "")


def _progress_spans(node: Node, max_width: int, height: int) -> list[Span]:
    """Return the progress of a node: its meter and its figure."""
    text = _figure(node, height)
    figure = _fit_figure(text, node.share, max_width)
    meter_width = max_width - cell_len(figure) - (1 if figure else 0)
    if node.share is None or meter_width < 3:
        return [Span(figure, "muted")]
    tone = "busy" if node.is_awake else "done"
    return [
        *meter(node.share, meter_width, tone=tone),
        Span(f" {figure}" if figure else "", "" if node.is_awake else "muted"),
    ]


def _fit_figure(figure: str, share: float | None, max_width: int) -> str:
    """Return a figure in the longest form that fits, or an empty text, because a cut number would be wrong."""
    if not any(sign.isdigit() for sign in figure):
        return cut(figure, max_width)
    forms = (figure, figure.replace(" of ", "/"), "" if share is None else f"{share:.0%}", figure.partition(" ")[0])
    return next((form for form in forms if form and cell_len(form) <= max_width), "")


def _draw_border_meter(canvas: Canvas, node: Node, place: tuple[int, int], width: int) -> None:
    """Draw the meter of a node into its lower border, with its figure at the right if both fit."""
    x, y = place
    figure = f" {node.figure} " if node.figure else ""
    meter_width = width - 4 - cell_len(figure)
    if node.share is None:
        if figure:
            canvas.text(x + 1, y, f" {_fit_figure(node.figure, None, width - 4)} ", "muted")
        return
    if figure and meter_width >= _MIN_METER_WIDTH:
        canvas.text(x + 2 + meter_width, y, figure, "" if node.is_awake else "muted")
    else:
        meter_width = width - 4
    filled, _ = meter(node.share, meter_width, tone="busy" if node.is_awake else "done")
    canvas.text(x + 2, y, filled.text, filled.tone)


def _draw_bare(
    canvas: Canvas, node: Node, place: tuple[int, int], size: tuple[int, int], ground: str, *, selected: bool
) -> None:
    """Draw a box without a border: one line, or the name above the progress."""
    x, y = place
    width, height = size
    edge = Span("▌", "accent") if selected else Span("│", _border(node)) if height == MAX_BARE_ROWS else Span(" ")
    right = _text_beside_name(node) if height == MAX_BARE_ROWS else _right_text(node)
    inner = width - 3
    for row in range(height):
        canvas.text(x, y + row, " " * width, ground)
        canvas.spans(x, y + row, (edge,), ground)
    name = list(_name_spans(node))
    available = inner - cell_len(right) - (2 if right else 0)
    if cell_width(name) > available and right:
        right, available = "", inner  # the name is more important than the time
    if cell_width(name) > available:
        name = [name[0], Span(cut_name(node.name, max(3, available - 2)), name[1].tone)]
    blank = inner - cell_width(name) - cell_len(right)
    badge = Span(f" {node.badge}", "accent bold") if node.badge and blank > cell_len(node.badge) + 1 else Span("")
    blank -= cell_len(badge.text)
    spans = [*name, badge, Span(" " * max(0, blank)), Span(right, "muted")]
    canvas.spans(x + 2, y, fit_spans(spans, inner), ground)
    if height == MAX_BARE_ROWS:
        canvas.spans(x + 4, y + 1, fit_spans(_progress_spans(node, inner - 2, TALL), inner - 2), ground)
