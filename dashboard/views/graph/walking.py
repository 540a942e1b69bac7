"""Where the cursor goes: along edges to the left and the right, within a layer up and down."""

from collections.abc import Mapping

from dashboard.views.graph.model import Graph
from dashboard.views.graph.stages import Box


def at_first(graph: Graph) -> str | None:
    """Return the node where the cursor starts: the first running one."""
    awake = next((node.id for node in graph.nodes if node.is_awake and not node.is_group), None)
    return awake or (graph.nodes[0].id if graph.nodes else None)


def walked(graph: Graph, places: Mapping[str, Box], here: str | None, way: str) -> str | None:
    """Return the node to which a key goes.

    Args:
        places: Where its nodes stand.
        here: The node under the cursor.
        way: `left` and `right` go along edges, to the nearest; where there is none, to the next layer. `up` and
            `down` stay in the layer.
    """
    now = places.get(here or "")
    if now is None:
        return at_first(graph)
    if way in ("left", "right"):
        near = [one.source for one in graph.edges if one.target == here and way == "left"]
        near += [one.target for one in graph.edges if one.source == here and way == "right"]
        near = [one for one in near if one in places]
        if not near:
            beside = [key for key, one in places.items() if (one.x < now.x if way == "left" else one.x > now.x)]
            edge = (max if way == "left" else min)((places[one].x for one in beside), default=None)
            near = [one for one in beside if places[one].x == edge]
        return min(near, key=lambda one: abs(places[one].y - now.y), default=here)
    layer = sorted(
        (key for key, one in places.items() if one.layer == now.layer), key=lambda key: (places[key].y, places[key].x)
    )
    at = layer.index(here or "") + (1 if way == "down" else -1)
    if 0 <= at < len(layer):
        return layer[at]
    up = [key for key, one in places.items() if one.y < now.y] if way == "up" else []
    down = [key for key, one in places.items() if one.y > now.y] if way == "down" else []
    return min(up or down, key=lambda key: (abs(places[key].y - now.y), abs(places[key].x - now.x)), default=here)
