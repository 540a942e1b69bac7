"""The graph of one run in a few lines: layers from the left, what waits for what.

For at most a few dozen nodes; more of one layer are told by their number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from dashboard.clean import clean
from dashboard.views.glyphs import TASK, of_task
from dashboard.views.rows import Cell
from engine.core.events import GroupChange
from engine.core.graph import GraphNode, graph_of
from engine.core.state import State, TaskStatus

STACK = 5
"""Nodes of one layer that are shown."""
ARROW = 5
"""Characters between two layers."""
INDENT = 3
"""Characters before layers that go on below."""


@dataclass(frozen=True, slots=True)
class Node:
    """A task as it stands in a picture."""

    id: str
    glyph: str
    title: str
    after: tuple[str, ...]


def before(state: State, change: GroupChange) -> list[Node]:
    """Return the graph as it is now."""
    nodes = graph_of(state, change.task_id).nodes
    return [Node(node.id, _glyph(state, node.id), node.title, node.after) for node in nodes if _shows(node)]


def after(state: State, change: GroupChange) -> list[Node]:
    """Return the graph as the change leaves it."""
    gone = set(change.removed)
    nodes = [
        Node(node.id, node.glyph, node.title, tuple(change.after.get(node.id, node.after)))
        for node in before(state, change)
        if node.id not in gone
    ]
    nodes += [Node(task_id, _glyph(state, task_id), state.tasks[task_id].title, ()) for task_id in change.adopted]
    glyph = TASK[TaskStatus.WAITING].glyph
    added = [
        Node(plan.task_id, glyph, plan.title, tuple(change.after.get(plan.task_id, plan.after)))
        for plan in change.added
    ]
    return nodes + added


def drawn(nodes: Sequence[Node], width: int) -> list[Cell]:
    """Return the graph as lines of at most `width` characters; layers that find no room go below."""
    blocks: list[list[list[str]]] = []
    used = width
    for layer in _layers(nodes):
        column = [_cut(text, width - INDENT) for text in _stack(layer)]
        room = max(cell_len(text) for text in column)
        if used + ARROW + room > width:
            blocks.append([])
            used = INDENT if len(blocks) > 1 else 0
        else:
            used += ARROW
        blocks[-1].append(column)
        used += room
    lines = [_block(block, continues=place > 0) for place, block in enumerate(blocks)]
    return [Cell(line) for block in lines for line in block]


def _shows(node: GraphNode) -> bool:
    """Built-in nodes of a plan that was given up say nothing; work that was left out does."""
    return node.status is not TaskStatus.SKIPPED or node.kind in ("agent", "group")


def _glyph(state: State, task_id: str) -> str:
    return of_task(state.tasks[task_id]).glyph


def _layers(nodes: Sequence[Node]) -> list[list[Node]]:
    """Put every node one layer behind the last of those that it waits for."""
    known = {node.id: node for node in nodes}
    depth: dict[str, int] = {}

    def deep(node: Node, seen: frozenset[str]) -> int:
        if node.id not in depth:
            above = [known[other] for other in node.after if other in known and other not in seen]
            depth[node.id] = 1 + max((deep(other, seen | {node.id}) for other in above), default=-1)
        return depth[node.id]

    layers: dict[int, list[Node]] = {}
    for node in nodes:
        layers.setdefault(deep(node, frozenset()), []).append(node)
    return [layers[place] for place in sorted(layers)]


def _stack(layer: Sequence[Node]) -> list[str]:
    shown = [f"{node.glyph} {clean(node.title)}" for node in layer[:STACK]]
    return [*shown, f"+{len(layer) - STACK} more"] if len(layer) > STACK else shown


def _block(columns: Sequence[Sequence[str]], *, continues: bool) -> list[str]:
    height = max((len(column) for column in columns), default=0)
    lines = ["─▶ " if continues and row == 0 else "   " if continues else "" for row in range(height)]
    for place, column in enumerate(columns):
        room = max(cell_len(text) for text in column)
        for row in range(height):
            text = column[row] if row < len(column) else ""
            lines[row] += text + " " * (room - cell_len(text))
            if place < len(columns) - 1:
                lines[row] += _between(len(column), len(columns[place + 1]), row)
    return [line.rstrip() for line in lines]


_JOINS: Mapping[tuple[bool, bool], str] = {
    (True, True): " ─┬▶ ",
    (True, False): " ─┤  ",
    (False, True): "  ├▶ ",
    (False, False): "  │  ",
}


def _between(left: int, right: int, row: int) -> str:
    """Draw what runs from a stack of `left` nodes to one of `right`, in one line."""
    height = max(left, right)
    if height == 1:
        return " ──▶ "
    if row >= height:
        return "     "
    if row == height - 1:
        ends = {(True, True): " ─┴▶ ", (True, False): " ─┘  ", (False, True): "  └▶ "}
        return ends.get((row < left, row < right), "     ")
    return _JOINS[row < left, row < right]


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"
