"""Moves of the cursor: along edges to the left and right, within a layer up and down."""

from collections.abc import Mapping

from dashboard.views.graph.model import Graph
from dashboard.views.graph.stages import Box


def first_node(graph: Graph) -> str | None:
    """Return the node where the cursor starts: the first one at work, else the first."""
    awake = next((node.id for node in graph.nodes if node.is_awake and not node.is_group), None)
    return awake or (graph.nodes[0].id if graph.nodes else None)


def walk(graph: Graph, places: Mapping[str, Box], cursor_id: str | None, direction: str) -> str | None:
    """Return the node that a key goes to.

    Args:
        places: The places of the nodes.
        cursor_id: The node under the cursor.
        direction: `left` and `right` go along the nearest edge, or to the next layer if there is none. `up` and `down`
            stay in the layer if they can.
    """
    current = places.get(cursor_id or "")
    if current is None:
        return first_node(graph)
    if direction in ("left", "right"):
        neighbours = [edge.source for edge in graph.edges if edge.target == cursor_id and direction == "left"]
        neighbours += [edge.target for edge in graph.edges if edge.source == cursor_id and direction == "right"]
        neighbours = [node_id for node_id in neighbours if node_id in places]
        if not neighbours:
            beside = [
                key for key, box in places.items() if (box.x < current.x if direction == "left" else box.x > current.x)
            ]
            edge = (max if direction == "left" else min)((places[node_id].x for node_id in beside), default=None)
            neighbours = [node_id for node_id in beside if places[node_id].x == edge]
        return min(neighbours, key=lambda node_id: abs(places[node_id].y - current.y), default=cursor_id)
    layer = sorted(
        (key for key, box in places.items() if box.layer == current.layer),
        key=lambda key: (places[key].y, places[key].x),
    )
    at = layer.index(cursor_id or "") + (1 if direction == "down" else -1)
    if 0 <= at < len(layer):
        return layer[at]
    up = [key for key, box in places.items() if box.y < current.y] if direction == "up" else []
    down = [key for key, box in places.items() if box.y > current.y] if direction == "down" else []
    return min(
        up or down, key=lambda key: (abs(places[key].y - current.y), abs(places[key].x - current.x)), default=cursor_id
    )
