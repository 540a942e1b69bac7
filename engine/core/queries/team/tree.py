"""Walks over the trees of supervisors and tasks: ancestors, descendants, inherited options, search rings.

Rings, nearest first: the supervisor itself; the levels below it; its parent; the levels below that; and so on up to the
root.
"""

from collections.abc import Collection, Iterator
from typing import Any, TypeVar

from engine.core.records.records import fact
from engine.core.state import Agent, Run, State, Supervisor, Task, TaskStatus

Node = TypeVar("Node", Supervisor, Task)
MAX_DEPTH = 64
"""Limit on the levels of supervisors of a team."""
MAX_UNWARNED_DEPTH = 3
"""Deepest level without a warning."""


@fact
class Level:
    """All supervisors at one depth."""

    depth: int
    """1 for the roots."""
    mean_ms: float | None
    """Mean coordination overhead of their ended groups, in milliseconds; None if none has ended."""


def depth_of(state: State, supervisor: Supervisor) -> int:
    """Return the depth of a supervisor; 1 for a root."""
    return sum(1 for _ in lineage_of(state, supervisor))


def lineage_of(state: State, node: Node) -> Iterator[Node]:
    """Yield a supervisor or task and its ancestors, up to the root."""
    nodes: dict[str, Any] = state.supervisors if type(node) is Supervisor else state.tasks
    while True:
        yield node
        if node.parent_id is None:
            return
        node = nodes[node.parent_id]


def supervisors_from(state: State, supervisor_id: str | None) -> Iterator[Supervisor]:
    """Yield the supervisor with an id and its ancestors, up to the root; nothing if it does not exist."""
    supervisor = state.supervisors.get(supervisor_id or "")
    if supervisor is not None:
        yield from lineage_of(state, supervisor)


def subtree_of(state: State, supervisor: Supervisor) -> Iterator[Supervisor]:
    """Yield a supervisor and its descendants, parents first."""
    yield supervisor
    for member_id in supervisor.members:
        if member_id in state.supervisors:
            yield from subtree_of(state, state.supervisors[member_id])


def agents_of(state: State, member_id: str) -> list[Agent]:
    """Return an agent itself, or all agents in the subtree of a supervisor, in the order of members."""
    agents, supervisors = state.agents, state.supervisors
    if member_id in agents:
        return [agents[member_id]]
    subtree_agents: list[Agent] = []
    for member in supervisors[member_id].members:  # recursive only for teams: screens ask for thousands of agents
        if member in agents:
            subtree_agents.append(agents[member])
        else:
            subtree_agents += agents_of(state, member)
    return subtree_agents


def parent_id_of(member: Agent | Supervisor) -> str | None:
    """Return the id of the supervisor of a member; None for a root."""
    return member.supervisor_id if isinstance(member, Agent) else member.parent_id


def parent_of(state: State, member: Agent | Supervisor) -> Supervisor | None:
    """Return the supervisor of a member; None for a root."""
    parent_id = parent_id_of(member)
    return None if parent_id is None else state.supervisors[parent_id]


def height_of(state: State, supervisor: Supervisor) -> int:
    """Return the number of levels of a supervisor's subtree, itself included."""
    children = (state.supervisors[member_id] for member_id in supervisor.members if member_id in state.supervisors)
    return 1 + max((height_of(state, child) for child in children), default=0)


def mean_ms_of(supervisor: Supervisor) -> float | None:
    """Return the mean coordination overhead of a supervisor, in milliseconds; None without a measurement."""
    return supervisor.hand_over_ms / supervisor.hand_overs if supervisor.hand_overs else None


def levels_of(state: State) -> list[Level]:
    """Return the levels of a team, from the roots down."""
    levels: list[Level] = []
    front = state.roots
    while front:
        hand_overs = sum(supervisor.hand_overs for supervisor in front)
        total_ms = sum(supervisor.hand_over_ms for supervisor in front)
        levels.append(Level(depth=len(levels) + 1, mean_ms=total_ms / hand_overs if hand_overs else None))
        member_ids = (member_id for supervisor in front for member_id in supervisor.members)
        front = [state.supervisors[member_id] for member_id in member_ids if member_id in state.supervisors]
    return levels


