"""An attempt that was asked to stop has stopped: what becomes of its task follows from why it was asked."""

from collections.abc import Callable
from typing import TypeAlias

from engine.core.context import Context
from engine.core.events import AttemptCancelled, AttemptLost, AttemptMigrated, AttemptPreempted, Event
from engine.core.queries.work import cause_of, is_cancelled
from engine.core.signals import AttemptStopped
from engine.core.state import Attempt, State, StopReason, Task

OnStopped: TypeAlias = Callable[[State, Task, Attempt, AttemptStopped, Context], list[Event]]


def cancelled(state: State, task: Task, attempt: Attempt, signal: AttemptStopped, ctx: Context) -> list[Event]:
    """End the task with what it had said so far."""
    return [_ended(task, attempt, signal, requeued=False, limit=exceeded_by(state, task))]


def requeued(state: State, task: Task, attempt: Attempt, signal: AttemptStopped, ctx: Context) -> list[Event]:
    """Let another attempt do the task, on what is finished of it."""
    return [_ended(task, attempt, signal, requeued=True)]


def _ended(task: Task, attempt: Attempt, signal: AttemptStopped, *, requeued: bool,
           restarted: bool = False, limit: str | None = None) -> Event:  # fmt: skip
    return AttemptCancelled(
        task_id=task.id,
        attempt=attempt.number,
        agent_id=attempt.agent_id,
        partial=signal.partial,
        duration_ms=signal.duration_ms,
        usage=signal.usage,
        stuck=signal.stuck,
        requeued=requeued,
        restarted=restarted,
        limit=limit,
    )


def restarted(state: State, task: Task, attempt: Attempt, signal: AttemptStopped, ctx: Context) -> list[Event]:
    """Let the task begin again from its input; what is finished of it is thrown away."""
    return [_ended(task, attempt, signal, requeued=True, restarted=True)]


def migrated(state: State, task: Task, attempt: Attempt, signal: AttemptStopped, ctx: Context) -> list[Event]:
    """Let the same attempt go on with the agent's generation of the moment."""
    assert attempt.agent_id is not None
    if task.calling:  # cut off in the middle of a tool call: a person says first whether that happened
        return requeued(state, task, attempt, signal, ctx)
    return [
        AttemptMigrated(
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            before=attempt.generation,
            generation=state.agents[attempt.agent_id].generation,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
            stuck=signal.stuck,
        )
    ]


def preempted(state: State, task: Task, attempt: Attempt, signal: AttemptStopped, ctx: Context) -> list[Event]:
    """Let the task wait again, with its finished steps."""
    assert attempt.agent_id is not None
    return [
        AttemptPreempted(
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            for_task_id=task.yields_to,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
            stuck=signal.stuck,
        )
    ]


ON_STOPPED: dict[StopReason, OnStopped] = {
    "cancel": cancelled,
    "requeue": requeued,
    "crash": requeued,
    "migrate": migrated,
    "preempt": preempted,
    "restart": restarted,
}
"""What follows, by why it was asked to stop."""


def stopped(state: State, task: Task, attempt: Attempt, signal: AttemptStopped, ctx: Context) -> list[Event]:
    """Decide what becomes of the task of an attempt that has stopped; a task that is being cancelled is cancelled."""
    reason: StopReason = "cancel" if is_cancelled(state, task) else attempt.stopping or "cancel"
    return ON_STOPPED[reason](state, task, attempt, signal, ctx)


def lost(state: State, task: Task, attempt: Attempt, ctx: Context) -> list[Event]:
    """Decide what becomes of the task of an attempt that nothing runs any more: it waits, with its finished steps.

    One that was asked to stop has stopped by that.
    """
    if is_cancelled(state, task) or attempt.stopping not in (None, "migrate"):
        return stopped(state, task, attempt, AttemptStopped(task_id=task.id, attempt=attempt.number), ctx)
    return [AttemptLost(task_id=task.id, attempt=attempt.number, agent_id=attempt.agent_id)]


def exceeded_by(state: State, task: Task) -> str | None:
    """Return the deadline or the budget for which `task` is being ended, in words; None where an operator ends it."""
    return cause_of(state, task).exceeded
