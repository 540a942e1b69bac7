"""Validates a wiring before it changes the graph: the strategy may be third-party code."""

from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter

from engine.core.errors import Refused
from engine.core.strategies.wiring import Nodes, Wiring

MAX_NODES = 25_000
"""Nodes of one graph, with all that it grows by."""


def validate(name: str, wiring: Wiring, nodes: Nodes, existing: Collection[str] = (), *, whole: bool = True) -> None:
    """Check a wiring.

    Args:
        name: Name of the strategy.
        wiring: Returned by the strategy.
        nodes: Passed to the strategy.
        existing: Other nodes of the graph that edges may come from.
        whole: Require that every unstarted node is placed or dropped; False for `grow`.

    Raises:
        Refused: If it is invalid; the message names the strategy and the first fault.
    """
    for fault in _faults(wiring, nodes, existing, whole=whole):
        raise Refused(f"the strategy {name} makes a graph that cannot be: {fault}")


def _faults(wiring: Wiring, nodes: Nodes, existing: Collection[str], *, whole: bool) -> Iterator[str]:
    added_keys = {added.key for added in wiring.added}
    unstarted, dropped = set(nodes.unstarted), set(wiring.dropped)
    movable = (unstarted | added_keys) - dropped
    all_nodes = movable.union(nodes.done, nodes.running, existing)
    placed = wiring.after.keys()
    if len(added_keys) != len(wiring.added) or any(not key.startswith("+") for key in added_keys):
        yield "it adds nodes under keys that are not their own"
    if not dropped <= unstarted:
        yield "it drops what has begun"
    if not placed <= movable:
        yield f"it draws edges to {sorted(placed - movable)[0]}, which has begun or is not there"
    if whole and not movable <= placed:
        yield f"{sorted(movable - placed)[0]} has no place"
    if not added_keys <= placed:
        yield f"{sorted(added_keys - placed)[0]} has no place"
    for lists in (wiring.after, wiring.sees):
        for node, others in lists.items():
            if not all_nodes.issuperset(others) or (len(others) > 1 and len(set(others)) != len(others)):
                yield f"{node} waits for what is not there"
                return
    if wiring.outcome is not None and wiring.outcome not in all_nodes:
        yield f"its output is that of {wiring.outcome}, which is not there"
    if _is_circular(wiring):
        yield "its nodes wait for each other"
    if len(all_nodes) > MAX_NODES:
        yield f"it has more than {MAX_NODES:,} nodes"


def _is_circular(wiring: Wiring) -> bool:
    """Return True when the added edges contain a cycle."""
    after = wiring.after
    # Most wirings have no edge between new nodes, or list them in topological order: both are seen without sorting
    # a graph that may have thousands of nodes.
    visited: set[str] = set()
    for node, others in after.items():
        if not visited.issuperset(others) and not visited.issuperset(after.keys() & others):
            break
        visited.add(node)
    else:
        return False
    try:
        TopologicalSorter(after).prepare()
    except CycleError:
        return True
    return False
