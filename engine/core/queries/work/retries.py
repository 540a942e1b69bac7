"""Retries by a person: whether a failed task can be tried again, and which tasks that reopens.

An ended task lets its dependents begin (`lets_pass`) or has them skipped; a retry takes the skipping back.
"""

from engine.core.queries.team.tree import is_cancelled
from engine.core.queries.work.placement import can_be_placed
from engine.core.state import State, Task, TaskStatus

# Module constants: looking up an attribute of an enumeration costs as much as a call.
_CANCELLED, _DONE = TaskStatus.CANCELLED, TaskStatus.DONE
_FAILED, _SKIPPED = TaskStatus.FAILED, TaskStatus.SKIPPED


def lets_pass(task: Task) -> bool:
    """Return True if dependents of an ended task may start."""
    status = task.status
    if status is _FAILED:
        return task.optional or task.tolerated
    return status is _DONE or status is _CANCELLED or (status is _SKIPPED and task.optional)


def why_no_retry(state: State, task: Task) -> str | None:
    """Return why a person's retry of a failed task is refused; None if it is accepted."""
    parent = state.tasks.get(task.parent_id or "")
    is_node = task.call_key is None and task.kind == "agent"
    group = task if task.kind == "group" else parent
    if group is not None and group.kind == "group" and group.status is _FAILED:
        return f"the team's task {group.id} has failed as a whole; submit the request again instead"
    used = f"the outcome of task {task.id} was used already; submit the request again instead"
    if not is_node or parent is None or parent.ended:
        return used
    reopened = reopened_tasks(state, task)
    if _has_continued(state, reopened):
        return used
    if is_cancelled(state, parent):
        return f"task {task.id} is part of what is being cancelled"
    unserved = next((task_id for task_id in reopened if not _is_served(state, task_id)), None)
    if unserved is not None:
        return f"every agent that could do task {unserved} was removed; submit the request again instead"
    return None


def _is_served(state: State, task_id: str) -> bool:
    """Return True if an agent, or the team of a group, can take the task; a draining agent still takes its own."""
    if state.tasks[task_id].kind != "agent":
        return state.tasks[task_id].kind != "group" or state.tasks[task_id].worker_id in state.supervisors
    queue = state.queues.get(state.tasks[task_id].queue or "")
    if queue is None or not queue.key.startswith("agent:"):
        return can_be_placed(state, state.tasks[task_id])
    return any(state.agents[agent_id].removing in (None, "drain") for agent_id in queue.agents)


def _has_continued(state: State, reopened: list[str]) -> bool:
    """Return True if a dependent of one of these tasks has begun."""
    after = {following for task_id in reopened for following in state.tasks[task_id].before}.difference(reopened)
    return any(state.tasks[task_id].started_ms is not None for task_id in after)


def reopened_tasks(state: State, task: Task) -> list[str]:
    """Return the task, and the dependents skipped because of it alone: another failure would skip them again."""
    task_ids = [task.id]
    front = list(task.before)
    while front:
        following = state.tasks[front.pop(0)]
        if following.status is not TaskStatus.SKIPPED or following.passed_by or following.optional:
            continue
        if following.id not in task_ids and all(
            before_id in task_ids or _lets_begin(state.tasks[before_id]) for before_id in following.after
        ):
            task_ids.append(following.id)
            front.extend(following.before)
    return task_ids


def _lets_begin(before: Task) -> bool:
    return not before.ended or before.passed_by or lets_pass(before)
