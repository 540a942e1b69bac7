"""What a coordination strategy is: a way to wire the nodes of one graph.

A strategy never sees a request. It is given the nodes that are done, that are at work and that have not started, and
says what each of the last waits for. Planning from nothing is the case where all have not started; switching in the
middle of a run is the same function on what is there.
"""

from dataclasses import field
from typing import Literal, Protocol

from engine.core.fact import fact
from engine.core.spec import Aggregation

JOIN = "+join"
"""Stands in a wiring for the node that joins results, which has no id yet."""


@fact
class Nodes:
    """The nodes of a graph by what became of them, each in the order of the plan."""

    done: list[str] = field(default_factory=list)
    """Ended with an output that others may use."""
    ends: list[str] = field(default_factory=list)
    """Those of them that no other of them came after: whoever comes after these gets the outputs of all."""
    used: list[str] = field(default_factory=list)
    """Those of them that a running node came after, so that its output rests on theirs."""
    running: list[str] = field(default_factory=list)
    unstarted: list[str] = field(default_factory=list)
    aggregation: Aggregation = "concat"
    aggregator: str | None = None
    """The unstarted node of the agent that makes a synthesis, if the aggregation is one."""


@fact
class Wiring:
    """What each unstarted node waits for and takes as its text."""

    after: dict[str, list[str]] = field(default_factory=dict)
    takes: dict[str, Literal["request", "previous", "context"]] = field(default_factory=dict)
    join: bool = False
    """The graph has a built-in node `JOIN`, with its edges in `after`."""
    outcome: str | None = None
    """The node whose output is the graph's."""


class Strategy(Protocol):
    """A way to coordinate the members of a supervisor."""

    @property
    def name(self) -> str:
        """What team files and commands call it."""
        ...

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the edges for every unstarted node."""
        ...
