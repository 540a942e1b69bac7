"""In narrow windows: finished and future stages as one line above the graph."""

from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len

from dashboard.views.drawing.lines import BLANK, Line, Span, cell_width, fit_spans
from dashboard.views.drawing.plots import meter
from dashboard.views.graph.model import Graph, Node

_METER = 10


class Box(NamedTuple):
    """The place of a node, in cells of the drawing."""

    x: int
    y: int
    width: int
    height: int
    layer: int
    """Counted from the left; -1 on the line of stages."""


class _Stage(NamedTuple):
    node: Node
    arrow: Span
    """The arrow before the node."""


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of the line, and the graph without them."""

    line: tuple[_Stage, ...]
    rest: Graph

    def lines(self, selected: str | None, width: int) -> list[Line]:
        """Return the line and a blank one below it; none without stages."""
        if not self.line:
            return []
        spans = [span for stage in self.line for span in (stage.arrow, *_stage_spans(stage.node, selected))]
        return [Line(fit_spans(spans, width)), BLANK]

    def boxes(self, width: int) -> dict[str, Box]:
        """Return the place of each stage."""
        boxes, x = {}, 0
        for stage in self.line:
            x += cell_len(stage.arrow.text)
            box_width = cell_width(_stage_spans(stage.node, None))
            boxes[stage.node.id] = Box(x, 0, max(1, min(box_width, width - x)), 1, -1)
            x += box_width
        return boxes


def split_stages(graph: Graph, *, now_ms: int) -> Stages:
    """Split off the layers at both ends of a graph that consist of a single node.

    Nodes at work stay, except for unfolded groups, whose children stay instead.
    """
    layers = [[graph.node(key) for key in layer] for layer in graph.layering().layers]
    first, last = 0, len(layers)
    while last - first > 1 and _is_stage(layers[first], leads=True):
        first += 1
    while last - first > 1 and _is_stage(layers[last - 1], leads=False):
        last -= 1
    stage_nodes = [layer[0] for index, layer in enumerate(layers) if not first <= index < last]
    ids = {node.id for node in stage_nodes if node is not None}
    if not ids:
        return Stages((), graph)
    rest = graph.subgraph(node.id for node in graph.nodes if node.id not in ids)
    line: list[_Stage] = []
    for index, node in enumerate(stage_nodes):
        if node is not None:
            into = [edge for edge in graph.edges if edge.target == node.id]
            planned = all(edge.is_planned for edge in into)
            heat = max((edge.heat(now_ms) for edge in into), default=1)
            text = " ╌╌► " if planned else " ──► "
            line.append(_Stage(node, Span(text if into and (line or index >= first) else " ", f"heat-{heat}")))
    return Stages(tuple(line), rest)


def _is_stage(layer: list[Node | None], *, leads: bool) -> bool:
    node = layer[0] if len(layer) == 1 else None
    return node is not None and (not node.is_awake or (leads and node.is_group))


def _stage_spans(node: Node, selected: str | None) -> list[Span]:
    ground = " selected" if node.id == selected else ""
    out = [
        Span(f"{node.glyph} ", node.tone + ground),
        Span(node.name, ("strong" if node.is_awake else "muted") + ground),
    ]
    if node.is_awake and node.share is not None:
        out += [Span(" ", ground), *(Span(span.text, span.tone + ground) for span in meter(node.share, _METER))]
        out.append(Span(f" {node.figure}", ground))
    elif node.took:
        out.append(Span(f" {node.took}", "muted" + ground))
    return out
