"""How the Network screen divides its body: tree, graph and tail below each other, the pane beside them."""

from typing import NamedTuple

PANE_MIN_COLUMNS = 110
"""Columns from which on a pane follows the cursor."""
PANE_MIN_WIDTH, PANE_MAX_WIDTH = 43, 72
TREE_MIN_WIDTH = 50
"""Columns that a pane that the user has made wide leaves the tree."""
ONE_THIRD_MIN_COLUMNS = 130
LANES_MIN_SIZE = (160, 45)
"""Columns and rows of the screen from which on the last minute is a lane."""
TALL_MIN_ROWS = 30
"""Rows of the screen from which on the tail has room of its own."""
TAIL_MIN_LINES = 4
"""Lines of the tail with its hairline: it is left out where fewer are free."""
TAIL_RESERVED_LINES = 7
"""Its lines that the tree leaves it on a tall screen."""
GRAPH_MIN_LINES, GRAPH_MAX_LINES = 11, 21
"""Lines of the graph with its hairline."""
TAIL_BESIDE_GRAPH = 12


class Arrangement(NamedTuple):
    """Cells and lines of the parts; 0 of one that is not there."""

    pane: int
    tree: int
    graph: int
    tail: int
    lanes: bool


def max_tree_lines(rows: int, height: int, tail_lines: int | None = None) -> int:
    """Return how many lines of a body of `height` the rows of the tree may take before idle members are folded.

    The user may want a tail of `tail_lines`.
    """
    reserved_lines = TAIL_RESERVED_LINES if rows >= TALL_MIN_ROWS else TAIL_MIN_LINES
    return max(3, height - 1 - (reserved_lines if tail_lines is None else min(tail_lines, height - 4)))


def pane_width(columns: int, *, visible: bool) -> int:
    """Return how wide the pane is."""
    if columns < PANE_MIN_COLUMNS or not visible:
        return 0
    return PANE_MIN_WIDTH if columns < ONE_THIRD_MIN_COLUMNS else min(PANE_MAX_WIDTH, columns // 3)


def arrange(
    columns: int,
    rows: int,
    height: int,
    *,
    lines: int,
    pane: bool = True,
    graph: bool = False,
    pane_cells: int | None = None,
    tail_lines: int | None = None,
) -> Arrangement:
    """Divide a body.

    Args:
        height: Lines of the body.
        lines: Rows of the tree.
        pane: Whether a pane is wanted.
        graph: Whether there is a graph to show.
        pane_cells: How wide the user wants the pane.
        tail_lines: How high the user wants the tail.
    """
    lanes = columns >= LANES_MIN_SIZE[0] and rows >= LANES_MIN_SIZE[1]
    reserved_lines = TAIL_RESERVED_LINES if rows >= TALL_MIN_ROWS else TAIL_MIN_LINES
    free = height - lines - 1
    if not lines:
        return Arrangement(0, height, 0, 0, lanes)
    graph_lines = 0
    if tail_lines is None:
        below = max(reserved_lines, free) if rows >= TALL_MIN_ROWS else free if free >= TAIL_MIN_LINES else 0
        below = min(below, max(0, height - 4))
        if graph and lanes and below >= GRAPH_MIN_LINES + TAIL_RESERVED_LINES:
            graph_lines = max(GRAPH_MIN_LINES, min(GRAPH_MAX_LINES, below - TAIL_BESIDE_GRAPH))
        tail = below - graph_lines
    else:
        tail = min(max(tail_lines, TAIL_MIN_LINES), height - 4) if height - 4 >= TAIL_MIN_LINES else 0
        if graph and lanes and free - tail >= GRAPH_MIN_LINES:
            graph_lines = min(GRAPH_MAX_LINES, free - tail)
    wide = pane_width(columns, visible=pane)
    if wide and pane_cells is not None:
        wide = max(PANE_MIN_WIDTH // 2, min(pane_cells, columns - TREE_MIN_WIDTH))
    return Arrangement(wide, height - tail - graph_lines, graph_lines, tail, lanes)
