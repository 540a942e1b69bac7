"""Moves of the cursor: along edges to the left and right, within a layer up and down."""

from collections.abc import Mapping

from dashboard.views.graph.model import Graph
from dashboard.views.graph.stages import Box


def first_node(graph: Graph) -> str | None:
    """Return the node where the cursor starts: the first one at work, else the first."""
    awake = next((node.id for node in graph.nodes if node.is_awake and not node.is_group), None)
    return awake or (graph.nodes[0].id if graph.nodes else None)


def walk(graph: Graph, places: Mapping[str, Box], cursor_id: str | None, way: str) -> str | None:
    """Return the node that a key goes to.

    Args:
        places: The places of the nodes.
        cursor_id: The node under the cursor.
        way: `left` and `right` go along the nearest edge, or to the next layer if there is none. `up` and `down` stay
            in the layer if they can.
    """
    now = places.get(cursor_id or "")
    if now is None:
        return first_node(graph)
    if way in ("left", "right"):
        near = [edge.source for edge in graph.edges if edge.target == cursor_id and way == "left"]
        near += [edge.target for edge in graph.edges if edge.source == cursor_id and way == "right"]
        near = [node_id for node_id in near if node_id in places]
        if not near:
            beside = [key for key, box in places.items() if (box.x < now.x if way == "left" else box.x > now.x)]
            edge = (max if way == "left" else min)((places[node_id].x for node_id in beside), default=None)
            near = [node_id for node_id in beside if places[node_id].x == edge]
        return min(near, key=lambda node_id: abs(places[node_id].y - now.y), default=cursor_id)
    layer = sorted(
        (key for key, box in places.items() if box.layer == now.layer), key=lambda key: (places[key].y, places[key].x)
    )
    at = layer.index(cursor_id or "") + (1 if way == "down" else -1)
    if 0 <= at < len(layer):
        return layer[at]
    up = [key for key, box in places.items() if box.y < now.y] if way == "up" else []
    down = [key for key, box in places.items() if box.y > now.y] if way == "down" else []
    return min(up or down, key=lambda key: (abs(places[key].y - now.y), abs(places[key].x - now.x)), default=cursor_id)
