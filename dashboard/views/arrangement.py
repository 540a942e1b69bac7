"""The layout of the Network screen: tree, graph and tail below each other, the pane beside them."""

from typing import NamedTuple

PANE_MIN_COLUMNS = 110
"""Minimum columns for the pane."""
PANE_MIN_WIDTH, PANE_MAX_WIDTH = 43, 72
TREE_MIN_WIDTH = 50
"""Minimum columns of the tree beside a pane that the user has widened."""
LANES_MIN_SIZE = (160, 45)
"""Minimum columns and rows of the screen for lanes of the last minute."""
TALL_MIN_ROWS = 30
"""Minimum rows of the screen to reserve lines for the tail."""
TAIL_MIN_LINES = 4
"""Minimum lines of the tail with its hairline."""
TAIL_RESERVED_LINES = 7
"""Lines that are reserved for the tail on a tall screen."""
GRAPH_MIN_LINES, GRAPH_MAX_LINES = 11, 21
"""Minimum and maximum lines of the graph with its hairline."""
TAIL_BESIDE_GRAPH = 12


class Arrangement(NamedTuple):
    """Widths of the pane and heights of the other parts; 0 for a part that is not shown."""

    pane: int
    tree: int
    graph: int
    tail: int
    lanes: bool


def max_tree_lines(rows: int, height: int, tail_lines: int | None = None) -> int:
    """Return the lines of a body of `height` for the tree, above which idle members are folded.

    `tail_lines` is the height of the tail that the user has set.
    """
    reserved_lines = TAIL_RESERVED_LINES if rows >= TALL_MIN_ROWS else TAIL_MIN_LINES
    return max(3, height - 1 - (reserved_lines if tail_lines is None else min(tail_lines, height - 4)))


def pane_width(columns: int, *, visible: bool) -> int:
    """Return the width of the pane; 0 if it is not shown."""
    if columns < PANE_MIN_COLUMNS or not visible:
        return 0
    return max(PANE_MIN_WIDTH, min(PANE_MAX_WIDTH, columns * 3 // 10))


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
        pane: Whether to show the pane if it fits.
        graph: Whether there is a graph to show.
        pane_cells: Width of the pane that the user has set.
        tail_lines: Height of the tail that the user has set.
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
