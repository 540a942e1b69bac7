"""Sets deadlines, warns about them, and ends the work that exceeds them.

Only an object with a deadline of its own has timers: a run of 10,000 tasks has two. See docs/semantics/limits.md.
"""

from typing import NamedTuple

from engine.core.commands import SetDeadline
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided
from engine.core.errors import Refused
from engine.core.events import DeadlinePassed, DeadlineSet, DeadlineWarned, Event, GraceEnded
from engine.core.queries.targets import find_work
from engine.core.queries.team.tree import inherited_option, lineage_of, parent_deadline_ms, tasks_to_end
from engine.core.records.records import fact
from engine.core.specs.limits import WARN_AT, Limits
from engine.core.specs.options import GRACE_S
from engine.core.state import Run, RunSummary, State, Supervisor, Task, Timer


@fact
class Deadline:
    """A deadline and the time of its warning."""

    due_ms: int
    after_ms: int
    """Time from now to `due_ms`."""
    warn_ms: int


class _AllowedTime(NamedTuple):
    """How long a run may take, and the supervisor that limits it."""

    time_ms: int
    supervisor_name: str


def deadline_for(
    state: State, supervisor: Supervisor, requested_s: float | None, limits: Limits | None, ctx: DecisionContext
) -> Deadline | None:
    """Return the deadline of a run that `supervisor` receives now: the earliest of those requested and allowed."""
    candidates_ms = [] if requested_s is None else [round(requested_s * 1000)]
    if limits is not None and limits.run_s is not None:
        candidates_ms.append(round(limits.run_s * 1000))
    allowed = _allowed_time(state, supervisor)
    if allowed is not None:
        candidates_ms.append(allowed.time_ms)
    return _make_deadline(min(candidates_ms), _warn_at(state, supervisor, limits), ctx) if candidates_ms else None


def _make_deadline(after_ms: int, warn_at: float, ctx: DecisionContext) -> Deadline:
    after_ms = max(1, after_ms)
    return Deadline(due_ms=ctx.now_ms + after_ms, after_ms=after_ms, warn_ms=ctx.now_ms + round(after_ms * warn_at))


def _allowed_time(state: State, supervisor: Supervisor) -> _AllowedTime | None:
    """Return how long a run may take under `supervisor`; None without a limit."""
    allowed: list[_AllowedTime] = []
    for ancestor in lineage_of(state, supervisor):
        for limits in (ancestor.options.limits, ancestor.options.run_limits):
            if limits is not None and limits.run_s is not None:
                allowed.append(_AllowedTime(max(1, round(limits.run_s * 1000)), ancestor.name))
    return min(allowed) if allowed else None


def _warn_at(state: State, supervisor: Supervisor, limits: Limits | None) -> float:
    own_limits: Limits | None = (
        limits or inherited_option(state, supervisor, "run_limits", None) or supervisor.options.limits
    )
    return WARN_AT if own_limits is None else own_limits.warn_at


def set_deadline(state: State, command: SetDeadline, ctx: DecisionContext) -> Decided:
    """Set or remove a deadline; refused if it is later than that of an ancestor."""
    work = find_work(state, command.target)
    if isinstance(work, RunSummary):
        raise Refused(f"run {work.id} has ended already ({work.status.value}); it needs no deadline")
    requested_s = command.deadline_s
    if command.due_ms is not None:
        requested_s = (command.due_ms - ctx.now_ms) / 1000
        if requested_s <= 0:
            raise Refused(f"that deadline of {work.id} has passed; set a later one")
    if isinstance(work, Task) and work.parent_id is not None:
        return _set_for_task(state, work, requested_s, ctx)
    run = work if isinstance(work, Run) else state.runs[work.run_id]
    return _set_for_run(state, run, requested_s, ctx)


