"""What the work of one supervisor is at, as one word."""

from typing import Literal, TypeAlias

from engine.core.activities.tasks import unlike_tasks
from engine.core.queries.team.tree import subtree_of
from engine.core.scheduler.waiting import WaitReasons
from engine.core.state import State, Supervisor, Task

WorkflowState: TypeAlias = Literal["idle", "discovering", "routing", "executing", "waiting", "aggregating"]
_FANS = frozenset({"parallel", "parallel_then_synthesis"})
"""Strategies whose last node, if it comes after others, makes a synthesis of them."""


def workflow_state(state: State, supervisor: Supervisor) -> WorkflowState:
    """Return what the open tasks of a supervisor and everything under it are at; the first that fits.

    `idle`: there are none. `executing`: an attempt is at work, or a check of outputs. `aggregating`: only joins and
    syntheses are. While nothing is at work, `discovering`: agents are looked for outside the team; `routing`: a request
    has no graph yet, or a task is next in its queue; `waiting`: all of them wait for something else, such as a person,
    a limit, a retry or the end of a pause.
    """
    below = {descendant.id for descendant in subtree_of(state, supervisor)}
    tasks = [task for task in state.tasks.values() if task.ended_ms is None and task.supervisor_id in below]
    if not tasks:
        return "idle"
    at_work = [task for task in tasks if _is_at_work(state, task)]
    if at_work:
        return "aggregating" if all(_is_aggregating(state, task) for task in at_work) else "executing"
    if any(task.search == "begun" for task in tasks):
        return "discovering"
    reasons = WaitReasons(state)
    waiting_tasks = (task for task in unlike_tasks(state, tasks) if task.attempt is None and task.started_ms is None)
    return "routing" if any(reasons.reason_of(task) in (None, "turn") for task in waiting_tasks) else "waiting"


def _is_at_work(state: State, task: Task) -> bool:
    return task.attempt is not None and not task.attempt.parked and not state.runs[task.run_id].suspended


def _is_aggregating(state: State, task: Task) -> bool:
    group = state.tasks.get(task.parent_id or "")
    is_synthesis = group is not None and group.mode in _FANS and group.outcome_id == task.id and bool(task.after)
    return task.kind == "join" or is_synthesis
