"""What goes on by itself when a task ends. What begins: `dispatch`. Failures: `failing`. Ends of graphs: `closing`."""

from engine.core.context import Context
from engine.core.decide.closing import check_group
from engine.core.decide.mint import Mint
from engine.core.decide.plan import plan_group
from engine.core.decide.stopping import below
from engine.core.events import (
    AttemptStarted,
    CallAnswered,
    CancelRequested,
    Event,
    TaskFailed,
    TaskSkipped,
)
from engine.core.fold.ending import lets_pass
from engine.core.prompts import AfterEnd, AnswerNow, CheckGroup, LookAt, PlanGroup
from engine.core.signals import TextRead
from engine.core.state import State, Task, TaskStatus


def look_at(state: State, prompt: LookAt, ctx: Context, mint: Mint | None = None) -> list[Event]:
    """Plan a group or start a join that waits for nothing any more."""
    task = state.tasks.get(prompt.task_id)
    if task is None or task.status is not TaskStatus.WAITING or task.blockers:
        return []
    if task.kind == "group":
        return plan_group(state, PlanGroup(task_id=task.id), ctx, mint)
    if task.kind not in ("join", "check") or task.attempt is not None:
        return []
    if (reason := _nothing_to_look_at(state, task)) is not None:
        return [TaskSkipped(at_ms=ctx.now_ms, run_id=task.run_id, task_id=task.id, reason=reason, optional=True)]
    return [
        AttemptStarted(
            at_ms=ctx.now_ms,
            run_id=task.run_id,
            task_id=task.id,
            attempt=task.attempts + 1,
            agent_id=None,
            generation=0,
        )
    ]


def _nothing_to_look_at(state: State, task: Task) -> str | None:
    """Return why a built-in node has nothing to work on, where others should have brought something.

    A list may be empty, and guards may ask how work ended.
    """
    if task.join == "list" or (task.check is not None and task.check.what == "guards"):
        return None
    nodes = [state.tasks[one] for one in (task.after if task.sees is None else task.sees)]
    nodes = [node for node in nodes if node.kind != "check"]
    if not nodes or any(node.status is TaskStatus.DONE for node in nodes):
        return None
    return f"there is nothing to work on; {nodes[0].title}: {nodes[0].error}"


def text_read(state: State, signal: TextRead, ctx: Context) -> list[Event]:
    """Plan a group whose request was read from the journal."""
    return plan_group(state, PlanGroup(task_id=signal.task_id, text=signal.text), ctx)


def after_end(state: State, prompt: AfterEnd, ctx: Context) -> list[Event]:
    """Let go on, or skip, what waited for a task; tell the group or the attempt that it is part of."""
    task = state.tasks.get(prompt.task_id)
    if task is None:
        return []
    events: list[Event] = _stop_orphans(state, task, ctx)
    mint = Mint(state)
    for task_id in task.before:
        events += _following(state, task, state.tasks[task_id], ctx, mint)
    if task.parent_id is None:
        return events
    parent = state.tasks[task.parent_id]
    if parent.kind == "group":
        return events + check_group(state, CheckGroup(task_id=parent.id), ctx)
    attempt = parent.attempt
    if attempt is not None and task.call_key in attempt.owed and attempt.waits:
        events.append(_answered(parent, attempt.number, task.call_key or "", ctx))
    return events


def _answered(task: Task, attempt: int, call_key: str, ctx: Context) -> CallAnswered:
    return CallAnswered(at_ms=ctx.now_ms, run_id=task.run_id, task_id=task.id, attempt=attempt, call_key=call_key)


def _following(state: State, task: Task, following: Task, ctx: Context, mint: Mint) -> list[Event]:
    if following.ended:
        return []
    if not lets_pass(task):
        reason = f"{task.title} {'failed' if task.status is TaskStatus.FAILED else 'was skipped'}"
        return [TaskSkipped(at_ms=ctx.now_ms, run_id=task.run_id, task_id=following.id, reason=reason)]
    done = sum(state.tasks[one].status is TaskStatus.DONE for one in following.after) if following.need else 0
    if following.blockers == 0 and following.need and done < _still_possible(state, following):
        error = f"{following.need} of {len(following.after)} are needed and {done} came"
        return [TaskFailed(at_ms=ctx.now_ms, run_id=task.run_id, task_id=following.id, error=error)]
    if following.blockers == 0:
        return look_at(state, LookAt(task_id=following.id), ctx, mint)
    if task.status is TaskStatus.DONE and (following.join == "first" or (following.need and done >= following.need)):
        return _stop_others(state, task, following, ctx)
    return []


def _still_possible(state: State, join: Task) -> int:
    """How many answers are asked for: whoever was cancelled by an operator is gone on without."""
    cancelled = sum(state.tasks[one].status is TaskStatus.CANCELLED for one in join.after)
    return min(join.need or 0, len(join.after) - cancelled)


def _stop_others(state: State, winner: Task, join: Task, ctx: Context) -> list[Event]:
    """As many answers are there as were asked for: the others are not needed any more."""
    others = [state.tasks[task_id] for task_id in join.after if not state.tasks[task_id].ended]
    events: list[Event] = []
    for other in others:
        if not other.cancelling:
            reason = f"{join.need} answers are there" if join.need else f"{winner.title} was first"
            events.append(stop(state, other, reason, ctx))
    return events


def _stop_orphans(state: State, task: Task, ctx: Context) -> list[Event]:
    """An attempt ended for good: what it had asked for and did not wait for is of no use any more."""
    if task.kind != "agent" or not task.open:
        return []
    children = (state.tasks[task_id] for task_id in task.children)
    return [
        stop(state, child, f"{task.title} ended", ctx) for child in children if not child.ended and not child.cancelling
    ]


def stop(state: State, root: Task, reason: str, ctx: Context) -> CancelRequested:
    """Return the event that stops a task and all below it."""
    tasks = [task for task in below(state, root) if not task.ended]
    return CancelRequested(
        at_ms=ctx.now_ms,
        run_id=root.run_id,
        task_id=root.id,
        cancelled=[
            task.id
            for task in tasks
            if task.attempt is None and (task.kind != "group" or task.status is TaskStatus.WAITING)
        ],
        stopping=[task.id for task in tasks if task.attempt is not None],
        reason=reason,
    )


def answer_now(state: State, prompt: AnswerNow, ctx: Context) -> list[Event]:
    """Tell an attempt that holds its slot what a call brought."""
    task = state.tasks.get(prompt.task_id)
    if task is None or task.attempt is None:
        return []
    return [_answered(task, task.attempt.number, prompt.call_key, ctx)]