def _set_for_run(state: State, run: Run, requested_s: float | None, ctx: DecisionContext) -> Decided:
    if run.cancelling or state.tasks[run.root_id].ended:
        raise Refused(f"run {run.id} is being stopped already; it needs no deadline")
    supervisor = state.supervisors.get(run.supervisor_id)
    allowed = None if supervisor is None else _allowed_time(state, supervisor)
    deadline = None
    if requested_s is not None:
        warn_at = WARN_AT if supervisor is None else _warn_at(state, supervisor, run.limits)
        deadline = _make_deadline(round(requested_s * 1000), warn_at, ctx)
    if allowed is not None:
        latest_ms = run.started_ms + allowed.time_ms
        if deadline is None or deadline.due_ms > latest_ms:
            left_s = max(0, latest_ms - ctx.now_ms) / 1000
            raise Refused(
                f"supervisor {allowed.supervisor_name!r} lets a run take {seconds(allowed.time_ms)}, "
                f"and {left_s:g} s of that are left; "
                "set an earlier deadline, or change its limits first"
            )
    return _deadline_decision(run.id, None, deadline, f"run {run.id}")


def _set_for_task(state: State, task: Task, requested_s: float | None, ctx: DecisionContext) -> Decided:
    if task.ended:
        raise Refused(f"task {task.id} has ended already ({task.status.value}); it needs no deadline")
    if task.cancelling or state.runs[task.run_id].cancelling:
        raise Refused(f"task {task.id} is being stopped already; it needs no deadline")
    deadline = None if requested_s is None else _make_deadline(round(requested_s * 1000), WARN_AT, ctx)
    parent_due_ms = parent_deadline_ms(state, task)
    if deadline is not None and parent_due_ms is not None and deadline.due_ms > parent_due_ms:
        left_s = max(0, parent_due_ms - ctx.now_ms) / 1000
        raise Refused(
            f"task {task.id} is part of what has to have ended in {left_s:g} s; "
            f"set an earlier deadline, or that of run {task.run_id} first"
        )
    return _deadline_decision(task.run_id, task.id, deadline, f"task {task.id}")


def _deadline_decision(run_id: str, task_id: str | None, deadline: Deadline | None, subject_name: str) -> Decided:
    event = DeadlineSet(
        run_id=run_id,
        task_id=task_id,
        deadline_ms=None if deadline is None else deadline.due_ms,
        after_ms=None if deadline is None else deadline.after_ms,
        warn_ms=None if deadline is None else deadline.warn_ms,
    )
    effect = "has no deadline of its own" if deadline is None else f"has to have ended in {seconds(deadline.after_ms)}"
    return Decided(events=[event], summary=f"{subject_name} {effect}", result={"deadline_ms": event.deadline_ms})


def seconds(time_ms: int) -> str:
    """Return a duration in words for messages about deadlines; in whole seconds from ten seconds on."""
    return f"{time_ms / 1000:g} s" if time_ms < 10_000 else f"{time_ms / 1000:,.0f} s"


def warning_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """Record the warning before a deadline."""
    subject = state.runs.get(timer.subject) or state.tasks[timer.subject]
    run_id, task_id = _place(subject)
    return [DeadlineWarned(run_id=run_id, task_id=task_id, deadline_ms=subject.deadline_ms or 0)]


def deadline_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """End a run or task whose deadline has passed."""
    subject = state.runs.get(timer.subject) or state.tasks[timer.subject]
    run_id, task_id = _place(subject)
    ended_ids, stopping = tasks_to_end(state, subject)
    return [
        DeadlinePassed(
            run_id=run_id,
            task_id=task_id,
            ended=ended_ids,
            stopping=stopping,
            grace_due_ms=ctx.now_ms + grace_ms(state, subject.supervisor_id) if stopping else None,
            error=f"deadline of {seconds(subject.deadline_after_ms or 0)} passed",
        )
    ]


def grace_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """Abort attempts that did not reach their next step within the grace period."""
    subject = state.runs.get(timer.subject) or state.tasks[timer.subject]
    run_id, task_id = _place(subject)
    _, stopping = tasks_to_end(state, subject)
    return [GraceEnded(run_id=run_id, task_id=task_id, stopping=stopping)]


def _place(subject: Run | Task) -> tuple[str, str | None]:
    return (subject.id, None) if isinstance(subject, Run) else (subject.run_id, subject.id)


def grace_ms(state: State, supervisor_id: str) -> int:
    """Return the grace period under a supervisor, in milliseconds."""
    supervisor = state.supervisors.get(supervisor_id)
    grace_s: float = GRACE_S if supervisor is None else inherited_option(state, supervisor, "grace_s", GRACE_S)
    return round(grace_s * 1000)
