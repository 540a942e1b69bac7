"""The parts of a graph: nodes, and edges whose heat depends on the time of their last hand-over."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from dashboard.views.drawing.graph_layout import Layered, arrange_layers

COOL_MS = 3_000
"""Time after a hand-over until an edge is cold, in milliseconds."""
STEPS = 5
HOT = 4
"""Step of heat from which on an edge is drawn heavy."""
MANY_PER_S = 3
"""With more hand-overs per second, an edge stays one step below the brightest, which is for rare events."""


class Node(NamedTuple):
    """A box of a graph."""

    id: str
    name: str
    glyph: str
    tone: str
    """Tone of its state."""
    opens: tuple[str, str] = ("", "")
    """The kind and the key of the page that enter opens; empty for none."""
    about: str = ""
    """The id of its object, for actions."""
    word: str = ""
    """The word for its state."""
    took: str = ""
    """Median time of an agent's attempts, or elapsed time of a task."""
    now: str = ""
    """Its current work."""
    figure: str = ""
    """A count, such as `625/860` or `+133`."""
    share: float | None = None
    """Progress from 0 to 1; None if unknown."""
    badge: str = ""
    """Text in its border, such as `◆g2`."""
    shares: Callable[[int], Sequence[float]] | None = None
    """Returns the busy shares of an agent for a number of samples, the newest last."""
    words: str = ""
    """What it says or calls now, or said last."""
    spent: str = ""
    """Its tokens and cost."""
    is_awake: bool = True
    """False for resting, planned and ended nodes."""
    is_group: bool = False
    """Whether the node is drawn with its children."""


class Edge(NamedTuple):
    """A flow of work from one node to another."""

    source: str
    target: str
    at_ms: int | None = None
    """Time of the last hand-over; None before the first."""
    per_s: int = 0
    """Hand-overs in the last second."""

    @property
    def is_planned(self) -> bool:
        """Whether there was no hand-over yet."""
        return self.at_ms is None

    def heat(self, now_ms: int, *, calm: bool = False) -> int:
        """Return the heat, from 5 after a hand-over down to 1 when cold; with `calm` only 3 or 1."""
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
    """Whether it is the execution graph of a run, not the network of a team."""
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    folded: tuple[str, ...] = ()
    """Names of resting members that are not drawn."""
    empty: tuple[str, ...] = ()
    """Text for a graph without nodes."""

    def node(self, an_id: str | None) -> Node | None:
        return next((node for node in self.nodes if node.id == an_id), None)

    def layering(self) -> Layered:
        """Return its nodes in layers."""
        edges = tuple((edge.source, edge.target) for edge in self.edges)
        return arrange_layers(tuple(node.id for node in self.nodes), edges)

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
    """Return the ids of nodes with all their ancestors and descendants."""
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
