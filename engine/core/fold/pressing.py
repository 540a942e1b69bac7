"""Urgent tasks that are ready and have no slot: `State.urgent`, in the order in which they came there.

A task stands in it while it waits in its queue, is urgent enough to take a slot from what is less urgent, and nobody
was asked to stop for it. Its number is the event that put it there, so that what is new is found without a search.
"""

from collections import OrderedDict

from engine.core.fold.lanes import in_order
from engine.core.options import Preempt
from engine.core.state import Queue, State, Supervisor, Task

_USUAL = Preempt()


def press(state: State, queue: Queue, task: Task) -> None:
    """Put a task that has just come to wait in `queue` among the urgent ones, if it is one."""
    if task.priority > state.urgent_to:
        return
    if task.taking is None and task.priority <= urgent_from(state, state.supervisors[queue.supervisor_id]):
        state.urgent[task.id] = state.seq


def press_again(state: State) -> None:
    """Find anew who is urgent, after a change of what is set for supervisors or of who is above whom."""
    before, state.urgent = state.urgent, OrderedDict()
    state.urgent_to = max((urgent_from(state, one) for one in state.supervisors.values()), default=0)
    ready = {
        task_id: queue
        for queue in state.queues.values()
        if not queue.key.startswith("back:")
        for task_id in queue.ready
    }
    for task_id in (*before, *(task_id for task_id in ready if task_id not in before)):
        if task_id in ready:
            press(state, ready[task_id], state.tasks[task_id])
            if task_id in before and task_id in state.urgent:
                state.urgent[task_id] = before[task_id]


def urgent_from(state: State, supervisor: Supervisor) -> int:
    """Return the priority up to which tasks take slots under `supervisor`; -1 where none does."""
    above: Supervisor | None = supervisor
    preempt = None
    while above is not None and preempt is None:
        preempt = above.options.preempt
        above = state.supervisors[above.parent_id] if above.parent_id is not None else None
    preempt = preempt or _USUAL
    return -1 if preempt.at == "never" else preempt.urgent


def first_urgent(state: State, queue: Queue) -> str | None:
    """Return the task of a queue that is the first to have its turn of those that are urgent and have no slot."""
    ready = in_order(state, queue, to=state.urgent_to)
    return next((task_id for task_id in ready if task_id in state.urgent), None)


def take_back(state: State, task: Task) -> None:
    """The attempt of `task` has ended, which was asked to stop for another: that one has no slot to come any more."""
    other = state.tasks.get(task.yields_to or "")
    if other is None or other.taking != task.id:
        return
    other.taking = None
    queue = state.queues.get(other.queue or "")
    if queue is not None and other.id in queue.ready:
        press(state, queue, other)  # unless it is not urgent any more
