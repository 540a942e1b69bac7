"""Continues graphs and runs when tasks end, and decides their status, output and error.

The output of a graph is that of its final node. If that was skipped, passed by or cancelled, it is the output of its
only done predecessor; with none or several, the graph has no output.
"""

from collections.abc import Sequence

from engine.core.decide.people.asking import end_grants
from engine.core.decide.work.attempts import call_answered, exceeded_by, stop_all
from engine.core.decide.work.dispatch import place_again
from engine.core.decide.work.graphs import plan_group
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Mint
from engine.core.events import (
    AttemptStarted,
    Event,
    GroupEnded,
    NeedMet,
    RunFigures,
    RunFinished,
    TaskFailed,
    TaskSkipped,
)
from engine.core.followups import AfterEnd, AnswerNow, CheckGroup, FinishRun, PlaceAgain, PlanGroup, StartUnblocked
from engine.core.queries.team.tree import is_cancelled, why_cancelled
from engine.core.queries.work.critical_path import critical_path
from engine.core.queries.work.retries import lets_pass
from engine.core.records.records import field_names
from engine.core.signals import TextRead
from engine.core.state import Attempt, Run, RunStatus, State, Task, TaskStatus


def start_unblocked(
    state: State, followup: StartUnblocked, ctx: DecisionContext, mint: Mint | None = None
) -> list[Event]:
    """Plan a group, or start a join or check, once nothing blocks it."""
    task = state.tasks.get(followup.task_id)
    if task is None or task.status is not TaskStatus.WAITING or task.attempt is not None:
        return []
    if task.need and (events := settle_need(state, task)):
        return events
    if task.blockers:
        return []
    if task.kind == "group":
        return plan_group(state, PlanGroup(task_id=task.id), ctx, mint)
    if task.kind not in ("join", "check"):
        return []
    if (reason := _missing_input(state, task)) is not None:
        return [TaskSkipped(task_id=task.id, reason=reason, optional=True)]
    return [AttemptStarted(task_id=task.id, attempt=task.attempts + 1, agent_id=None, generation=0)]


def _missing_input(state: State, task: Task) -> str | None:
    """Return why a built-in node has no input; None if it can run (lists may be empty, guards may test failures)."""
    if task.join == "list" or (task.check is not None and task.check.what == "guards"):
        return None
    nodes = [state.tasks[task_id] for task_id in (task.after if task.sees is None else task.sees)]
    nodes = [node for node in nodes if node.kind != "check"]
    if not nodes or any(node.status is TaskStatus.DONE for node in nodes):
        return None
    return f"there is nothing to work on; {nodes[0].title}: {nodes[0].error}"


def text_read(state: State, signal: TextRead, ctx: DecisionContext) -> list[Event]:
    """Plan a group whose request was read from the journal."""
    return plan_group(state, PlanGroup(task_id=signal.task_id, text=signal.text), ctx)


def after_end(state: State, followup: AfterEnd, ctx: DecisionContext) -> list[Event]:
    """Continue or skip the dependents of a task, and notify its group or asker."""
    task = state.tasks.get(followup.task_id)
    if task is None:
        return []
    events: list[Event] = _stop_orphans(state, task)
    if state.grants and task.ended:
        events += end_grants(state, "task", task.id)
    # One counter for all dependents: the state does not change in between, so each would issue the same ids.
    mint = Mint(state)
    for task_id in task.before:
        events += _continue_dependent(state, task, state.tasks[task_id], ctx, mint)
    # Only tasks of a plan; nodes of a graph were planned for a member and wait for it.
    if task.call_key is not None and task.before:
        events += _place_again(state, task, ctx)
    if task.parent_id is None:
        return events
    asker = state.tasks.get(task.asker_id or "")
    attempt = asker.attempt if asker is not None else None
    if asker is not None and attempt is not None and task.call_key in attempt.owed and _is_answered_at_once(attempt):
        events.append(call_answered(asker, attempt, task.call_key or ""))
    return events + check_group(state, CheckGroup(task_id=task.parent_id), ctx)


def _place_again(state: State, task: Task, ctx: DecisionContext) -> list[Event]:
    """Place the dependents of a plan's task again: the agents may have changed since the plan was made."""
    following = (state.tasks[task_id] for task_id in task.before)
    keys = dict.fromkeys(dependent.queue for dependent in following if dependent.ready and dependent.queue is not None)
    return [event for key in keys for event in place_again(state, PlaceAgain(queue=key), ctx)]


