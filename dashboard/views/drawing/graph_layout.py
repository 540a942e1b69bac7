"""A layered graph layout: the layer, the order and the row of each node.

The longest path to a node determines its layer. In a layer, nodes are ordered by the mean position of their neighbours,
then by declaration. An edge over several layers gets a dummy in each, so that it passes between nodes.
Source: K. Sugiyama et al., "Methods for Visual Understanding of Hierarchical System Structures", 1981.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

SWEEPS = 3
"""Number of ordering passes, forward and back."""
MAX_GAP = 2
"""Maximum rows that are added between two nodes."""
MAX_BARE_ROWS = 2
"""Boxes of at most this height have no border."""


class Layered(NamedTuple):
    """Nodes and dummies in layers from left to right, each layer from top to bottom."""

    layers: tuple[tuple[str, ...], ...]
    links: tuple[tuple[str, str], ...]
    """Edges between neighbouring layers; a longer edge is split at its dummies."""
    paths: dict[tuple[str, str], tuple[tuple[str, str], ...]]
    """The links of each edge; empty for an edge that closes a cycle."""


@lru_cache(maxsize=16)
def arrange_layers(nodes: tuple[str, ...], edges: tuple[tuple[str, str], ...]) -> Layered:
    """Return nodes in layers; cached, because a network changes far less often than it is drawn."""
    forward = _without_cycles(nodes, edges)
    rank = _ranks(nodes, forward)
    layers: list[list[str]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for node in nodes:
        layers[rank[node]].append(node)
    paths: dict[tuple[str, str], tuple[tuple[str, str], ...]] = dict.fromkeys(edges, ())
    declared = {node: index for index, node in enumerate(nodes)}
    for source, target in forward:
        stops = [source]
        for between in range(rank[source] + 1, rank[target]):
            stops.append(f"\0{source}\0{target}\0{between}")
            layers[between].append(stops[-1])
            declared[stops[-1]] = declared[source]
        stops.append(target)
        paths[source, target] = tuple(pairwise(stops))
    links = tuple(dict.fromkeys(link for path in paths.values() for link in path))
    return Layered(_order_layers(layers, links, declared), links, paths)


def is_dummy(node: str) -> bool:
    """Return whether a name stands for an edge that passes through a layer."""
    return node.startswith("\0")


def _without_cycles(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the edges without those that close a cycle in a depth-first walk in declared order."""
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        if source in after and target in after and source != target:
            after[source].append(target)
    entered, left, acyclic = set[str](), set[str](), []
    for start in nodes:
        if start in entered:
            continue
        entered.add(start)
        walk = [(start, iter(after[start]))]
        while walk:
            node, targets = walk[-1]
            target = next(targets, "")
            if not target:
                left.add(node)
                walk.pop()
            elif target not in entered:
                acyclic.append((node, target))
                entered.add(target)
                walk.append((target, iter(after[target])))
            elif target in left:
                acyclic.append((node, target))
    return acyclic


