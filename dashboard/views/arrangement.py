"""How the Network screen divides its body: tree, graph and tail below each other, the pane beside them."""

from typing import NamedTuple

PANE_FROM = 110
"""Columns from which on a pane follows the cursor."""
PANE_LEAST, PANE_MOST = 43, 72
TREE_LEAST = 50
"""Columns that a pane that the user has made wide leaves the tree."""
THIRD_FROM = 130
LANES_FROM = (160, 45)
"""Columns and rows of the screen from which on the last minute is a lane."""
TALL = 30
"""Rows of the screen from which on the tail has room of its own."""
TAIL_LEAST = 4
"""Lines of the tail with its hairline: it is left out where fewer are free."""
TAIL_KEPT = 7
"""Its lines that the tree leaves it on a tall screen."""
GRAPH_LEAST, GRAPH_MOST = 11, 21
"""Lines of the graph with its hairline."""
TAIL_BESIDE_GRAPH = 12


class Arrangement(NamedTuple):
    """Cells and lines of the parts; 0 of one that is not there."""

    pane: int
    tree: int
    graph: int
    tail: int
    lanes: bool


def tree_room(rows: int, height: int, tail_lines: int | None = None) -> int:
    """Return how many lines of a body of `height` the rows of the tree may take before idle members are folded.

    The user may want a tail of `tail_lines`.
    """
    kept = TAIL_KEPT if rows >= TALL else TAIL_LEAST
    return max(3, height - 1 - (kept if tail_lines is None else min(tail_lines, height - 4)))


def pane_width(columns: int, *, wanted: bool) -> int:
    """Return how wide the pane is."""
    if columns < PANE_FROM or not wanted:
        return 0
    return PANE_LEAST if columns < THIRD_FROM else min(PANE_MOST, columns // 3)


def arranged(
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
    lanes = columns >= LANES_FROM[0] and rows >= LANES_FROM[1]
    kept = TAIL_KEPT if rows >= TALL else TAIL_LEAST
    free = height - lines - 1
    if not lines:
        return Arrangement(0, height, 0, 0, lanes)
    drawn = 0
    if tail_lines is None:
        below = max(kept, free) if rows >= TALL else free if free >= TAIL_LEAST else 0
        below = min(below, max(0, height - 4))
        if graph and lanes and below >= GRAPH_LEAST + TAIL_KEPT:
            drawn = max(GRAPH_LEAST, min(GRAPH_MOST, below - TAIL_BESIDE_GRAPH))
        tail = below - drawn
    else:
        tail = min(max(tail_lines, TAIL_LEAST), height - 4) if height - 4 >= TAIL_LEAST else 0
        if graph and lanes and free - tail >= GRAPH_LEAST:
            drawn = min(GRAPH_MOST, free - tail)
    wide = pane_width(columns, wanted=pane)
    if wide and pane_cells is not None:
        wide = max(PANE_LEAST // 2, min(pane_cells, columns - TREE_LEAST))
    return Arrangement(wide, height - tail - drawn, drawn, tail, lanes)
