"""Decides on commands about work: submit, cancel, retry, set the priority, reassign; and on runs that follow others."""

import json
from collections.abc import Sequence

from engine.core.budgets.deadlines import deadline_for
from engine.core.budgets.enforcement import exhaustion_reason
from engine.core.commands import Abort, Cancel, Reassign, RetryWork, SetPriority, Submit
from engine.core.decide.teams.team import check_not_failed
from engine.core.decide.work.attempts import stop
from engine.core.decide.work.graphs import plan_group
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint
from engine.core.errors import Refused, UnknownWork
from engine.core.events import (
    CancelRequested,
    Event,
    GroupEnded,
    PrioritySet,
    RetryDue,
    RunSubmitted,
    TaskReassigned,
    TaskReopened,
)
from engine.core.followups import FollowRun, PlanGroup
from engine.core.queries.targets import (
    find_agent,
    find_any,
    find_supervisor,
    find_task,
    find_work,
    id_in,
    id_target,
    member_name,
)
from engine.core.queries.team.able import why_not_able
from engine.core.queries.team.discovery import words_to_find
from engine.core.queries.team.participants import cast_for, check_category, members_in
from engine.core.queries.team.tree import is_cancelled, task_subtree
from engine.core.queries.work.queues import own_queue
from engine.core.queries.work.reach import tasks_at
from engine.core.queries.work.retries import reopened_tasks, why_no_retry
from engine.core.records.records import copy_with
from engine.core.records.values import TextRef
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import Agent, Run, RunStatus, RunSummary, State, Supervisor, Task, TaskStatus
from engine.core.strategies import check_settings


def submit(state: State, command: Submit, ctx: DecisionContext) -> Decided:
    """Open a run, or refuse it if no member could work on it."""
    supervisor = find_supervisor(state, command.supervisor)
    request = command.request
    text = request if isinstance(request, str) else json.dumps(request, ensure_ascii=False)
    if isinstance(command.request, str) and not text.strip():
        raise Refused("the request is empty; say what to do")
    if supervisor.leaving is not None:
        raise Refused(f"supervisor {supervisor.name!r} is being removed; ask another")
    check_not_failed(state, supervisor)
    spent = exhaustion_reason(state, supervisor)
    if spent is not None:
        raise Refused(f"{spent}; raise that limit first")
    check_category(supervisor, command.category)
    conversation = supervisor.conversations.get(command.conversation or "")
    earlier_members = conversation.worked if conversation is not None else ()
    # Refuse now rather than when the graph is planned, unless agents are looked for first.
    if not words_to_find(state, supervisor, text, command.category):
        cast = cast_for(state, supervisor, text, command.category, before=earlier_members)
        member_names = [member_name(state, member_id) for member_id in members_in(state, supervisor)]
        check_settings(cast.mode, cast.settings, member_names)
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
        after=find_open_runs(state, command.after, ctx),
        conversation=command.conversation,
        labels=dict(command.labels),
    )
    return Decided(
        events=[event], summary=f"submitted {event.run_id} to {supervisor.name}", result={"run_id": event.run_id}
    )


def cancel(state: State, command: Cancel, ctx: DecisionContext) -> Decided:
    """Stop a run, a task or an agent's work, and everything below it, at the next steps; finished work stays."""
    work = _find_stoppable(state, command.target)
    if isinstance(work, Run) and work.cancelling:
        raise Refused(f"run {work.id} is being cancelled already")
    subjects = tasks_at(state, work) if isinstance(work, Agent) else [work]
    grace_ms = None if command.grace_s is None else round(command.grace_s * 1000)
    events = [stop(state, subject, command.reason, grace_ms=grace_ms) for subject in subjects]
    return _stop_decision(work, events, "cancelled")


def abort(state: State, command: Abort, ctx: DecisionContext) -> Decided:
    """Stop a run, a task or an agent's work at once, even if it is being cancelled already."""
    work = _find_stoppable(state, command.target)
    subjects = tasks_at(state, work) if isinstance(work, Agent) else [work]
    events = [stop(state, subject, command.reason, at_once=True) for subject in subjects]
    if not any(event.cancelled or event.stopping for event in events):
        raise Refused(f"nothing of {work.id} is running or waiting any more")
    return _stop_decision(work, events, "aborted")