def _ranks(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the length of the longest path to each node."""
    before: dict[str, list[str]] = {node: [] for node in nodes}
    for source, target in edges:
        before[target].append(source)
    rank: dict[str, int] = {}
    for node in TopologicalSorter(before).static_order():
        rank[node] = max((rank[source] + 1 for source in before[node]), default=0)
    return rank


def _order_layers(
    layers: list[list[str]], links: Sequence[tuple[str, str]], declared: Mapping[str, int]
) -> tuple[tuple[str, ...], ...]:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for source, target in links:
        before.setdefault(target, []).append(source)
        after.setdefault(source, []).append(target)
    for _ in range(SWEEPS):
        for place in range(1, len(layers)):
            layers[place] = _order_by_mean(layers[place], layers[place - 1], before, declared)
        for place in reversed(range(len(layers) - 1)):
            layers[place] = _order_by_mean(layers[place], layers[place + 1], after, declared)
    for place in range(1, len(layers)):
        layers[place] = _order_by_mean(layers[place], layers[place - 1], before, declared)
    return tuple(map(tuple, layers))


def _order_by_mean(
    layer: list[str], beside: list[str], near: Mapping[str, list[str]], declared: Mapping[str, int]
) -> list[str]:
    """Order a layer by the mean position of each node's neighbours in the adjacent layer."""
    places = {node: index for index, node in enumerate(beside)}
    scale = len(beside) / max(1, len(layer))

    def mean(at: int) -> float:
        neighbours = near.get(layer[at])
        return sum(places[neighbour] for neighbour in neighbours) / len(neighbours) if neighbours else at * scale

    return [layer[at] for at in sorted(range(len(layer)), key=lambda at: (mean(at), declared[layer[at]]))]


def assign_rows(layering: Layered, heights: Mapping[str, int], available: int, *, gap: int) -> dict[str, int]:
    """Return the first row of each node and dummy.

    The fullest layer is spread over the height, and may exceed it; in the other layers each node is centred on its
    neighbours.

    Args:
        layering: Nodes in layers.
        heights: Rows of each node; a dummy takes one.
        available: Available rows.
        gap: Minimum free rows between two nodes.
    """
    if not layering.layers:
        return {}
    full = max(range(len(layering.layers)), key=lambda place: layer_height(layering.layers[place], heights, gap=gap))
    need = layer_height(layering.layers[full], heights, gap=gap)
    height = max(available, need)
    layer = layering.layers[full]
    if len(layer) > 1:
        gap += min(MAX_GAP, (height - need) // (len(layer) - 1))
    top: dict[str, int] = {}
    y = (height - layer_height(layer, heights, gap=gap)) // 2
    for node in layer:
        top[node] = y
        y += heights.get(node, 1) + gap
    near = (_neighbours(layering.links, 0), _neighbours(layering.links, 1))
    for place in reversed(range(full)):
        _place_layer(layering.layers[place], near[0], top, heights, height=height, gap=gap)
    for place in range(full + 1, len(layering.layers)):
        _place_layer(layering.layers[place], near[1], top, heights, height=height, gap=gap)
    return top


def layer_height(layer: Sequence[str], heights: Mapping[str, int], *, gap: int) -> int:
    """Return the rows of a layer."""
    return sum(heights.get(node, 1) for node in layer) + gap * max(0, len(layer) - 1)


def port(height: int) -> int:
    """Return the row of a box at which its edges begin and end: the row of its name."""
    return 1 if height > MAX_BARE_ROWS else 0


def _neighbours(links: Sequence[tuple[str, str]], end: int) -> dict[str, list[str]]:
    near: dict[str, list[str]] = {}
    for link in links:
        near.setdefault(link[end], []).append(link[1 - end])
    return near


def _place_layer(
    layer: Sequence[str],
    near: Mapping[str, list[str]],
    top: dict[str, int],
    heights: Mapping[str, int],
    *,
    height: int,
    gap: int,
) -> None:
    """Centre each node on its neighbours in the adjacent layer, without overlap, within `height`."""
    ideal_rows: list[float] = []
    for node in layer:
        ports = [top[neighbour] + port(heights.get(neighbour, 1)) for neighbour in near.get(node, ())]
        row = (min(ports) + max(ports)) / 2 if ports else height / 2 if not ideal_rows else ideal_rows[-1]
        ideal_rows.append(row - port(heights.get(node, 1)))
    spare = height - layer_height(layer, heights, gap=0)  # this layer may not have room for the gap of the fullest one
    gap = min(gap, spare // (len(layer) - 1)) if len(layer) > 1 else gap
    down, min_row = [], 0.0
    for node, row in zip(layer, ideal_rows, strict=True):
        down.append(max(row, min_row))
        min_row = down[-1] + heights.get(node, 1) + gap
    up, limit = [0.0] * len(layer), float(height)
    for at in reversed(range(len(layer))):
        limit -= heights.get(layer[at], 1)
        up[at] = min(ideal_rows[at], limit)
        limit = up[at] - gap
    y = 0
    for at, node in enumerate(layer):
        y = max(y, round((down[at] + up[at]) / 2 - 1e-9))
        top[node] = y
        y += heights.get(node, 1) + gap
    _lift(layer, top, heights, height=height, gap=gap)


def _lift(layer: Sequence[str], top: dict[str, int], heights: Mapping[str, int], *, height: int, gap: int) -> None:
    """Move up nodes that would end below the last row."""
    end = height
    for node in reversed(layer):
        top[node] = min(top[node], end - heights.get(node, 1))
        end = top[node] - gap
