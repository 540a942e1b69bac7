"""Fold: priorities changed, attempts asked to stop for what is more urgent. That they stopped: `attempt`."""

from engine.core.events import PreemptionAsked, PrioritySet
from engine.core.fold.ending import ask_to_stop
from engine.core.fold.handlers import Handlers
from engine.core.fold.slots import tell
from engine.core.queries.work import below
from engine.core.state import State


def _priority_set(state: State, event: PrioritySet) -> None:
    if event.task_id is None:
        run = state.runs[event.run_id]
        run.priority = event.priority
        tasks = [state.tasks[task_id] for task_id in run.tasks]
    else:
        tasks = below(state, state.tasks[event.task_id])
    for task in tasks:
        if not task.ended:
            task.priority = event.priority
            tell(state, task)
    if state.schedule is not None:  # what is at work may have become less urgent than what waits
        state.schedule.pressed = True


def _preemption_asked(state: State, event: PreemptionAsked) -> None:
    task, urgent = state.tasks[event.task_id], state.tasks[event.for_task_id]
    ask_to_stop(task, "preempt")
    task.yields_to = urgent.id
    urgent.taking = task.id
    tell(state, urgent)


HANDLERS: Handlers = {
    PrioritySet: _priority_set,
    PreemptionAsked: _preemption_asked,
}
