"""Walks over the trees of supervisors and tasks: ancestors, descendants, inherited options, search rings.

Rings, nearest first: the supervisor itself; the levels below it; its parent; the levels below that; and so on up to the
root.
"""

from collections.abc import Collection, Iterator
from typing import Any, TypeVar

from engine.core.records.records import fact
from engine.core.state import Agent, Run, State, Supervisor, Task, TaskStatus

Node = TypeVar("Node", Supervisor, Task)
DEEPEST = 64
"""Levels of supervisors that a team may have."""
SHALLOW = 3
"""Levels without a warning."""


@fact
class Level:
    """All supervisors at one depth."""

    depth: int
    """1 for the roots."""
    mean_ms: float | None
    """Mean coordination overhead of their ended groups, in milliseconds; None without any."""


def depth_of(state: State, supervisor: Supervisor) -> int:
    """Return the depth of a supervisor; 1 for a root."""
    return sum(1 for _ in above_of(state, supervisor))


def above_of(state: State, one: Node) -> Iterator[Node]:
    """Yield a supervisor or task and its ancestors, up to the root."""
    kin: dict[str, Any] = state.supervisors if type(one) is Supervisor else state.tasks
    while True:
        yield one
        if one.parent_id is None:
            return
        one = kin[one.parent_id]


def supervisors_from(state: State, supervisor_id: str | None) -> Iterator[Supervisor]:
    """Yield the supervisor with an id and its ancestors, up to the root; nothing where there is none."""
    supervisor = state.supervisors.get(supervisor_id or "")
    if supervisor is not None:
        yield from above_of(state, supervisor)


def below_of(state: State, supervisor: Supervisor) -> Iterator[Supervisor]:
    """Yield a supervisor and its descendants, parents first."""
    yield supervisor
    for member_id in supervisor.members:
        if member_id in state.supervisors:
            yield from below_of(state, state.supervisors[member_id])


def agents_of(state: State, member_id: str) -> list[Agent]:
    """Return an agent itself, or all agents in the subtree of a supervisor, in the order of members."""
    agents, supervisors = state.agents, state.supervisors
    if member_id in agents:
        return [agents[member_id]]
    found: list[Agent] = []
    for member in supervisors[member_id].members:  # a call each only for teams: screens ask for thousands of agents
        if member in agents:
            found.append(agents[member])
        else:
            found += agents_of(state, member)
    return found


def parent_id_of(member: Agent | Supervisor) -> str | None:
    """Return the id of the supervisor of a member; None for a root."""
    return member.supervisor_id if isinstance(member, Agent) else member.parent_id


def parent_of(state: State, member: Agent | Supervisor) -> Supervisor | None:
    """Return the supervisor of a member; None for a root."""
    parent_id = parent_id_of(member)
    return None if parent_id is None else state.supervisors[parent_id]


def height_of(state: State, supervisor: Supervisor) -> int:
    """Return the number of levels of a supervisor's subtree, itself included."""
    below = (state.supervisors[one] for one in supervisor.members if one in state.supervisors)
    return 1 + max((height_of(state, one) for one in below), default=0)


def mean_ms_of(supervisor: Supervisor) -> float | None:
    """Return the mean coordination overhead of a supervisor, in milliseconds; None without a measurement."""
    return supervisor.hand_over_ms / supervisor.hand_overs if supervisor.hand_overs else None


def levels(state: State) -> list[Level]:
    """Return the levels of a team, from the roots down."""
    found: list[Level] = []
    front = state.roots
    while front:
        hand_overs = sum(one.hand_overs for one in front)
        total_ms = sum(one.hand_over_ms for one in front)
        found.append(Level(depth=len(found) + 1, mean_ms=total_ms / hand_overs if hand_overs else None))
        front = [state.supervisors[member] for one in front for member in one.members if member in state.supervisors]
    return found


def warning_of(state: State, depth: int) -> str | None:
    """Return the warning about a depth; None if it is at most `SHALLOW`.

    Args:
        state: The state, with measured overheads.
        depth: Number of levels that the team has or will have.
    """
    if depth <= SHALLOW:
        return None
    measured = [level for level in levels(state) if level.depth > 1 and level.mean_ms is not None]
    if not measured:
        return f"level {depth}: each level hands over once more; what that costs was not measured yet"
    cost = ", ".join(f"level {level.depth} {level.mean_ms:,.1f} ms" for level in measured)
    return f"level {depth}: each level hands over once more, at {cost} a request"


