"""Fits a graph into a pane that cannot scroll.

In each layer, one node such as `+32 more` replaces the nodes that do not fit. Nodes keep their order, so that none
jumps when another one begins to work.
"""

from collections.abc import Sequence
from dataclasses import replace

from dashboard.views.drawing.graph_layout import Layered, is_dummy
from dashboard.views.graph.model import Edge, Graph, Node

MORE_PREFIX = "more:"
"""Prefix of the id of a node that replaces others; the number of their layer follows."""
_URGENT = ("attention", "error", "draining", "paused", "busy", "waiting")
"""Precedence of tones; the node shows the first one among the nodes that it replaces."""


def bound_layers(graph: Graph, lines: int, selected: str | None = None) -> Graph:
    """Return a graph whose layers fit into `lines` at one line per node; the selected node stays."""
    place = 0
    while True:
        layering = graph.layering()
        if place >= len(layering.layers):
            return graph
        nodes = [key for key in layering.layers[place] if not is_dummy(key)]
        max_nodes = max(1, lines - 1 - (len(layering.layers[place]) - len(nodes)))
        if len(layering.layers[place]) > lines and len(nodes) > max_nodes + 1:
            visible = nodes[:max_nodes]
            if selected in nodes and selected not in visible:
                visible[-1:] = [selected]
            graph = _collapse(graph, layering, place, {key for key in nodes if key not in visible})
        place += 1


def _collapse(graph: Graph, layering: Layered, place: int, hidden: set[str]) -> Graph:
    """Replace hidden nodes of a layer by one node, and remove the nodes that only they lead to."""
    more = f"{MORE_PREFIX}{place}"
    before: dict[str, list[str]] = {}
    for source, target in layering.links:
        before.setdefault(target, []).append(source)
    removed_ids = set(hidden)
    for layer in layering.layers[place + 1 :]:
        removed_ids |= {key for key in layer if key in before and removed_ids.issuperset(before[key])}
    ends: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        if edge.target in removed_ids and edge.target not in hidden:
            continue
        source, target = (more if key in hidden else key for key in (edge.source, edge.target))
        if source in removed_ids or source == target:
            continue
        other = ends.get((source, target))
        times = [at_ms for at_ms in (edge.at_ms, other.at_ms if other else None) if at_ms is not None]
        per_s = edge.per_s + (other.per_s if other else 0)
        ends[source, target] = Edge(source, target, max(times, default=None), per_s)
    nodes = [node for node in graph.nodes if node.id not in removed_ids]
    nodes.append(_node(more, [node for node in graph.nodes if node.id in hidden]))
    return replace(graph, nodes=tuple(nodes), edges=tuple(ends.values()))


def _node(an_id: str, hidden: Sequence[Node]) -> Node:
    urgent = (node for tone in _URGENT for node in hidden if node.tone == tone)
    first = next(urgent, hidden[0])
    awake = any(node.is_awake for node in hidden)
    return Node(id=an_id, name=f"+{len(hidden):,} more", glyph=first.glyph, tone=first.tone, is_awake=awake)