def _find_stoppable(state: State, target: str) -> Run | Task | Agent:
    work = find_any(state, target)
    if isinstance(work, Supervisor):
        raise Refused(f"{work.name} is a supervisor; name one of its runs, a task or an agent")
    if isinstance(work, RunSummary):
        raise Refused(f"run {work.id} has ended already ({work.status.value}); nothing to cancel")
    if isinstance(work, Task) and work.ended:
        raise Refused(f"task {work.id} has ended already ({work.status.value}); nothing to cancel")
    return work


def _stop_decision(work: Run | Task | Agent, events: list[CancelRequested], did: str) -> Decided:
    cancelled, stopping = sum(len(event.cancelled) for event in events), sum(len(event.stopping) for event in events)
    kinds: dict[type, str] = {Run: f"run {work.id}", Task: f"task {work.id}"}
    name = f"the work of {work.name}" if isinstance(work, Agent) else kinds[type(work)]
    return Decided(
        events=[*events],
        summary=f"{did} {name}: {cancelled} waiting, {stopping} {'stopped' if did == 'aborted' else 'stopping'}",
        result={"cancelled": cancelled, "stopping": stopping},
    )


def retry_work(state: State, command: RetryWork, ctx: DecisionContext) -> Decided:
    """Try a task again now, or submit the request of a finished run again."""
    if ctx.again is not None:
        return _submit_again(state, id_in(command.target), ctx.again, ctx)
    task = find_work(state, command.target)
    if isinstance(task, RunSummary):
        return _submit_again(state, task.id, _request_of(task), ctx)
    if isinstance(task, Run):
        raise Refused(f"run {task.id} is still open; retry one of its failed tasks, or cancel it first")
    if task.status is TaskStatus.RETRYING:
        return Decided(events=[RetryDue(task_id=task.id)], summary=f"retrying {task.id} now")
    if task.status is not TaskStatus.FAILED:
        raise Refused(f"task {task.id} is {task.status.value}; only a failed or backing-off task can be retried")
    why_not = why_no_retry(state, task)
    if why_not is not None:
        raise Refused(why_not)
    event = TaskReopened(task_id=task.id, reopened=reopened_tasks(state, task))
    return Decided(events=[event], summary=f"retrying {task.id}")


def _submit_again(state: State, run_id: str, request: Submit, ctx: DecisionContext) -> Decided:
    """Submit a request again; to the first root if its supervisor was removed."""
    if request.supervisor is not None and id_in(request.supervisor) not in state.supervisors:
        request = copy_with(request, supervisor=None)
    applied = submit(state, request, ctx)
    return copy_with(applied, summary=f"submitted {run_id} again as {applied.result['run_id']}")


def _request_of(summary: RunSummary) -> Submit:
    """Rebuild the request of a run from its summary, for previews; an engine passes the recorded one as `ctx.again`."""
    request = summary.title if isinstance(summary.request, TextRef) else summary.request
    return Submit(
        request=request,
        supervisor=id_target(summary.supervisor_id),
        conversation=summary.conversation,
        labels=summary.labels,
    )


def find_open_runs(state: State, references: Sequence[str], ctx: DecisionContext) -> list[str]:
    """Return the open runs among those that a new run is to wait for; done ones are left out.

    Raises:
        UnknownWork: If there never was such a run.
        Refused: If one of them failed or was cancelled.
    """
    open_ids: list[str] = []
    for run_id in dict.fromkeys(map(id_in, references)):
        if run_id in state.runs:
            open_ids.append(run_id)
            continue
        summary = state.summary(run_id)
        status = ctx.ended.get(run_id) if summary is None else summary.status
        if status is None:
            raise UnknownWork(run_id)
        if status != RunStatus.DONE:
            raise Refused(f"{run_id} {_describe_end(RunStatus(status))}, and what waits for it would never begin")
    return open_ids


