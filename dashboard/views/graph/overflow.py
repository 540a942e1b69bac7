"""What of a graph has no room in a pane that cannot scroll: in each layer one node stands for it, such as `+32 more`.

Nodes stay in their order, so that none jumps when another one begins to work.
"""

from collections.abc import Sequence
from dataclasses import replace

from dashboard.views.drawing.graph_layout import Layered, is_dummy, layered
from dashboard.views.graph.model import Edge, Graph, Node

MORE = "more:"
"""What the id of the node begins with that stands for those without room; behind it, their layer."""
_URGENT = ("attention", "error", "draining", "paused", "busy", "waiting")
"""The tones of which the node shows the first that one of them has."""


def bounded(graph: Graph, lines: int, selected: str | None = None) -> Graph:
    """Return a graph whose layers fit into so many lines where each node takes one; the selected node stays."""
    place = 0
    while True:
        found = layered(tuple(node.id for node in graph.nodes), tuple((one.source, one.target) for one in graph.edges))
        if place >= len(found.layers):
            return graph
        nodes = [key for key in found.layers[place] if not is_dummy(key)]
        most = max(1, lines - 1 - (len(found.layers[place]) - len(nodes)))
        if len(found.layers[place]) > lines and len(nodes) > most + 1:
            shown = nodes[:most]
            if selected in nodes and selected not in shown:
                shown[-1:] = [selected]
            graph = _without(graph, found, place, {key for key in nodes if key not in shown})
        place += 1


def _without(graph: Graph, found: Layered, place: int, hidden: set[str]) -> Graph:
    """Return the graph with one node for those of a layer, and without what only they lead to."""
    more = f"{MORE}{place}"
    before: dict[str, list[str]] = {}
    for source, target in found.links:
        before.setdefault(target, []).append(source)
    gone = set(hidden)
    for layer in found.layers[place + 1 :]:
        gone |= {key for key in layer if key in before and gone.issuperset(before[key])}
    ends: dict[tuple[str, str], Edge] = {}
    for edge in graph.edges:
        if edge.target in gone and edge.target not in hidden:
            continue
        source, target = (more if key in hidden else key for key in (edge.source, edge.target))
        if source in gone or source == target:
            continue
        other = ends.get((source, target))
        times = [at_ms for at_ms in (edge.at_ms, other.at_ms if other else None) if at_ms is not None]
        per_s = edge.per_s + (other.per_s if other else 0)
        ends[source, target] = Edge(source, target, max(times, default=None), per_s)
    nodes = [node for node in graph.nodes if node.id not in gone]
    nodes.append(_node(more, [node for node in graph.nodes if node.id in hidden]))
    return replace(graph, nodes=tuple(nodes), edges=tuple(ends.values()))


def _node(an_id: str, hidden: Sequence[Node]) -> Node:
    urgent = (node for tone in _URGENT for node in hidden if node.tone == tone)
    first = next(urgent, hidden[0])
    awake = any(node.is_awake for node in hidden)
    return Node(id=an_id, name=f"+{len(hidden):,} more", glyph=first.glyph, tone=first.tone, is_awake=awake)