def inherited(state: State, supervisor: Supervisor, name: str, otherwise: Any) -> Any:
    """Return an option of a supervisor, or of the nearest ancestor that sets it.

    Args:
        name: A field of `SupervisorOptions`.
        otherwise: The value if no supervisor sets it.
    """
    for above in above_of(state, supervisor):
        value = getattr(above.options, name)
        if value is not None and value != ():
            return value
    return otherwise


@fact
class Ring:
    """Supervisors at the same distance from the start of a search."""

    anchor_id: str
    """The supervisor itself, or the ancestor of all of them."""
    depth: int
    """Levels below the anchor; 0 is the anchor itself."""
    supervisors: list[Supervisor]


def rings(state: State, supervisor: Supervisor, *, holders: Collection[str] = ()) -> Iterator[Ring]:
    """Yield the rings around a supervisor, nearest first; each supervisor that may get work is in exactly one.

    Args:
        supervisor: Where the search begins.
        holders: Supervisors that have the work already: they finish it, although they leave.
    """
    seen: set[str] = set()
    for anchor in above_of(state, supervisor):
        front, depth = [anchor], 0
        while front:
            fresh = [one for one in front if one.id not in seen]
            seen.update(one.id for one in fresh)
            if fresh:
                yield Ring(anchor_id=anchor.id, depth=depth, supervisors=fresh)
            front, depth = [below for one in front for below in teams_in(state, one, holders)], depth + 1


def teams_in(state: State, supervisor: Supervisor, holders: Collection[str] = ()) -> Iterator[Supervisor]:
    """Yield the member supervisors that may get work from a supervisor, or have it already (`holders`)."""
    for member_id in supervisor.members:
        below = state.supervisors.get(member_id)
        if below is not None and (below.id in holders or gets_work_from(below, supervisor)):
            yield below


def agents_in(state: State, supervisor: Supervisor) -> Iterator[Agent]:
    """Yield the agents among the members of a supervisor."""
    for member_id in supervisor.members:
        agent = state.agents.get(member_id)
        if agent is not None:
            yield agent


def gets_work_from(below: Supervisor, above: Supervisor) -> bool:
    """Return whether `below` may get work from `above`: a leaving supervisor gets none from one that stays."""
    return below.leaving is None or above.leaving is not None


def cause_of(state: State, task: Task) -> Task | Run:
    """Return the nearest of a task and its ancestors that is being cancelled; the run if none is."""
    return next((one for one in above_of(state, task) if one.cancelling), state.runs[task.run_id])


def is_cancelled(state: State, task: Task) -> bool:
    """Return True if `task`, an ancestor or its run is being cancelled."""
    return cause_of(state, task).cancelling


def why_cancelled(state: State, task: Task) -> str:
    """Return the reason for which a task is cancelled, as the operator gave it."""
    return cause_of(state, task).cancelled_for or "cancelled"


def below(state: State, task: Task) -> list[Task]:
    """Return `task` and its descendants."""
    found = [task]
    for one in found:
        found += [state.tasks[child] for child in one.children]
    return found


def halted(state: State, subject: Run | Task) -> tuple[list[str], list[str]]:
    """Return which tasks end at once when a run or task is ended, and which are at work and have to stop first."""
    open_ones = [task for task in tasks_of(state, subject) if not task.ended]
    ended = [
        task.id
        for task in open_ones
        # A running group ends with its last node (`check_group`), not here: nodes at work may still give partial
        # output.
        if task.attempt is None and (task.kind != "group" or task.status is TaskStatus.WAITING)
    ]
    return ended, [task.id for task in open_ones if task.attempt is not None]


def open_tasks(state: State) -> int:
    """Return how many tasks of agents in open runs have not ended; joins, checks and graphs are no work of an agent."""
    return sum(run.total - run.ended for run in state.runs.values())


def tasks_of(state: State, subject: Run | Task) -> list[Task]:
    """Return all tasks of a run, or a task and its descendants."""
    return [state.tasks[one] for one in subject.tasks] if isinstance(subject, Run) else below(state, subject)


def deadline_above(state: State, task: Task) -> int | None:
    """Return the deadline in force of the parent of `task`."""
    above = state.tasks[task.parent_id] if task.parent_id is not None else state.runs[task.run_id]
    return above.deadline_ms
