"""Whether the work in an imported state means something: runs, their tasks, graphs, calls and timers."""

from collections.abc import Iterator
from functools import cache

from engine.core.options import LOWEST_PRIORITY
from engine.core.state import Run, State, Task, TaskStatus, Timer

LONGEST_BACK_OFF_MS = 86_400_000
LONGEST_MS = 31_536_000_000 * 10
"""Ten years: the longest that a deadline may lie ahead."""
AT_REST = {
    "agent": frozenset(TaskStatus) - {TaskStatus.RUNNING},
    "join": frozenset(TaskStatus) - {TaskStatus.RUNNING, TaskStatus.RETRYING},
    "check": frozenset(TaskStatus) - {TaskStatus.RUNNING, TaskStatus.RETRYING},
    "group": frozenset(TaskStatus) - {TaskStatus.RETRYING},
}
"""What a task can be where nothing is at work, by its kind."""


def faults_of_work(state: State, deepest: int) -> Iterator[str]:
    """Yield what is wrong with runs and tasks, in words.

    Args:
        state: A decoded state document.
        deepest: Levels of tasks under a run that are allowed.
    """
    for task in state.tasks.values():
        if task.run_id not in state.runs or task.id not in state.runs[task.run_id].tasks:
            yield f"the task {task.id} belongs to no run"
            return
    for run in state.runs.values():
        yield from _run(state, run, deepest)
    yield from _order(state)
    for timer_id, timer in state.timers.items():
        if timer.due_ms > (LONGEST_BACK_OFF_MS if timer.kind == "retry" else LONGEST_MS):
            yield "a timer waits longer than anything may"
        if timer.id != timer_id or timer_id != f"{timer.kind}:{timer.subject}" or not _is_awaited(state, timer):
            yield f"a timer waits for {timer_id[:40]!a}, which waits for none"


def _is_awaited(state: State, timer: Timer) -> bool:
    if timer.kind == "retry":
        task = state.tasks.get(timer.subject)
        return task is not None and task.status is TaskStatus.RETRYING
    if timer.kind == "circuit":
        agent = state.agents.get(timer.subject)
        return agent is not None and agent.circuit == "open"
    if timer.kind in ("deadline", "warn"):
        subject = state.runs.get(timer.subject) or state.tasks.get(timer.subject)
        return subject is not None and subject.deadline_after_ms is not None
    if timer.kind == "time":
        return timer.subject in state.runs or timer.subject in state.tasks
    return timer.kind == "escalation" and timer.subject in state.escalations


def _order(state: State) -> Iterator[str]:
    """Priorities are some, and runs wait for runs that were there before them."""
    work: list[Run | Task] = [*state.runs.values(), *state.tasks.values()]
    for one in work:
        if not 0 <= one.priority <= LOWEST_PRIORITY:
            yield f"{one.id} has the priority {one.priority}"
    place = {run_id: number for number, run_id in enumerate(state.runs)}
    for run in state.runs.values():
        if any(place.get(other, len(place)) >= place[run.id] for other in run.after):
            yield f"the run {run.id} waits for runs that were not there before it"
        elif any(run.id not in state.runs[other].before for other in run.after) or any(
            other not in place or run.id not in state.runs[other].after for other in run.before
        ):
            yield f"the run {run.id} waits for runs that do not know it, or is waited for by such"


def _run(state: State, run: Run, deepest: int) -> Iterator[str]:
    tasks = [state.tasks[task_id] for task_id in run.tasks if task_id in state.tasks]
    root = state.tasks.get(run.root_id)
    if len(tasks) != len(run.tasks) or any(task.run_id != run.id for task in tasks):
        yield f"the run {run.id} names tasks that it does not have"
    elif run.supervisor_id not in state.supervisors:
        yield f"the run {run.id} is of no supervisor"
    elif root is None or root.run_id != run.id or root.kind != "group" or root.parent_id is not None:
        yield f"the run {run.id} has no graph of its own"
    elif _reached(state, root, deepest) != len(tasks):
        yield f"tasks of the run {run.id} go in circles, deeper than {deepest} levels, or belong to nobody"
    else:
        yield from _counts(run, tasks)
        links = _Links(state)
        for task in tasks:
            yield from _task(state, task, links)


class _Links:
    """The lists of ids that tasks hold, as sets: a task is looked for in lists as long as its whole graph."""

    def __init__(self, state: State) -> None:
        tasks = state.tasks
        self.children = cache(lambda task_id: frozenset(tasks[task_id].children))
        self.after = cache(lambda task_id: frozenset(tasks[task_id].after))
        self.before = cache(lambda task_id: frozenset(tasks[task_id].before))
        self.asked = cache(lambda task_id: _asked(tasks[task_id]))


