"""What a graph is made of: nodes, edges with the time of their last hand-over, and how hot that makes them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

COOL_MS = 3_000
"""How long after a hand-over an edge is lit."""
STEPS = 5
HOT = 4
"""From this step on an edge is drawn heavy: above 0.6 of the heat."""
MANY_PER_S = 3
"""Where more flows in a second, an edge stays one step below the brightest, which is for what is rare."""


class Node(NamedTuple):
    """A box of a graph."""

    id: str
    name: str
    glyph: str
    tone: str
    """Of its state."""
    opens: tuple[str, str] = ("", "")
    """The kind of page and the key that enter opens; empty for nothing."""
    about: str = ""
    """The id that actions on it are for."""
    word: str = ""
    """Its state in a word."""
    took: str = ""
    """How long: of an agent the median of its attempts, of work since when it is under way."""
    now: str = ""
    """What it is at."""
    figure: str = ""
    """How much: `625/860`, `+133`."""
    share: float | None = None
    """How far, from 0 to 1."""
    badge: str = ""
    """What stands in its border, such as `◆g2`."""
    shares: Callable[[int], Sequence[float]] | None = None
    """Returns how much of an agent was at work in each of so many samples, the newest last."""
    is_awake: bool = True
    """False for resting, planned and ended nodes."""
    is_group: bool = False
    """Whether the node is drawn with its children."""


class Edge(NamedTuple):
    """Work goes from one node to another."""

    source: str
    target: str
    at_ms: int | None = None
    """Time of the last hand-over; None before the first."""
    per_s: int = 0
    """Hand-overs in the last second."""

    @property
    def is_planned(self) -> bool:
        """Whether nothing has gone along it yet."""
        return self.at_ms is None

    def heat(self, now_ms: int, *, calm: bool = False) -> int:
        """Return 5 just after a hand-over down to 1 after three seconds; with `calm`, 3 until then and 1 after."""
        if self.at_ms is None:
            return 1
        left = 1 - max(0, now_ms - self.at_ms) / COOL_MS
        if calm:
            return 3 if left > 0 else 1
        step = max(1, ceil(left * STEPS))
        return min(step, STEPS - 1) if self.per_s > MANY_PER_S else step


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in declared order, and edges between them."""

    title: str
    is_run: bool = False
    """Whether it is the execution graph of a run; else the network of the team."""
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    folded: tuple[str, ...] = ()
    """Names of those that are at rest and not drawn."""
    empty: tuple[str, ...] = ()
    """Text shown when there are no nodes."""

    def node(self, an_id: str | None) -> Node | None:
        return next((node for node in self.nodes if node.id == an_id), None)

    def subgraph(self, ids: Iterable[str]) -> "Graph":
        """Return the subgraph of these nodes."""
        node_ids = set(ids)
        return Graph(
            title=self.title,
            is_run=self.is_run,
            nodes=tuple(node for node in self.nodes if node.id in node_ids),
            edges=tuple(edge for edge in self.edges if edge.source in node_ids and edge.target in node_ids),
            folded=self.folded,
            empty=self.empty,
        )


def connected_nodes(graph: Graph, starts: Iterable[str]) -> set[str]:
    """Return the nodes with all their ancestors and descendants."""
    out = set(starts)
    begin = tuple(out)
    forward = [(edge.source, edge.target) for edge in graph.edges]
    for ends in (forward, [(target, source) for source, target in forward]):
        near: dict[str, list[str]] = {}
        for source, target in ends:
            near.setdefault(source, []).append(target)
        todo, reached = list(begin), set(begin)
        while todo:
            for beyond in near.get(todo.pop(), ()):
                if beyond not in reached:
                    reached.add(beyond)
                    todo.append(beyond)
        out |= reached
    return out
