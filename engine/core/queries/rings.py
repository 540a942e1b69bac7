"""The order in which a team is searched: nearest first, in rings.

A supervisor itself; then what is below it, level by level; then the supervisor above it, and what is below that, level
by level; and so on, to the root. Each ring holds supervisors that are equally near.
"""

from collections.abc import Iterator

from engine.core.fact import fact
from engine.core.hierarchy import above_of
from engine.core.state import Agent, State, Supervisor


@fact
class Ring:
    """Supervisors that are equally near to the one that is searched from."""

    anchor_id: str
    """The supervisor that they are, or that they stand below."""
    depth: int
    """How many levels below it; 0 is itself."""
    supervisors: list[Supervisor]


def rings(state: State, supervisor: Supervisor) -> Iterator[Ring]:
    """Yield the rings around a supervisor, the nearest first; each supervisor that may be given work stands in one."""
    seen: set[str] = set()
    for anchor in above_of(state, supervisor):
        front, depth = [anchor], 0
        while front:
            fresh = [one for one in front if one.id not in seen]
            seen.update(one.id for one in fresh)
            if fresh:
                yield Ring(anchor_id=anchor.id, depth=depth, supervisors=fresh)
            front, depth = [below for one in front for below in teams_in(state, one)], depth + 1


def teams_in(state: State, supervisor: Supervisor) -> Iterator[Supervisor]:
    """Yield the supervisors among the members of one that it may give work to."""
    for member_id in supervisor.members:
        below = state.supervisors.get(member_id)
        if below is not None and gets_work_from(below, supervisor):
            yield below


def agents_in(state: State, supervisor: Supervisor) -> Iterator[Agent]:
    """Yield the agents among the members of a supervisor."""
    for member_id in supervisor.members:
        agent = state.agents.get(member_id)
        if agent is not None:
            yield agent


def gets_work_from(below: Supervisor, above: Supervisor) -> bool:
    """Return True while `below` may be given work by the one above it: what leaves gets nothing new from who stays."""
    return below.leaving is None or above.leaving is not None
