"""The execution graph of a run as data: its nodes with what became of them, who waits for whom, what is ready.

Rebuilt whole from the state whenever it is asked for; nothing of it is kept.
"""

from collections.abc import Iterator
from typing import Literal

from engine.core.errors import UnknownWork
from engine.core.queries.plans import planned_by
from engine.core.records import fact
from engine.core.state import State, Task, TaskStatus


@fact
class GraphNode:
    """One node of a graph."""

    id: str
    title: str
    kind: Literal["agent", "group", "join", "check"]
    status: TaskStatus
    worker_id: str | None
    """The agent that does or did it, or whose it is; None of built-in work, and while any able agent may take it."""
    after: tuple[str, ...]
    is_ready: bool
    """It waits for nothing, and has not begun."""
    passed_by: bool
    """It belongs to a way that was not taken."""
    planned_by: str | None = None
    """The node whose agent wrote it into a plan of its own; None of what the strategy planned."""


@fact
class ExecutionGraph:
    """The graph of one group."""

    group_id: str
    run_id: str
    mode: str | None
    """The strategy that it was made with; None while it is not planned."""
    nodes: tuple[GraphNode, ...]
    """In the order of the plan; what an agent planned comes after that agent's node."""
    outcome_id: str | None
    """The node whose output is the graph's."""

    @property
    def edges(self) -> list[tuple[str, str]]:
        """Every pair of nodes of which the second waits for the first."""
        return [(before, node.id) for node in self.nodes for before in node.after]

    @property
    def ready(self) -> list[str]:
        """Nodes that wait for nothing and have not begun."""
        return [node.id for node in self.nodes if node.is_ready]


def graph_of(state: State, target: str) -> ExecutionGraph:
    """Return the graph of an open run, or of one group in it.

    Args:
        state: Where it stands.
        target: Id of the run, or of a task that is a group.

    Raises:
        UnknownWork: If there is no such open run or group.
    """
    group = state.tasks.get(state.runs[target].root_id if target in state.runs else target)
    if group is None or group.kind != "group":
        raise UnknownWork(target)
    tasks = state.tasks
    return ExecutionGraph(
        group_id=group.id,
        run_id=group.run_id,
        mode=group.mode,
        nodes=tuple(node for task_id in group.children if task_id in tasks for node in _nodes(state, tasks[task_id])),
        outcome_id=group.outcome_id,
    )


def _nodes(state: State, task: Task) -> Iterator[GraphNode]:
    yield _node(task, None)
    for planned, asker in planned_by(state, task):
        yield _node(planned, asker.id)


def _node(task: Task, asker_id: str | None) -> GraphNode:
    status = task.status
    return GraphNode(
        id=task.id,
        title=task.title,
        kind=task.kind,
        status=status,
        worker_id=task.agent_id or task.worker_id,
        after=tuple(task.after),
        is_ready=status is TaskStatus.WAITING and not task.blockers,
        passed_by=task.passed_by,
        planned_by=asker_id,
    )