def follow_run(state: State, followup: FollowRun, ctx: DecisionContext) -> list[Event]:
    """Begin a run when all runs before it are done; fail it if one of them failed or was cancelled."""
    run = state.runs.get(followup.run_id)
    root = state.tasks[run.root_id] if run is not None else None
    if run is None or root is None or root.status is not TaskStatus.WAITING:
        return []
    if followup.status is RunStatus.DONE:
        return [] if run.after else plan_group(state, PlanGroup(task_id=root.id), ctx)
    return [
        GroupEnded(
            run_id=run.id,
            task_id=root.id,
            status=TaskStatus.FAILED,
            output=None,
            error=f"{followup.previous_id} {_describe_end(followup.status)}, which this waits for",
        )
    ]


def _describe_end(status: RunStatus) -> str:
    return "failed" if status is RunStatus.FAILED else f"was {status.value}"


def set_priority(state: State, command: SetPriority, ctx: DecisionContext) -> Decided:
    """Give a run, or a task and all below it, another priority; waiting tasks keep their waiting time."""
    priority = command.priority
    subject = _find_open_work(state, command.target)
    if isinstance(subject, Run):
        name, run_id, task_id = f"run {subject.id}", subject.id, None
        tasks = [state.tasks[task_id] for task_id in subject.tasks]
    else:
        name, run_id, task_id = f"task {subject.id}", subject.run_id, subject.id
        tasks = task_subtree(state, subject)
    work = [task for task in tasks if task.kind == "agent" and not task.ended]
    if subject.priority == priority and all(task.priority == priority for task in work):
        raise Refused(f"{name} has priority {priority} already")
    event = PrioritySet(run_id=run_id, task_id=task_id, priority=priority, previous=subject.priority)
    at_work = sum(task.attempt is not None for task in work)
    waiting = len(work) - at_work
    return Decided(
        events=[event],
        summary=f"{name} has priority {priority}, before {subject.priority}: {waiting} waiting, {at_work} at work",
        result={"priority": priority, "previous": subject.priority, "waiting": waiting, "at_work": at_work},
    )


def _find_open_work(state: State, target: str) -> Run | Task:
    work = find_work(state, target)
    if isinstance(work, RunSummary):
        raise Refused(f"run {work.id} has ended already ({work.status.value}); its priority cannot be changed")
    if isinstance(work, Task) and work.ended:
        raise Refused(f"task {work.id} has ended already ({work.status.value}); its priority cannot be changed")
    return work


def reassign(state: State, command: Reassign, ctx: DecisionContext) -> Decided:
    """Give a task to an agent; a running attempt stops, and the task continues there with its finished steps."""
    task = find_task(state, command.task)
    agent = find_agent(state, command.agent)
    why_not = _task_refusal(state, task) or _agent_refusal(state, task, agent)
    if why_not is not None:
        raise Refused(why_not)
    attempt = task.attempt
    event = TaskReassigned(
        task_id=task.id,
        agent_id=agent.id,
        supervisor_id=agent.supervisor_id,
        stopping=attempt.number if attempt is not None else None,
        now=command.now and attempt is not None,
    )
    return Decided(
        events=[event],
        summary=f"gave {task.id} to {agent.name}{_describe_start(event)}",
        result={"task_id": task.id, "agent_id": agent.id, "stopping": attempt is not None},
    )


def _describe_start(event: TaskReassigned) -> str:
    if event.stopping is None:
        return ""
    return "; it is stopped now" if event.now else "; it goes there at its next step"


def _task_refusal(state: State, task: Task) -> str | None:
    if task.kind != "agent":
        return f"task {task.id} is not the work of an agent ({task.kind}); reassign a task under it"
    if task.ended:
        return f"task {task.id} has ended already ({task.status.value}); nothing to reassign"
    if is_cancelled(state, task):
        return f"task {task.id} is being cancelled"
    if task.escalation_id is not None:
        return f"task {task.id} waits for a person; answer {task.escalation_id} first"
    return None


def _agent_refusal(state: State, task: Task, agent: Agent) -> str | None:
    why_not = why_not_able(state, agent)
    if why_not is not None:
        return f"{agent.name} {why_not}; choose another agent"
    attempt = task.attempt
    if attempt is not None and attempt.agent_id == agent.id and attempt.stopping is None:
        return f"{agent.name} works on task {task.id} already"
    if task.queue == own_queue(agent.id):
        return f"task {task.id} is for {agent.name} already"
    return None
