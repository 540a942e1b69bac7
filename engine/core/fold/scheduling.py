"""Fold: priorities changed, attempts asked to stop for what is more urgent. That they stopped: `attempt`."""

from engine.core.events import PreemptionAsked, PrioritySet
from engine.core.fold.ending import ask_to_stop
from engine.core.fold.handlers import Handlers
from engine.core.fold.queues import back_queue, dequeue, enqueue_again, stands, stop_waiting_for_slot, wait_for_slot
from engine.core.fold.slots import forget, note
from engine.core.state import State, Task


def _priority_set(state: State, event: PrioritySet) -> None:
    if event.task_id is None:
        run = state.runs[event.run_id]
        run.priority = event.priority
        tasks = [state.tasks[task_id] for task_id in run.tasks]
    else:
        tasks = [state.tasks[event.task_id]]
        for task in tasks:
            tasks += [state.tasks[child_id] for child_id in task.children]
    ready: list[Task] = []
    for task in tasks:
        if not task.ended and task.priority != event.priority and _place_again(state, task, event.priority):
            ready.append(task)
    enqueue_again(state, ready)
    for task_id in state.urgent:  # what is at work may have become less urgent than these
        state.urgent[task_id] = state.seq


def _place_again(state: State, task: Task, priority: int) -> bool:
    """Give `task` its priority wherever it stands by it; return whether it was taken out of its queue for that."""
    attempt = task.attempt
    if attempt is not None and attempt.agent_id is not None:
        agent = state.agents[attempt.agent_id]
        goes_on = task.id in state.queues[back_queue(agent.id)].ready
        if goes_on:
            stop_waiting_for_slot(state, task)
        elif not attempt.parked:
            forget(state.supervisors[agent.supervisor_id], task)
        task.priority = priority
        if goes_on:
            wait_for_slot(state, task)
        elif not attempt.parked:
            note(state.supervisors[agent.supervisor_id], task)
        return False
    stood = task.kind == "agent" and stands(state, task)
    if stood:
        dequeue(state, task)
    task.priority = priority
    return stood


def _preemption_asked(state: State, event: PreemptionAsked) -> None:
    task = state.tasks[event.task_id]
    ask_to_stop(task, "preempt")
    task.yields_to = event.for_task_id
    state.tasks[event.for_task_id].taking = task.id
    state.urgent.pop(event.for_task_id, None)


HANDLERS: Handlers = {
    PrioritySet: _priority_set,
    PreemptionAsked: _preemption_asked,
}