def _asked(task: Task) -> dict[str, str]:
    """Return who was asked by which call."""
    return {child: key for key, call in task.calls.items() for child in call.children}


def _reached(state: State, root: Task, deepest: int) -> int:
    """Count the tasks that are under `root` by exactly one way; -1 where a way is wrong or too long."""
    level, seen, depth = [root], {root.id}, 0
    while level:
        depth += 1
        below: list[Task] = []
        for parent in level:
            for child_id in parent.children:
                child = state.tasks.get(child_id)
                if child is None or child.id in seen or child.parent_id != parent.id or depth > deepest:
                    return -1
                seen.add(child.id)
                below.append(child)
        level = below
    return len(seen)


def _counts(run: Run, tasks: list[Task]) -> Iterator[str]:
    work = [task for task in tasks if task.kind == "agent"]
    counted = (
        len(work),
        sum(task.ended for task in work),
        sum(task.status is TaskStatus.DONE for task in work),
        sum(task.status is TaskStatus.FAILED for task in work),
        0,
    )
    if (run.total, run.ended, run.done, run.failed, run.running) != counted:
        yield f"the run {run.id} counts its tasks wrongly"


def _task(state: State, task: Task, links: _Links) -> Iterator[str]:
    if task.status not in AT_REST[task.kind] or task.attempt is not None or task.held_back:
        yield f"the task {task.id} is at work, which nothing in an archive can be"
    if (task.open or task.children) and task.open != sum(not state.tasks[child].ended for child in task.children):
        yield f"the task {task.id} counts its open tasks wrongly"
    if (task.status is TaskStatus.RETRYING) != (f"retry:{task.id}" in state.timers):
        yield f"the task {task.id} waits for a timer that is not there"
    yield from _edges(state, task, links)
    yield from _calls(state, task, links)
    if not task.ended:
        yield from _open_task(state, task)
    if task.outcome_id is not None and task.outcome_id not in task.children:
        yield f"the output of the task {task.id} is that of a task elsewhere"


def _open_task(state: State, task: Task) -> Iterator[str]:
    if task.supervisor_id not in state.supervisors:
        yield f"the task {task.id} is of no supervisor"
    if task.kind == "agent" and (task.queue not in state.queues or task.queue.startswith("back:")):
        yield f"the task {task.id} waits in no queue"
    if task.kind == "group" and task.worker_id not in state.supervisors:
        yield f"the task {task.id} is for a supervisor that is not there"


def _edges(state: State, task: Task, links: _Links) -> Iterator[str]:
    parent_id = task.parent_id if task.after or task.sees else None
    siblings = links.children(parent_id) if parent_id is not None else frozenset()
    if not siblings.issuperset(task.after) or len(set(task.after)) != len(task.after):
        yield f"the task {task.id} comes after tasks of another graph"
    elif not siblings.issuperset(task.sees or ()):
        yield f"the task {task.id} sees tasks of another graph"
    elif task.blockers != sum(not state.tasks[other].ended for other in task.after):
        yield f"the task {task.id} counts wrongly what it waits for"
    elif any(other not in state.tasks or task.id not in links.after(other) for other in task.before):
        yield f"the task {task.id} comes before tasks that do not wait for it"
    elif any(task.id not in links.before(other) for other in task.after):
        yield f"the task {task.id} waits for tasks that do not know it"
    if task.kind == "group" and _is_circular(state, task):
        yield f"the graph of the task {task.id} goes in a circle"


def _is_circular(state: State, group: Task) -> bool:
    """Tell whether tasks of a graph wait for each other: take away what waits for nothing until nothing is left."""
    waits = {child: len(state.tasks[child].after) for child in group.children}
    free = [child for child, count in waits.items() if not count]
    gone = 0
    while free:
        gone += 1
        for after in state.tasks[free.pop()].before:
            if after in waits:
                waits[after] -= 1
                if not waits[after]:
                    free.append(after)
    return gone != len(waits)


def _calls(state: State, task: Task, links: _Links) -> Iterator[str]:
    asked = [child for call in task.calls.values() for child in call.children]
    if asked and (len(set(asked)) != len(asked) or not set(asked).issubset(task.children)):
        yield f"the task {task.id} asked for tasks that are not its own"
        return
    for key, call in task.calls.items():
        if call.key != key or call.open != sum(not state.tasks[child].ended for child in call.children):
            yield f"the task {task.id} counts wrongly what it asked for"
        if any(state.tasks[child].call_key != key for child in call.children):
            yield f"the task {task.id} asked for tasks that do not know it"
    asked_for = links.asked(task.parent_id) if task.parent_id is not None else {}
    if task.call_key is not None and asked_for.get(task.id) != task.call_key:
        yield f"the task {task.id} was asked for by a call that is not there"