def warning_of(state: State, depth: int) -> str | None:
    """Return the warning about a number of levels; None if it is at most `MAX_UNWARNED_DEPTH`."""
    if depth <= MAX_UNWARNED_DEPTH:
        return None
    measured = [level for level in levels_of(state) if level.depth > 1 and level.mean_ms is not None]
    if not measured:
        return f"level {depth}: each level hands over once more; what that costs was not measured yet"
    cost = ", ".join(f"level {level.depth} {level.mean_ms:,.1f} ms" for level in measured)
    return f"level {depth}: each level hands over once more, at {cost} a request"


def inherited_option(state: State, supervisor: Supervisor, name: str, default: Any) -> Any:
    """Return an option of the nearest supervisor upwards that sets it; `default` if none does."""
    for ancestor in lineage_of(state, supervisor):
        value = getattr(ancestor.options, name)
        if value is not None and value != ():
            return value
    return default


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
        holders: Supervisors that have the work already: they finish it even if they are leaving.
    """
    seen_ids: set[str] = set()
    for anchor in lineage_of(state, supervisor):
        front = [anchor]
        depth = 0
        while front:
            unseen = [supervisor for supervisor in front if supervisor.id not in seen_ids]
            seen_ids.update(supervisor.id for supervisor in unseen)
            if unseen:
                yield Ring(anchor_id=anchor.id, depth=depth, supervisors=unseen)
            front, depth = [child for supervisor in front for child in teams_in(state, supervisor, holders)], depth + 1


def teams_in(state: State, supervisor: Supervisor, holders: Collection[str] = ()) -> Iterator[Supervisor]:
    """Yield the member supervisors that may get work from a supervisor, or have it already (`holders`)."""
    for member_id in supervisor.members:
        team = state.supervisors.get(member_id)
        if team is not None and (team.id in holders or can_get_work_from(team, supervisor)):
            yield team


def agents_in(state: State, supervisor: Supervisor) -> Iterator[Agent]:
    """Yield the agents among the members of a supervisor."""
    for member_id in supervisor.members:
        agent = state.agents.get(member_id)
        if agent is not None:
            yield agent


def can_get_work_from(child: Supervisor, parent: Supervisor) -> bool:
    """Return whether `child` may get work from `parent`: a leaving supervisor gets work only from a leaving parent."""
    return child.leaving is None or parent.leaving is not None


def cause_of(state: State, task: Task) -> Task | Run:
    """Return the nearest cancelled one of a task and its ancestors; the run if there is none."""
    return next((ancestor for ancestor in lineage_of(state, task) if ancestor.cancelling), state.runs[task.run_id])


def is_cancelled(state: State, task: Task) -> bool:
    """Return True if `task`, an ancestor or its run is being cancelled."""
    return cause_of(state, task).cancelling


def why_cancelled(state: State, task: Task) -> str:
    """Return the reason for which a task is cancelled, as the operator gave it."""
    return cause_of(state, task).cancelled_for or "cancelled"


def task_subtree(state: State, task: Task) -> list[Task]:
    """Return `task` and its descendants."""
    tasks = [task]
    for descendant in tasks:
        tasks += [state.tasks[child] for child in descendant.children]
    return tasks


def tasks_to_end(state: State, subject: Run | Task) -> tuple[list[str], list[str]]:
    """Return the tasks that end at once when a run or task is ended, and those whose attempt has to stop first."""
    open_subtasks = [task for task in tasks_of(state, subject) if not task.ended]
    # A running group ends with its last node (`check_group`), not here: running nodes may still give partial output.
    ended_ids = [
        task.id
        for task in open_subtasks
        if task.attempt is None and (task.kind != "group" or task.status is TaskStatus.WAITING)
    ]
    return ended_ids, [task.id for task in open_subtasks if task.attempt is not None]


def open_tasks(state: State) -> int:
    """Return the number of open tasks of agents in open runs, without joins, checks and groups."""
    return sum(run.total - run.ended for run in state.runs.values())


def tasks_of(state: State, subject: Run | Task) -> list[Task]:
    """Return all tasks of a run, or a task and its descendants."""
    if isinstance(subject, Task):
        return task_subtree(state, subject)
    return [state.tasks[task_id] for task_id in subject.tasks]


def parent_deadline_ms(state: State, task: Task) -> int | None:
    """Return the deadline in force of the parent of `task`."""
    parent = state.tasks[task.parent_id] if task.parent_id is not None else state.runs[task.run_id]
    return parent.deadline_ms
