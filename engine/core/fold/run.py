"""Fold: runs submitted, paused, resumed, rewired, cancelled, finished."""

from engine.core import events
from engine.core.finished import summary_of
from engine.core.fold import conversation
from engine.core.fold.accounting import follow_deadline, note_run, set_deadline
from engine.core.fold.completion import end, forget_task, pass_by, withdraw
from engine.core.fold.declared import digests, record_settings
from engine.core.fold.escalation import start_clocks
from engine.core.fold.queues import forget_idle_queues, hold_back, resume_tasks
from engine.core.fold.slots import ask_to_stop
from engine.core.fold.task import add_node, add_task, wire
from engine.core.fold.timers import RUN_TIMERS, drop_timers, note_id
from engine.core.fold.times import count_time
from engine.core.queries.team.declared import STRATEGY
from engine.core.queries.team.tree import task_subtree
from engine.core.records.records import copy_with
from engine.core.records.shared import EMPTY, extend
from engine.core.records.values import preview, stored_value
from engine.core.state import MAX_SUMMARIES, Run, State, Task, TaskStatus


def _run_submitted(state: State, event: events.RunSubmitted) -> None:
    note_id(state, event.run_id)
    request = stored_value(event.request, state.seq, "request")
    run = Run(
        id=event.run_id,
        supervisor_id=event.supervisor_id,
        request=request,
        title=preview(event.request),
        root_id=event.root_id,
        on_failure=event.on_failure,
        priority=event.priority,
        deadline_ms=event.deadline_ms,
        category=event.category,
        limits=event.limits,
        after=list(event.after),
        conversation=event.conversation,
        labels=event.labels,
        started_ms=event.at_ms,
    )
    state.runs[run.id] = run
    conversation.join(state, run)
    note_run(state, run)
    for other_id in event.after:
        state.runs[other_id].before.append(run.id)
    state.runs_total += 1
    root = Task(
        id=event.root_id,
        run_id=run.id,
        parent_id=None,
        supervisor_id=event.supervisor_id,
        kind="group",
        title=run.title,
        worker_id=event.supervisor_id,
        input=request,
        priority=event.priority,
        deadline_ms=event.deadline_ms,
        created_ms=event.at_ms,
    )
    note_id(state, root.id)
    add_task(state, root)
    if event.deadline_ms is not None:
        set_deadline(state, run, event.deadline_ms, event.deadline_ms - event.at_ms, event.warn_ms)


def _count_waits(state: State, run: Run) -> None:
    """Count what the open tasks of a run waited for, before it is paused or resumed."""
    for task in map(state.tasks.__getitem__, run.tasks):
        if not task.ended:
            count_time(state, task)


def _run_paused(state: State, event: events.RunPaused) -> None:
    run = state.runs[event.run_id]
    _count_waits(state, run)
    run.paused = True
    for task_id in event.stopping:
        ask_to_stop(state.tasks[task_id], "pause")
    start_clocks(state, run.id)
    for task_id in run.tasks:
        hold_back(state, state.tasks[task_id])


def _run_resumed(state: State, event: events.RunResumed) -> None:
    run = state.runs[event.run_id]
    _count_waits(state, run)
    run.paused = False
    start_clocks(state, run.id)
    resume_tasks(state, [state.tasks[task_id] for task_id in run.tasks])


def _cancel_requested(state: State, event: events.CancelRequested) -> None:
    subject = state.runs[event.run_id] if event.task_id is None else state.tasks[event.task_id]
    subject.cancelling, subject.cancelled_for = True, preview(event.reason)
    if event.failed:
        subject.exceeded = event.reason
    for task_id in event.stopping:
        ask_to_stop(state.tasks[task_id], "cancel")
    for task_id in event.cancelled:
        end(state, state.tasks[task_id], TaskStatus.CANCELLED, error=subject.cancelled_for)


