"""Validates a wiring before it changes the graph: the strategy may be third-party code."""

from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter

from engine.core.errors import Refused
from engine.core.strategies.wiring import Nodes, Wiring

MOST_NODES = 25_000
"""Nodes of one graph, with all that it grows by."""


def validate(name: str, wiring: Wiring, nodes: Nodes, there: Collection[str] = (), *, whole: bool = True) -> None:
    """Check a wiring.

    Args:
        name: Name of the strategy.
        wiring: Returned by the strategy.
        nodes: Passed to the strategy.
        there: Other nodes of the graph that edges may come from.
        whole: Require that every unstarted node is placed or dropped; False for `grow`.

    Raises:
        Refused: If it is invalid; the message names the strategy and the first fault.
    """
    for fault in _faults(wiring, nodes, there, whole=whole):
        raise Refused(f"the strategy {name} makes a graph that cannot be: {fault}")


def _faults(wiring: Wiring, nodes: Nodes, there: Collection[str], *, whole: bool) -> Iterator[str]:
    made = {one.key for one in wiring.added}
    unstarted, dropped = set(nodes.unstarted), set(wiring.dropped)
    movable = (unstarted | made) - dropped
    known = movable.union(nodes.done, nodes.running, there)
    placed = wiring.after.keys()
    if len(made) != len(wiring.added) or any(not key.startswith("+") for key in made):
        yield "it adds nodes under keys that are not their own"
    if not dropped <= unstarted:
        yield "it drops what has begun"
    if not placed <= movable:
        yield f"it draws edges to {sorted(placed - movable)[0]}, which has begun or is not there"
    if whole and not movable <= placed:
        yield f"{sorted(movable - placed)[0]} has no place"
    if not made <= placed:
        yield f"{sorted(made - placed)[0]} has no place"
    for lists in (wiring.after, wiring.sees):
        for node, others in lists.items():
            if not known.issuperset(others) or (len(others) > 1 and len(set(others)) != len(others)):
                yield f"{node} waits for what is not there"
                return
    if wiring.outcome is not None and wiring.outcome not in known:
        yield f"its output is that of {wiring.outcome}, which is not there"
    if _is_circular(wiring):
        yield "its nodes wait for each other"
    if len(known) > MOST_NODES:
        yield f"it has more than {MOST_NODES:,} nodes"


def _is_circular(wiring: Wiring) -> bool:
    """Return True when the added edges contain a cycle."""
    after = wiring.after
    # Most wirings have no edge between new nodes, or list them in topological order: both are seen without sorting
    # a graph that may have thousands of nodes.
    seen: set[str] = set()
    for node, others in after.items():
        if not seen.issuperset(others) and not seen.issuperset(after.keys() & others):
            break
        seen.add(node)
    else:
        return False
    try:
        TopologicalSorter(after).prepare()
    except CycleError:
        return True
    return False