def _is_answered_at_once(attempt: Attempt) -> bool:
    """Return whether an attempt is answered at once, and not only when it resumes with a slot."""
    return not attempt.parked or bool(attempt.waits)


def _continue_dependent(state: State, task: Task, following: Task, ctx: DecisionContext, mint: Mint) -> list[Event]:
    if following.ended:
        return []
    if not lets_pass(task):
        reason = f"{task.title} {'failed' if task.status is TaskStatus.FAILED else 'was skipped'}"
        return [TaskSkipped(run_id=task.run_id, task_id=following.id, reason=reason)]
    return start_unblocked(state, StartUnblocked(task_id=following.id), ctx, mint)


def settle_need(state: State, node: Task) -> list[Event]:
    """Continue or fail a node that needs N answers as soon as its outcome is certain; stop the remaining tasks."""
    before = {*(node.after if node.sees is None else node.sees)}
    # In the order of the plan: after a switch, the edges list done nodes before running ones.
    planned = (state.tasks[task_id] for task_id in state.tasks[node.parent_id or ""].children if task_id in before)
    nodes = [task for task in planned if task.kind != "check"]
    open_tasks = [task for task in nodes if not task.ended]
    done = [task for task in nodes if task.status is TaskStatus.DONE]
    need = node.need or 0
    if len(done) >= need:
        need_met = NeedMet(
            task_id=node.id,
            answers=[task.id for task in done[:need]],
            after=[task_id for task_id in node.after if state.tasks[task_id].ended],
        )
        reason = "the first answer is there" if need == 1 else f"{need} answers are there"
        return [need_met, *stop_all(state, open_tasks, reason, at_once=True)]
    # Cancelled answers lower the number that is needed: an operator took them away, nothing failed.
    missed = [task for task in nodes if task.ended and task.status not in (TaskStatus.DONE, TaskStatus.CANCELLED)]
    cancelled = len(nodes) - len(open_tasks) - len(done) - len(missed)
    if not missed or len(done) + len(open_tasks) >= min(need, len(nodes) - cancelled):
        return []
    if all(task.status is TaskStatus.SKIPPED for task in missed) and len(missed) + cancelled == len(nodes):
        return []  # all were skipped: `_missing_input` skips this node as well
    last = f"{missed[-1].title}: {missed[-1].error}"
    error = f"{need} of {len(nodes)} answers are needed and {len(missed)} will not come ({last})"
    failed = TaskFailed(task_id=node.id, error=error)
    return [failed, *stop_all(state, open_tasks, "too few answers are left", at_once=True)]


def _stop_orphans(state: State, task: Task) -> list[Event]:
    """Stop the delegations that a finished task did not wait for."""
    if task.kind != "agent" or not task.open:
        return []
    children = (state.tasks[task_id] for task_id in task.children)
    return stop_all(state, children, f"{task.title} ended")


def answer_now(state: State, followup: AnswerNow, ctx: DecisionContext) -> list[Event]:
    """Answer a call of an attempt that holds its slot."""
    task = state.tasks.get(followup.task_id)
    if task is None or task.attempt is None:
        return []
    return [call_answered(task, task.attempt, followup.call_key)]


def check_group(state: State, followup: CheckGroup, ctx: DecisionContext) -> list[Event]:
    """End a group when all its nodes have ended."""
    group = state.tasks.get(followup.task_id)
    if group is None or group.kind != "group" or group.status is not TaskStatus.RUNNING or group.open:
        return []
    nodes = [state.tasks[task_id] for task_id in group.children if state.tasks[task_id].kind != "check"]
    source = _source(state, group, nodes)
    status, error = _status(state, group, source)
    if status is not TaskStatus.DONE or source is None:
        source = _partial_source(state, group, nodes)
    return [
        GroupEnded(task_id=group.id, status=status, output=source.output if source is not None else None, error=error)
    ]


