"""Trees of supervisors and of tasks: what stands above and below, what is inherited, and the order of a search.

Work is looked for in rings, the nearest first: a supervisor itself; then what is below it, level by level; then the
supervisor above it, and what is below that, level by level; and so on, to the root.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

from engine.core.records import fact
from engine.core.state import Agent, Run, State, Supervisor, Task, TaskStatus

Node = TypeVar("Node", Supervisor, Task)
DEEPEST = 64
"""Levels of supervisors that a team may have."""
SHALLOW = 3
"""Levels without a warning."""


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


def above_of(state: State, one: Node) -> Iterator[Node]:
    """Yield a supervisor, or a task, and everything above it up to the root."""
    kin: dict[str, Any] = state.supervisors if type(one) is Supervisor else state.tasks
    while True:
        yield one
        if one.parent_id is None:
            return
        one = kin[one.parent_id]


def below_of(state: State, supervisor: Supervisor) -> Iterator[Supervisor]:
    """Yield a supervisor and every one below it, each before those under it."""
    yield supervisor
    for member_id in supervisor.members:
        if member_id in state.supervisors:
            yield from below_of(state, state.supervisors[member_id])


def agents_of(state: State, member_id: str) -> list[Agent]:
    """Return an agent itself, or every agent of a supervisor and of those below it, as members stand in order."""
    if member_id in state.agents:
        return [state.agents[member_id]]
    members = state.supervisors[member_id].members
    return [agent for member in members for agent in agents_of(state, member)]


def parent_of(state: State, member: Agent | Supervisor) -> Supervisor | None:
    """Return the supervisor that a member stands under; None of a root."""
    parent_id = member.supervisor_id if isinstance(member, Agent) else member.parent_id
    return None if parent_id is None else state.supervisors[parent_id]


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


def inherited(state: State, supervisor: Supervisor, name: str, otherwise: Any) -> Any:
    """Return an option of the nearest supervisor, itself first, for which it was set.

    Args:
        state: Where they stand.
        supervisor: Whose option it is.
        name: A field of `SupervisorOptions`.
        otherwise: What it is where nobody set it.
    """
    for above in above_of(state, supervisor):
        value = getattr(above.options, name)
        if value is not None and value != ():
            return value
    return otherwise


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


def cause_of(state: State, task: Task) -> Task | Run:
    """Return the nearest of a task and its parents that is being stopped; its run if none of them is."""
    return next((one for one in above_of(state, task) if one.cancelling), state.runs[task.run_id])


def is_cancelled(state: State, task: Task) -> bool:
    """Return True when `task`, or anything that it is part of, is being cancelled."""
    return cause_of(state, task).cancelling


def why_cancelled(state: State, task: Task) -> str:
    """Return for what a task is cancelled, in the words of who did it."""
    return cause_of(state, task).cancelled_for or "cancelled"


def below(state: State, task: Task) -> list[Task]:
    """Return `task` and every task under it."""
    found = [task]
    for one in found:
        found += [state.tasks[child] for child in one.children]
    return found


def halted(state: State, subject: Run | Task) -> tuple[list[str], list[str]]:
    """Return which tasks end when a run or a task is ended, and which are at work and have to stop."""
    open_ones = [task for task in tasks_of(state, subject) if not task.ended]
    ended = [
        task.id
        for task in open_ones
        if task.attempt is None and (task.kind != "group" or task.status is TaskStatus.WAITING)
    ]
    return ended, [task.id for task in open_ones if task.attempt is not None]


def tasks_of(state: State, subject: Run | Task) -> list[Task]:
    """Return every task of a run, or a task and every one under it."""
    return [state.tasks[one] for one in subject.tasks] if isinstance(subject, Run) else below(state, subject)
