"""What becomes of a task whose attempt failed: its policies are asked in turn, and what they say becomes events."""

from engine.core.context import Context
from engine.core.decide.budgets import before_retry
from engine.core.decide.escalations import ask
from engine.core.decide.progress import stop
from engine.core.events import (
    Event,
    RetryDue,
    RetryScheduled,
    TaskAnswered,
    TaskFailed,
    TaskFailedOver,
    TaskSkipped,
    TaskTriedAnew,
)
from engine.core.policies.chain import chain_of, walk
from engine.core.policies.records import Failover
from engine.core.policies.rules import AskPerson, Failures, GiveTo, GiveUp, TryAgain, Verdict
from engine.core.prompts import Answered, ApplyPolicy
from engine.core.queries.queues import own_queue
from engine.core.queries.stand_in import stand_ins
from engine.core.queries.work import is_cancelled
from engine.core.state import State, Task, TaskStatus, Timer

OPTIONS = ["retry", "reject", "skip", "use"]
"""What a person can say of a task that failed: its policies begin anew; what the policies after the question say; those
who wait for it go on without it; or its output is the one given."""


def apply_policy(state: State, prompt: ApplyPolicy, ctx: Context) -> list[Event]:
    """Ask the policies of a task whose attempt failed what is next."""
    task = state.tasks.get(prompt.task_id)
    if task is None or task.status is not TaskStatus.WAITING:
        return []  # ended meanwhile
    if task.kind != "agent" or is_cancelled(state, task):
        return [_failed(task)]
    if task.calling:
        return []  # in doubt: what a person says of that comes first
    chain = chain_of(state, task)
    if not chain:
        return _given_up(state, task, GiveUp())
    hands_on = any(isinstance(policy, Failover) for policy in chain)  # who else could do it is dear to find out
    failures = Failures(
        error=task.error or "failed",
        error_types=prompt.error_types,
        retryable=prompt.retryable,
        retry_after_s=prompt.retry_after_s,
        retries=task.retries,
        failovers=task.failovers,
        others=_others(state, task) if hands_on else (),
        asked=task.tried_by_default,
        jitter=ctx.jitter,
    )
    place, verdict = walk(chain, failures)
    return _events(state, task, failures, place, verdict, ctx)


def _others(state: State, task: Task) -> list[str]:
    return [agent.id for agent in stand_ins(state, task)]


def _events(state: State, task: Task, failures: Failures, place: int, verdict: Verdict, ctx: Context) -> list[Event]:
    if isinstance(verdict, TryAgain):
        return before_retry(state, task, ctx) or [_scheduled(task, failures, verdict.delay_ms, ctx)]
    if isinstance(verdict, GiveTo):
        return [_given(state, task, verdict.agent_id)]
    if isinstance(verdict, AskPerson):
        return [_asked(state, task, place, verdict, ctx)]
    return _given_up(state, task, verdict)


def _scheduled(task: Task, failures: Failures, delay_ms: int, ctx: Context) -> Event:
    return RetryScheduled(
        task_id=task.id,
        retry=task.retries + 1,
        delay_ms=delay_ms,
        due_ms=ctx.now_ms + delay_ms,
        jitter=ctx.jitter,
        retry_after_s=failures.retry_after_s,
    )


def _given(state: State, task: Task, agent_id: str) -> Event:
    failed = state.agents.get(task.agent_id or "")
    name = state.agents[agent_id].name
    return TaskFailedOver(
        task_id=task.id,
        from_id=task.agent_id,
        to_id=agent_id,
        queue=own_queue(agent_id),
        reason=f"{failed.name if failed is not None else 'its agent'} failed; {name} takes over",
    )


def _asked(state: State, task: Task, place: int, verdict: AskPerson, ctx: Context) -> Event:
    return ask(
        state,
        ctx,
        kind="failure",
        subject=task.id,
        run_id=task.run_id,
        question=f"{task.title} failed: {task.error or 'no message'}; what is to become of it?",
        options=OPTIONS,
        default=verdict.default,
        after_ms=verdict.after_ms,
        detail={"place": place},
    )


def _failed(task: Task, *, optional: bool | None = None) -> TaskFailed:
    error = task.error or "failed"
    return TaskFailed(task_id=task.id, error=error, optional=optional)


def _skipped(task: Task) -> TaskSkipped:
    reason = task.error or "failed"
    return TaskSkipped(task_id=task.id, reason=reason, optional=True)


def _given_up(state: State, task: Task, verdict: GiveUp) -> list[Event]:
    if verdict.optional:
        return [_skipped(task)]
    failed = _failed(task, optional=False)
    if not verdict.whole:
        return [failed]
    reason = f"{task.title} failed, and what it is part of with it"
    return [failed, *(stop(state, one, reason) for one in _beside(state, task))]


def _beside(state: State, task: Task) -> list[Task]:
    """Return what is open of the graph, or of the call, that a task is part of."""
    parent = state.tasks.get(task.parent_id or "")
    if parent is None:
        return []
    tasks = (state.tasks[task_id] for task_id in parent.children if task_id != task.id)
    tasks = (one for one in tasks if parent.kind == "group" or one.call_key == task.call_key)
    return [one for one in tasks if not one.ended and not one.cancelling]


def retry_due(state: State, timer: Timer, ctx: Context) -> list[Event]:
    """End a back-off whose time has come."""
    task = state.tasks[timer.subject]
    return [RetryDue(task_id=task.id)]


def answered(state: State, prompt: Answered, ctx: Context) -> list[Event]:
    """Do with a failed task what a person, or the default, says."""
    task = state.tasks.get(prompt.subject)
    if task is None or task.status is not TaskStatus.WAITING:
        return []
    if prompt.answer == "retry":
        queue = _home(state, task)
        return [TaskTriedAnew(task_id=task.id, queue=queue, by=prompt.by)]
    if prompt.answer == "use":
        return [TaskAnswered(task_id=task.id)]
    if prompt.answer == "skip":
        return [_skipped(task)]
    place = prompt.detail.get("place")
    failures = Failures(error=task.error or "failed", retries=task.retries, failovers=task.failovers,
                        others=_others(state, task), asked=task.tried_by_default, jitter=ctx.jitter)  # fmt: skip
    after = place if isinstance(place, int) else len(chain_of(state, task))
    return _events(state, task, failures, *walk(chain_of(state, task), failures, after=after), ctx)


def _home(state: State, task: Task) -> str:
    """Return the queue where a task was before its first failure, or the one where it is."""
    if task.came_from is not None and task.came_from in state.queues:
        return task.came_from
    first = state.agents.get(task.failed_on[0]) if task.failed_on else None
    planned = task.queue is not None and task.queue.startswith("agent:")
    if planned and first is not None and first.removing is None:
        return own_queue(first.id)
    assert task.queue is not None
    return task.queue