def _status(state: State, group: Task, source: Task | None) -> tuple[TaskStatus, str | None]:
    exceeded = exceeded_by(state, group)
    if exceeded is not None:
        return TaskStatus.FAILED, exceeded
    if is_cancelled(state, group):
        return TaskStatus.CANCELLED, why_cancelled(state, group)
    if group.error is not None:
        return TaskStatus.FAILED, group.error
    nodes = [state.tasks[task_id] for task_id in group.children]
    failed = next((node for node in nodes if node.status is TaskStatus.FAILED and not lets_pass(node)), None)
    if failed is not None:
        return TaskStatus.FAILED, f"{failed.title}: {failed.error}"
    if source is not None or not nodes:
        return TaskStatus.DONE, None
    return _missing_output(state, group, nodes)


def _missing_output(state: State, group: Task, nodes: Sequence[Task]) -> tuple[TaskStatus, str]:
    """Return status and reason of a graph that has no output although nothing failed."""
    outcome = state.tasks.get(group.outcome_id or "")
    missed = [
        node
        for node in nodes
        if node.status in (TaskStatus.FAILED, TaskStatus.SKIPPED)
        and lets_pass(node)
        and node.kind in ("agent", "group")
    ]
    if outcome in missed:
        return TaskStatus.SKIPPED, f"{outcome.title}: {outcome.error}"
    if missed:
        return TaskStatus.SKIPPED, f"{missed[-1].title}: {missed[-1].error}"
    cancelled = next((node for node in nodes if node.status is TaskStatus.CANCELLED), None)
    if cancelled is not None:
        return TaskStatus.CANCELLED, cancelled.error or "cancelled"
    return TaskStatus.SKIPPED, next(
        (node.error for node in nodes if node.passed_by and node.error), "nothing of it was done"
    )


def _source(state: State, group: Task, nodes: Sequence[Task]) -> Task | None:
    """Return the node whose output is the output of the graph, if there is one."""
    done = [node for node in nodes if node.status is TaskStatus.DONE]
    outcome = state.tasks.get(group.outcome_id or "")
    sources = {} if outcome is None else _sources(state, outcome)
    if len(sources) == 1:
        return next(iter(sources.values()))
    if outcome is not None and outcome.status in (TaskStatus.FAILED, TaskStatus.SKIPPED) and not outcome.passed_by:
        return None
    return done[-1] if done else None


def _sources(state: State, node: Task) -> dict[str, Task]:
    """Return the node itself if it is done, else its nearest done predecessors."""
    sources: dict[str, Task] = {}
    front = [node.id]
    visited = {node.id}
    for task_id in front:  # breadth first: the list grows while it is read
        task = state.tasks[task_id]
        if task.status is TaskStatus.DONE and task.kind != "check":
            sources[task_id] = task
            continue
        before = task.after if task.sees is None or task.kind == "check" else task.sees
        front += [source_id for source_id in before if source_id not in visited]
        visited.update(before)
    return sources


def _partial_source(state: State, group: Task, nodes: Sequence[Task]) -> Task | None:
    """Return the node whose output is the partial output of a graph: the last done one, else the last with any."""
    outcome = state.tasks.get(group.outcome_id or "")
    if outcome is not None and outcome.output is not None:
        return outcome
    candidates = [node for node in nodes if node.output is not None]
    return max(reversed(candidates), key=lambda node: node.status is TaskStatus.DONE, default=None)


def finish_run(state: State, followup: FinishRun, ctx: DecisionContext) -> list[Event]:
    """Finish a run once its root has ended and no attempt of it is at work."""
    run = state.runs.get(followup.run_id)
    if run is None or run.running or not state.tasks[run.root_id].ended:
        return []
    root = state.tasks[run.root_id]
    return [
        *end_grants(state, "run", run.id),
        RunFinished(
            run_id=root.run_id,
            status=RunStatus(root.status.value),
            output=root.output,
            figures=_figures(state, run, ctx.now_ms),
            error=root.error,
            following=list(run.before),
            # Finished runs leave the state; screens name their tasks from this event.
            titles={task_id: state.tasks[task_id].title for task_id in run.tasks},
        ),
    ]


_COMPUTED_FIGURES = ("tasks", "times", "critical")


def _figures(state: State, run: Run, now_ms: int) -> RunFigures:
    path = critical_path(state, run, now_ms)
    return RunFigures(
        tasks=run.total,
        times=path.times,
        critical=path.parts,
        **{name: getattr(run, name) for name in field_names(RunFigures) if name not in _COMPUTED_FIGURES},
    )
