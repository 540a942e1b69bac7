"""Fold: the agents that serve each queue, the tasks that wait in it, and their priorities."""

from collections.abc import Iterable

from engine.core.events import PreemptionAsked, PrioritySet
from engine.core.fold.slots import ask_to_stop, mark_agent, mark_changed, refresh_agent, update_pools
from engine.core.fold.times import count_time
from engine.core.queries.team.tree import task_subtree
from engine.core.queries.work.queues import back_queue, own_queue, turn_key
from engine.core.state import Agent, Queue, State, Task, TaskStatus

# Module constants: looking up an attribute of an enumeration costs as much as a call.
_WAITING, _PREEMPTED = TaskStatus.WAITING, TaskStatus.PREEMPTED

MAX_IDLE_QUEUES = 200
"""Limit on capability queues above which unused ones are dropped."""


def queue_with(state: State, key: str, supervisor_id: str) -> Queue:
    """Return the queue of a key; create it if it does not exist."""
    queue = state.queues.get(key)
    if queue is None:
        queue = state.queues[key] = Queue(key=key, supervisor_id=supervisor_id)
    return queue


def serve(state: State, agent: Agent, keys: list[str]) -> None:
    """Make `agent` serve exactly its own queues and those in `keys`."""
    served_keys = [own_queue(agent.id), back_queue(agent.id), *keys]
    for key in agent.queues:
        if key not in served_keys:
            state.queues[key].agents.remove(agent.id)
            mark_changed(state, key)
    for key in served_keys:
        if key not in agent.queues:
            queue = queue_with(state, key, agent.supervisor_id)
            queue.agents.append(agent.id)
            queue.patient = False
    agent.queues = served_keys
    refresh_agent(state, agent)


def leave(state: State, agent: Agent) -> None:
    """Remove `agent` from every queue, and its own queues with it."""
    for key in agent.queues:
        state.queues[key].agents.remove(agent.id)
        if not key.startswith("able:"):
            del state.queues[key]
    mark_changed(state, *agent.queues)
    mark_agent(state, agent)


def forget_idle_queues(state: State) -> None:
    """Drop capability queues that no open task uses, once there are many: agents may invent capabilities."""
    able = [key for key in state.queues if key.startswith("able:")]
    if len(able) <= MAX_IDLE_QUEUES:
        return
    used = {key for task in state.tasks.values() for key in (task.queue, task.came_from)}
    for key in able:
        if key not in used:
            mark_changed(state, key)
            for agent_id in state.queues.pop(key).agents:
                state.agents[agent_id].queues.remove(key)


def enqueue(state: State, task: Task, *, again: bool = False, on_hold: bool | None = None) -> None:
    """Make a task ready, or hold it back while its run is paused or a person is asked about its budget.

    Args:
        state: The state to change.
        task: A task without blockers that is in no queue.
        again: Whether the task was ready before and returns to its old place.
        on_hold: The result of `is_held`, if the caller has it.
    """
    if task.counted_ms != state.at_ms:
        count_time(state, task)
    if task.ready_seq is None or not again:
        task.ready_seq, task.ready_ms = state.seq, state.at_ms
    else:
        _give_back_turn(state, task)
    if is_held(state, task) if on_hold is None else on_hold:
        task.held_back = True
        mark_changed(state, task)
        return
    task.held_back, task.ready = False, True
    queue = state.queues[task.queue or ""]
    queue.ready += 1
    if state.schedule is not None:
        state.schedule.changed.append(task)
    if state.pools:
        update_pools(state, queue)


def _give_back_turn(state: State, task: Task) -> None:
    """Forget the last turn of a run if the task that had it returns to the queue."""
    turns, key = state.runs[task.run_id].turns, turn_key(task.priority, task.queue or "")
    turn = turns.get(key)
    if turn is not None and turn[2] == task.id:
        del turns[key]


def is_held(state: State, task: Task) -> bool:
    """Return True while `task` may not start: its run is paused, or a budget of it or of an ancestor is held."""
    run, tasks = state.runs[task.run_id], state.tasks
    if run.paused or run.held or task.held:
        return True
    parent_id = task.parent_id
    while parent_id is not None:
        task = tasks[parent_id]
        if task.held:
            return True
        parent_id = task.parent_id
    return False


def resume_tasks(state: State, tasks: Iterable[Task]) -> None:
    """Enqueue tasks that may have been on hold: held back, or returned by a failed attempt meanwhile."""
    ready = [task for task in tasks if task.kind == "agent" and is_ready(task) and not task.ready]
    for task in sorted(ready, key=lambda task: (task.ready_seq or 0, int(task.id[1:]))):
        enqueue(state, task, again=True)


def hold_back(state: State, task: Task) -> None:
    """Take a ready task out of its queue until it is resumed."""
    if task.ready:
        dequeue(state, task)
        task.held_back = True


def dequeue(state: State, task: Task) -> None:
    """Take a task out of its queue, if it is ready."""
    count_time(state, task)
    task.held_back = False
    if not task.ready:
        return
    task.ready = False
    if state.schedule is not None:
        state.schedule.changed.append(task)
    queue = state.queues.get(task.queue or "")
    if queue is not None:
        queue.ready -= 1
        if state.pools:
            update_pools(state, queue)


def is_pending(task: Task) -> bool:
    """Return True while `task` is ready to begin: in its queue, or held back."""
    return task.ready or task.held_back


def is_ready(task: Task) -> bool:
    """Return True if `task` waits for no other task and no question to a person."""
    status = task.status
    at_rest = status is _WAITING or status is _PREEMPTED
    return at_rest and task.blockers == 0 and task.escalation_id is None and not task.calling


def _priority_set(state: State, event: PrioritySet) -> None:
    if event.task_id is None:
        run = state.runs[event.run_id]
        run.priority = event.priority
        tasks = [state.tasks[task_id] for task_id in run.tasks]
    else:
        tasks = task_subtree(state, state.tasks[event.task_id])
    for task in tasks:
        if not task.ended:
            task.priority = event.priority
            mark_changed(state, task)
    if state.schedule is not None:
        # Attempts at work may have become less urgent than tasks that found no slot before.
        state.schedule.recheck_urgent = True


def _preemption_asked(state: State, event: PreemptionAsked) -> None:
    task, urgent = state.tasks[event.task_id], state.tasks[event.for_task_id]
    ask_to_stop(task, "preempt")
    task.yields_to = urgent.id
    urgent.taking = task.id
    mark_changed(state, urgent)
