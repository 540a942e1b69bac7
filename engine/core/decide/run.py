"""Commands about requests: submit, cancel, try again."""

import json

from engine.core.commands import Cancel, RetryWork, Submit
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.budgets import why_exhausted
from engine.core.decide.casting import cast_for, check_category, members_in
from engine.core.decide.deadlines import deadline_for
from engine.core.decide.find import member_name
from engine.core.decide.following import still_open
from engine.core.decide.mending import must_work
from engine.core.decide.mint import Mint
from engine.core.decide.placing_again import can_be_placed
from engine.core.errors import Refused
from engine.core.events import CancelRequested, Event, RetryDue, RunSubmitted, TaskReopened
from engine.core.options import DEFAULT_PRIORITY
from engine.core.queries.targets import at, find_supervisor, find_work
from engine.core.queries.work import below, is_cancelled
from engine.core.state import Run, RunSummary, State, Task, TaskStatus
from engine.core.strategies import check_settings
from engine.core.values import TextRef


def submit(state: State, command: Submit, ctx: Context) -> Applied:
    """Open a run; refused where nobody could work on it."""
    supervisor = find_supervisor(state, command.supervisor)
    request = command.request
    text = request if isinstance(request, str) else json.dumps(request, ensure_ascii=False)
    if isinstance(command.request, str) and not text.strip():
        raise Refused("the request is empty; say what is to be done")
    if supervisor.leaving is not None:
        raise Refused(f"supervisor {supervisor.name!r} is being removed; ask another")
    must_work(state, supervisor)
    spent = why_exhausted(state, supervisor)
    if spent is not None:
        raise Refused(f"{spent}; change the limits of who has spent it first")
    check_category(supervisor, command.category)
    cast = cast_for(state, supervisor, text, command.category)  # refuses now rather than in the run
    check_settings(cast.mode, cast.settings, [member_name(state, one) for one in members_in(state, supervisor)])
    deadline = deadline_for(state, supervisor, command.deadline_s, command.limits, ctx)
    mint = Mint(state)
    event = RunSubmitted(
        run_id=mint("r"),
        supervisor_id=supervisor.id,
        root_id=mint("t"),
        request=command.request,
        on_failure=list(command.on_failure),
        priority=DEFAULT_PRIORITY if command.priority is None else command.priority,
        deadline_ms=None if deadline is None else deadline.due_ms,
        warn_ms=None if deadline is None else deadline.warn_ms,
        category=command.category,
        limits=command.limits,
        after=still_open(state, command.after, ctx),
    )
    return Applied(
        events=[event], summary=f"submitted {event.run_id} to {supervisor.name}", result={"run_id": event.run_id}
    )


def cancel(state: State, command: Cancel, ctx: Context) -> Applied:
    """Stop a run, or a task with all below it; what is done stays."""
    found = find_work(state, command.target)
    if isinstance(found, RunSummary):
        raise Refused(f"run {found.id} has ended already ({found.status.value}); nothing to cancel")
    if isinstance(found, Run):
        if found.cancelling:
            raise Refused(f"run {found.id} is being cancelled already")
        return _cancelled(found, None, [state.tasks[task_id] for task_id in found.tasks], command.reason)
    if found.ended:
        raise Refused(f"task {found.id} has ended already ({found.status.value}); nothing to cancel")
    return _cancelled(state.runs[found.run_id], found, below(state, found), command.reason)


def _cancelled(run: Run, root: Task | None, tasks: list[Task], reason: str) -> Applied:
    stopping = [task.id for task in tasks if not task.ended and task.attempt is not None]
    cancelled = [
        task.id
        for task in tasks
        if not task.ended and task.attempt is None and (task.kind != "group" or task.status is TaskStatus.WAITING)
    ]
    event = CancelRequested(
        run_id=run.id,
        task_id=root.id if root is not None else None,
        cancelled=cancelled,
        stopping=stopping,
        reason=reason,
    )
    what = f"run {run.id}" if root is None else f"task {root.id}"
    return Applied(
        events=[event],
        summary=f"cancelled {what}: {len(cancelled)} not started, {len(stopping)} stopping",
        result={"cancelled": len(cancelled), "stopping": len(stopping)},
    )


def retry_work(state: State, command: RetryWork, ctx: Context) -> Applied:
    """Try a task again now, or submit the request of a finished run again."""
    task = find_work(state, command.target)
    if isinstance(task, RunSummary):
        return _again(state, task, ctx)
    if isinstance(task, Run):
        raise Refused(f"run {task.id} is still open; retry one of its failed tasks, or cancel it first")
    if task.status is TaskStatus.RETRYING:
        return Applied(events=[RetryDue(task_id=task.id)],
                       summary=f"retrying {task.id} now")  # fmt: skip
    if task.status is not TaskStatus.FAILED:
        raise Refused(f"task {task.id} is {task.status.value}; only a failed or backing-off task can be retried")
    parent = state.tasks.get(task.parent_id or "")
    reopened = _with_skipped(state, task)
    is_node = task.call_key is None and task.kind == "agent"
    whole = task if task.kind == "group" else parent
    if whole is not None and whole.kind == "group" and whole.status is TaskStatus.FAILED:
        raise Refused(f"the team's task {whole.id} has failed as a whole; submit the request again instead")
    if not is_node or parent is None or parent.ended or _is_gone_on_from(state, reopened):
        raise Refused(f"the outcome of task {task.id} was used already; submit the request again instead")
    if is_cancelled(state, parent):
        raise Refused(f"task {task.id} is part of what is being cancelled")
    gone = [one for one in reopened if state.tasks[one].kind == "agent" and not _is_served(state, one)]
    if gone:
        raise Refused(f"everybody who could do task {gone[0]} is removed; submit the request again instead")
    event = TaskReopened(task_id=task.id, reopened=reopened)
    return Applied(events=[event], summary=f"retrying {task.id}")


def _again(state: State, summary: RunSummary, ctx: Context) -> Applied:
    if isinstance(summary.request, TextRef):
        raise Refused(f"the request of {summary.id} is long; submit it again with: quarterdeck run")
    supervisor = at(summary.supervisor_id) if summary.supervisor_id in state.supervisors else None
    applied = submit(state, Submit(request=summary.request, supervisor=supervisor), ctx)
    again: list[Event] = list(applied.events)
    return Applied(
        events=again, summary=f"submitted {summary.id} again as {applied.result['run_id']}", result=applied.result
    )


def _is_served(state: State, task_id: str) -> bool:
    """Return True when there is somebody to take the task; an agent that drains still does its own."""
    queue = state.queues.get(state.tasks[task_id].queue or "")
    if queue is None or not queue.key.startswith("agent:"):
        return can_be_placed(state, state.tasks[task_id])
    return any(state.agents[agent_id].removing in (None, "drain") for agent_id in queue.agents)


def _is_gone_on_from(state: State, reopened: list[str]) -> bool:
    """Return True when something has begun that comes after one of these tasks."""
    after = {following for one in reopened for following in state.tasks[one].before}.difference(reopened)
    return any(state.tasks[one].started_ms is not None for one in after)


def _with_skipped(state: State, task: Task) -> list[str]:
    found, front = [task.id], list(task.before)
    while front:
        following = state.tasks[front.pop(0)]
        if following.status is TaskStatus.SKIPPED and not (
            following.passed_by or following.optional or following.id in found
        ):
            found.append(following.id)
            front.extend(following.before)
    return found
