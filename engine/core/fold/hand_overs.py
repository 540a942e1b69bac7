"""Fold: what it costs to hand work through a supervisor, measured as it happens.

That is the time from when a group could begin until the first attempt below it began, and from the end of the last
member's work until the group ended: what a level takes besides the work below it. Two numbers a supervisor.
"""

from engine.core.fold.slots import tell
from engine.core.state import State, Task


def note_first_attempt(state: State, task: Task) -> None:
    """Remember of the groups that `task` is part of that somebody below them began."""
    above = task.parent_id
    while above is not None:
        group = state.tasks[above]
        if group.kind != "group" or group.begun_ms is not None:
            return  # whatever is above that has begun before
        group.begun_ms = state.at_ms
        let_take_again(state, group)
        above = group.parent_id


def let_take_again(state: State, group: Task) -> None:
    """Let a team take the next item of a list, once somebody has begun with this one or it has ended."""
    team = state.supervisors.get(group.worker_id or "")
    if team is not None and team.taken.pop(group.id, None) is not None:
        tell(state, team)


def note_end(state: State, group: Task) -> None:
    """Count what a group that ends now took besides the work of its members."""
    supervisor = state.supervisors.get(group.worker_id or "")
    if supervisor is None or group.begun_ms is None:
        return
    tasks = state.tasks
    # A request is planned once the runs that it comes after have ended; these are gone by now.
    could_begin_ms = group.started_ms if group.parent_id is None else None
    ready_ms = max([could_begin_ms or group.created_ms, *(tasks[task_id].ended_ms or 0 for task_id in group.after)])
    members = (tasks[task_id] for task_id in group.children)
    ended_ms = max((one.ended_ms or 0 for one in members if one.kind in ("agent", "group")), default=state.at_ms)
    supervisor.hand_overs += 1
    supervisor.hand_over_ms += max(0, group.begun_ms - ready_ms) + max(0, state.at_ms - ended_ms)
