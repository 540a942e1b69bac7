"""How deep a team goes, and what each level costs: measured, from the hand-overs of its supervisors."""

from collections.abc import Iterator

from engine.core.fact import fact
from engine.core.state import State, Supervisor

DEEPEST = 64
"""Levels of supervisors that a team may have."""
SHALLOW = 3
"""Levels that nobody is warned about."""


@fact
class Level:
    """All supervisors that are equally deep."""

    depth: int
    """1 is that of the roots."""
    supervisors: int
    agents: int
    """Agents directly under one of them."""
    hand_overs: int
    """Groups of them that have ended."""
    mean_ms: float | None
    """What one of those took besides the work below it, in milliseconds; None while there was none."""


def depth_of(state: State, supervisor: Supervisor) -> int:
    """Return how deep a supervisor stands: 1 of a root."""
    return sum(1 for _ in above_of(state, supervisor))


def above_of(state: State, supervisor: Supervisor) -> Iterator[Supervisor]:
    """Yield a supervisor and every one above it, up to the root."""
    above: Supervisor | None = supervisor
    while above is not None:
        yield above
        above = state.supervisors[above.parent_id] if above.parent_id is not None else None


def below_of(state: State, supervisor: Supervisor) -> Iterator[Supervisor]:
    """Yield a supervisor and every one below it, each before those under it."""
    yield supervisor
    for member_id in supervisor.members:
        if member_id in state.supervisors:
            yield from below_of(state, state.supervisors[member_id])


def height_of(state: State, supervisor: Supervisor) -> int:
    """Return how many levels a supervisor and what is under it are."""
    below = (state.supervisors[one] for one in supervisor.members if one in state.supervisors)
    return 1 + max((height_of(state, one) for one in below), default=0)


def mean_ms_of(supervisor: Supervisor) -> float | None:
    """Return what a hand-over through one supervisor took besides the work below it; None while there was none."""
    return supervisor.hand_over_ms / supervisor.hand_overs if supervisor.hand_overs else None


def levels(state: State) -> list[Level]:
    """Return the levels of a team, the roots' first."""
    found: list[Level] = []
    front = state.roots
    while front:
        hand_overs = sum(one.hand_overs for one in front)
        total_ms = sum(one.hand_over_ms for one in front)
        members = [member for one in front for member in one.members]
        found.append(
            Level(
                depth=len(found) + 1,
                supervisors=len(front),
                agents=sum(member in state.agents for member in members),
                hand_overs=hand_overs,
                mean_ms=total_ms / hand_overs if hand_overs else None,
            )
        )
        front = [state.supervisors[member] for member in members if member in state.supervisors]
    return found


def warning_of(state: State, depth: int) -> str | None:
    """Return what is said of a team that goes so deep; None where that is shallow.

    Args:
        state: Where hand-overs were measured.
        depth: Levels that the team has, or will have.
    """
    if depth <= SHALLOW:
        return None
    measured = [level for level in levels(state) if level.depth > 1 and level.mean_ms is not None]
    if not measured:
        return f"level {depth}: each level hands over once more; what that costs was not measured yet"
    cost = ", ".join(f"level {level.depth} {level.mean_ms:,.1f} ms" for level in measured)
    return f"level {depth}: each level hands over once more, at {cost} a request"
