"""Fold: the end of a task, its effect on dependents, and the coordination overhead of supervisors.

The overhead of a group is the time from when it could begin until the first attempt below it began, plus the time from
the end of the last member's work until the group ended.
"""

from engine.core.fold.queues import dequeue, enqueue, is_ready
from engine.core.fold.slots import mark_changed, wait_for_slot
from engine.core.fold.timers import TASK_TIMERS, drop_timer, drop_timers
from engine.core.fold.times import count_time
from engine.core.queries.work.retries import lets_pass
from engine.core.records.shared import EMPTY, drop
from engine.core.state import MAX_LAST_TASKS, NOBODY, OF_ATTEMPTS, EndedTask, State, Task, TaskStatus

# Module constants: looking up an attribute of an enumeration costs as much as a call.
_CANCELLED, _DONE = TaskStatus.CANCELLED, TaskStatus.DONE
_FAILED, _SKIPPED = TaskStatus.FAILED, TaskStatus.SKIPPED
_WAITING, _PREEMPTED = TaskStatus.WAITING, TaskStatus.PREEMPTED


def end(state: State, task: Task, status: TaskStatus, *, error: str | None = None, unblock: bool = True) -> None:
    """Give `task` its outcome: remove it from its queue, count it, and unblock its dependents."""
    if task.counted_ms != state.at_ms:
        count_time(state, task)
    if task.status is _WAITING or task.status is _PREEMPTED:
        dequeue(state, task)
    task.retry_at_ms = None
    if state.timers:
        drop_timers(state, TASK_TIMERS, task.id)
    if task.escalation_id is not None or task.asks or task.nobody_id is not None:
        for question in [escalation.id for escalation in state.escalations.values() if escalation.subject == task.id]:
            withdraw(state, question)
    if task.steers:
        task.steers = EMPTY
    task.status = status
    task.error = error
    task.ended_ms = state.at_ms
    if task.kind == "agent":
        run = state.runs[task.run_id]
        run.ended += 1
        if status is _DONE:
            run.done += 1
            state.tasks_done += 1
        elif status is _FAILED:
            run.failed += 1
            state.tasks_failed += 1
        agent = state.agents.get(task.agent_id or "")
        if agent is not None:
            last_tasks = agent.last_tasks
            last_tasks.append(EndedTask(task_id=task.id, title=task.title, status=status, ended_ms=state.at_ms))
            if len(last_tasks) > MAX_LAST_TASKS:
                del last_tasks[0]
    else:
        allow_next_item(state, task)
    if task.parent_id is not None:
        _update_parent(state, task, state.tasks[task.parent_id])
    if unblock and task.before:
        _unblock(state, task)


def pass_by(state: State, task: Task, reason: str) -> None:
    """Skip a task whose place in its graph is gone; the caller rewires the edges."""
    task.passed_by, task.optional = True, False
    end(state, task, _SKIPPED, error=reason, unblock=False)


def forget_task(state: State, task: Task) -> None:
    """Delete a task with its timers and ledger; nothing may refer to it any more."""
    del state.tasks[task.id]
    dequeue(state, task)
    drop_timers(state, TASK_TIMERS, task.id)
    state.ledgers.pop(task.id, None)


def withdraw(state: State, escalation_id: str) -> None:
    """Close a question without an answer; a task with more questions waits for the next one."""
    question = state.escalations.pop(escalation_id)
    drop_timer(state, "escalation", escalation_id)
    task = state.tasks.get(question.subject)
    if task is None:
        return
    if question.kind in OF_ATTEMPTS:
        task.asks = drop(task.asks, str(question.detail["key"]))
    elif question.kind == NOBODY:
        task.nobody_id = None
    elif task.escalation_id == escalation_id:
        question_ids = (escalation.id for escalation in state.escalations.values() if escalation.subject == task.id)
        others = (*task.asks.values(), task.nobody_id)
        task.escalation_id = next((question_id for question_id in question_ids if question_id not in others), None)


def withdraw_asks(state: State, task: Task) -> None:
    """Close the questions that attempts of a task asked."""
    for question in list(task.asks.values()):
        withdraw(state, question)


def forget_grants(state: State, agent_id: str) -> None:
    """Drop the grants of an agent, which belong to a generation that is gone."""
    for grant in [grant for grant in state.grants.values() if grant.agent_id == agent_id]:
        del state.grants[grant.id]
        drop_timer(state, "grant", grant.id)


def reset_policies(task: Task) -> None:
    """Reset the failure policies of a task, so that its chain starts over."""
    task.retries = 0
    task.failovers = 0
    task.failed_on = ()


def forget_drain(state: State, agent_id: str) -> None:
    """Stop watching the swap of an agent, and withdraw the question about it."""
    drop_timer(state, "drain", agent_id)
    for escalation in list(state.escalations.values()):
        if escalation.kind == "drain" and escalation.subject == agent_id:
            withdraw(state, escalation.id)


def _update_parent(state: State, task: Task, parent: Task) -> None:
    parent.open -= 1
    if task.call_key is None:
        return
    asker = parent if task.asked_by is None else state.tasks[task.asked_by]
    call = asker.calls.get(task.call_key)
    if call is None:
        return
    call.open -= 1
    attempt = asker.attempt
    if call.open == 0 and attempt is not None and call.key in attempt.waits:
        del attempt.waits[call.key]
        attempt.owed.append(call.key)
        if attempt.parked and not attempt.waits:
            wait_for_slot(state, asker)


def _unblock(state: State, task: Task) -> None:
    passes = lets_pass(task) or task.passed_by
    for task_id in task.before:
        following = state.tasks[task_id]
        if following.blockers == 1:
            count_time(state, following)
        following.blockers -= 1
        if passes and following.kind == "agent" and is_ready(following):
            enqueue(state, following)


def note_first_attempt(state: State, task: Task) -> None:
    """Record on the ancestors of `task` when the first agent below them began."""
    parent_id = task.parent_id
    while parent_id is not None:
        group = state.tasks[parent_id]
        if group.kind != "group" or group.begun_ms is not None:
            return  # its ancestors have been marked already
        group.begun_ms = state.at_ms
        allow_next_item(state, group)
        parent_id = group.parent_id


def allow_next_item(state: State, group: Task) -> None:
    """Allow a team another item of a shared queue once this one has begun or ended."""
    team = state.supervisors.get(group.worker_id or "")
    if team is not None and team.taken.pop(group.id, None) is not None:
        mark_changed(state, team)


def note_end(state: State, group: Task) -> None:
    """Add the overhead of a group that ends now to its supervisor."""
    supervisor = state.supervisors.get(group.worker_id or "")
    if supervisor is None or group.begun_ms is None:
        return
    tasks = state.tasks
    # A root could begin when it was planned: the runs that it waited for are no longer in the state.
    could_begin_ms = group.started_ms if group.parent_id is None else None
    ready_ms = max([could_begin_ms or group.created_ms, *(tasks[task_id].ended_ms or 0 for task_id in group.after)])
    members = (tasks[task_id] for task_id in group.children)
    # Joins and checks are overhead of the level, so only the work of members counts as work.
    ended_ms = max(
        (member.ended_ms or 0 for member in members if member.kind in ("agent", "group")), default=state.at_ms
    )
    supervisor.hand_overs += 1
    supervisor.hand_over_ms += max(0, group.begun_ms - ready_ms) + max(0, state.at_ms - ended_ms)
