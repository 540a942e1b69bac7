"""What goes on by itself when a task ends. What begins: `dispatch`. Failures: `failing`. Ends of graphs: `closing`."""

from engine.core.context import Context
from engine.core.decide.closing import check_group
from engine.core.decide.mint import Mint
from engine.core.decide.plan import plan_group
from engine.core.events import (
    AttemptStarted,
    CallAnswered,
    CancelRequested,
    Event,
    NeedMet,
    TaskFailed,
    TaskSkipped,
)
from engine.core.fold.ending import lets_pass
from engine.core.prompts import AfterEnd, AnswerNow, CheckGroup, LookAt, PlanGroup
from engine.core.queries.work import below
from engine.core.signals import TextRead
from engine.core.state import State, Task, TaskStatus


def look_at(state: State, prompt: LookAt, ctx: Context, mint: Mint | None = None) -> list[Event]:
    """Plan a group or start a join that waits for nothing any more."""
    task = state.tasks.get(prompt.task_id)
    if task is None or task.status is not TaskStatus.WAITING or task.attempt is not None:
        return []
    if task.need and (events := settled(state, task)):
        return events
    if task.blockers:
        return []
    if task.kind == "group":
        return plan_group(state, PlanGroup(task_id=task.id), ctx, mint)
    if task.kind not in ("join", "check"):
        return []
    if (reason := _nothing_to_look_at(state, task)) is not None:
        return [TaskSkipped(task_id=task.id, reason=reason, optional=True)]
    return [AttemptStarted(task_id=task.id, attempt=task.attempts + 1, agent_id=None, generation=0)]


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
    events: list[Event] = _stop_orphans(state, task)
    mint = Mint(state)
    for task_id in task.before:
        events += _following(state, task, state.tasks[task_id], ctx, mint)
    if task.parent_id is None:
        return events
    asker = state.tasks.get(task.asker_id or "")
    attempt = asker.attempt if asker is not None else None
    if asker is not None and attempt is not None and task.call_key in attempt.owed and attempt.waits:
        events.append(_answered(asker, attempt.number, task.call_key or ""))
    return events + check_group(state, CheckGroup(task_id=task.parent_id), ctx)


def _answered(task: Task, attempt: int, call_key: str) -> CallAnswered:
    return CallAnswered(task_id=task.id, attempt=attempt, call_key=call_key)


def _following(state: State, task: Task, following: Task, ctx: Context, mint: Mint) -> list[Event]:
    if following.ended:
        return []
    if not lets_pass(task):
        reason = f"{task.title} {'failed' if task.status is TaskStatus.FAILED else 'was skipped'}"
        return [TaskSkipped(run_id=task.run_id, task_id=following.id, reason=reason)]
    return look_at(state, LookAt(task_id=following.id), ctx, mint)


def settled(state: State, node: Task) -> list[Event]:
    """Let a node that needs a number of answers go on, or fail, as soon as that is certain; the rest is stopped."""
    nodes = [state.tasks[one] for one in (node.after if node.sees is None else node.sees)]
    nodes = [one for one in nodes if one.kind != "check"]
    left = [one for one in nodes if not one.ended]
    came = sorted((one for one in nodes if one.status is TaskStatus.DONE), key=lambda one: one.ended_ms or 0)
    need = node.need or 0
    if len(came) >= need:
        first = {one.id for one in came[:need]}
        met = NeedMet(
            task_id=node.id,
            answers=[one.id for one in nodes if one.id in first],
            after=[one for one in node.after if state.tasks[one].ended],
        )
        reason = "the first answer is there" if need == 1 else f"{need} answers are there"
        return [met, *_not_needed(state, left, reason)]
    missed = [one for one in nodes if one.ended and one.status not in (TaskStatus.DONE, TaskStatus.CANCELLED)]
    cancelled = len(nodes) - len(left) - len(came) - len(missed)
    if not missed or len(came) + len(left) >= min(need, len(nodes) - cancelled):
        return []
    if all(one.status is TaskStatus.SKIPPED for one in missed) and len(missed) + cancelled == len(nodes):
        return []  # there is nothing to work on, and nothing has failed
    last = f"{missed[-1].title}: {missed[-1].error}"
    error = f"{need} of {len(nodes)} answers are needed and {len(missed)} will not come ({last})"
    failed = TaskFailed(task_id=node.id, error=error)
    return [failed, *_not_needed(state, left, "too few answers are left")]


def _not_needed(state: State, tasks: list[Task], reason: str) -> list[Event]:
    """Stop at once what nothing waits for."""
    return [stop(state, task, reason, at_once=True) for task in tasks if not task.cancelling]


def _stop_orphans(state: State, task: Task) -> list[Event]:
    """An attempt ended for good: what it had asked for and did not wait for is of no use any more."""
    if task.kind != "agent" or not task.open:
        return []
    children = (state.tasks[task_id] for task_id in task.children)
    return [stop(state, child, f"{task.title} ended") for child in children if not child.ended and not child.cancelling]


def stop(state: State, root: Task, reason: str, *, at_once: bool = False) -> CancelRequested:
    """Return the event that stops a task and all below it, at its next step or where it is."""
    tasks = [task for task in below(state, root) if not task.ended]
    return CancelRequested(
        run_id=root.run_id,
        task_id=root.id,
        cancelled=[
            task.id
            for task in tasks
            if task.attempt is None and (task.kind != "group" or task.status is TaskStatus.WAITING)
        ],
        stopping=[task.id for task in tasks if task.attempt is not None],
        reason=reason,
        at_once=at_once,
    )


def answer_now(state: State, prompt: AnswerNow, ctx: Context) -> list[Event]:
    """Tell an attempt that holds its slot what a call brought."""
    task = state.tasks.get(prompt.task_id)
    if task is None or task.attempt is None:
        return []
    return [_answered(task, task.attempt.number, prompt.call_key)]