def _strategy_switched(state: State, event: events.StrategySwitched) -> None:
    if event.scope != "run":
        supervisor = state.supervisors[event.supervisor_id]
        before = digests(state, supervisor, (*STRATEGY, "settings", "lead"))
        supervisor.mode = event.mode
        supervisor.aggregation = event.aggregation
        supervisor.aggregator = event.aggregator
        supervisor.options = copy_with(supervisor.options, settings=event.settings, lead=event.lead)
        record_settings(state, supervisor, before)
    for change in event.groups:
        _rewire(state, state.tasks[change.task_id], change)


def _rewire(state: State, group: Task, change: events.GroupChange) -> None:
    for task_id in change.removed:
        task = state.tasks[task_id]
        if task.attempt is not None:  # only built-in work can be removed at work; its result is ignored
            state.runs[task.run_id].running -= 1
            count_time(state, task)
            task.attempt = None
        pass_by(state, task, "strategy switched")
        task.after, task.sees = (), None  # otherwise `wire` would restore edges of the earlier strategy
    for asker_id in {state.tasks[task_id].parent_id or "" for task_id in change.removed} - {group.id}:
        wire(state, state.tasks[asker_id])
    tasks = state.tasks
    for task_id in group.children:
        task = tasks[task_id]
        # Whether a past failure is tolerated was decided when it happened; the new strategy decides for later ones.
        task.tolerated = task.asked_by is not None or (task.tolerated and task.ended)
        task.role, task.sees, task.need = "", None, None
    for task_id in change.adopted:
        _adopt(state, group, state.tasks[task_id])
    for node in change.added:
        add_node(state, group, node)
    for task_id, sees in change.sees.items():
        state.tasks[task_id].sees = list(sees)
    for task_id, role in change.roles.items():
        state.tasks[task_id].role = role
    for task_id, need in change.needs.items():
        state.tasks[task_id].need = need
    for task_id in change.tolerated:
        state.tasks[task_id].tolerated = True
    group.settings = change.settings or EMPTY
    group.error = None
    for task_id, after in change.after.items():
        tasks[task_id].after = after or ()
    for task_id, takes in change.takes.items():
        tasks[task_id].takes = takes
    for task_id in change.cancelled:
        ask_to_stop(state.tasks[task_id], "cancel")
    group.mode = change.mode
    group.outcome_id = change.outcome_id
    if group.parent_id is None:
        state.runs[group.run_id].strategy = change.mode
    wire(state, group)


def _adopt(state: State, group: Task, task: Task) -> None:
    """Make a delegation a node of the graph; its asker still gets the answer.

    Deadlines and budgets of the asker no longer apply to it, because it is no longer below the asker.
    """
    asker = state.tasks[task.parent_id or ""]
    asker.children = [child_id for child_id in asker.children if child_id != task.id] or ()
    group.children = extend(group.children, [task.id])
    if not task.ended:
        asker.open -= 1
        group.open += 1
    task.parent_id, task.asked_by = group.id, asker.id
    if task.after:
        task.sees = list(task.after)  # a task of a plan receives the outputs of its predecessors
    else:
        task.takes = "own"
    task.tolerated = True  # the asker decides what its failure means
    follow_deadline(state, task, group.deadline_ms)
    resume_tasks(state, task_subtree(state, task))


def _run_finished(state: State, event: events.RunFinished) -> None:
    run = state.runs.pop(event.run_id)
    conversation.leave(state, run, event)
    state.limited.pop(run.id, None)
    for other_id in run.before:
        state.runs[other_id].after.remove(run.id)
    for other_id in run.after:
        state.runs[other_id].before.remove(run.id)
    for task_id in run.tasks:
        forget_task(state, state.tasks[task_id])
    drop_timers(state, RUN_TIMERS, run.id)
    state.ledgers.pop(run.id, None)
    for escalation in [question for question in state.escalations.values() if question.run_id == run.id]:
        withdraw(state, escalation.id)
    state.finished.append(summary_of(event, state.seq))
    del state.finished[:-MAX_SUMMARIES]
    forget_idle_queues(state)
