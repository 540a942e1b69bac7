"""Ends of graphs and of runs: with which status, whose output, and why.

The output of a graph is that of its outcome. Where that was skipped, left out or cancelled it is that of the one node
that it came after; where there is no such node, or more than one, nothing came of the graph.
"""

from collections.abc import Sequence

from engine.core.context import Context
from engine.core.decide.stopping import exceeded_by
from engine.core.events import Event, GroupEnded, RunFigures, RunFinished
from engine.core.fold.ending import lets_pass
from engine.core.prompts import CheckGroup, FinishRun
from engine.core.queries.work import is_cancelled, why_cancelled
from engine.core.state import Run, RunStatus, State, Task, TaskStatus

_FAILED, _CANCELLED, _SKIPPED = TaskStatus.FAILED, TaskStatus.CANCELLED, TaskStatus.SKIPPED


def check_group(state: State, prompt: CheckGroup, ctx: Context) -> list[Event]:
    """End a group when all its nodes have ended."""
    group = state.tasks.get(prompt.task_id)
    if group is None or group.kind != "group" or group.status is not TaskStatus.RUNNING or group.open:
        return []
    nodes = [state.tasks[task_id] for task_id in group.children if state.tasks[task_id].kind != "check"]
    source = _source(state, group, nodes)
    status, error = _status(state, group, source)
    if status is not TaskStatus.DONE or source is None:
        source = _furthest(state, group, nodes)
    return [
        GroupEnded(task_id=group.id, status=status, output=source.output if source is not None else None, error=error)
    ]


def _status(state: State, group: Task, source: Task | None) -> tuple[TaskStatus, str | None]:
    exceeded = exceeded_by(state, group)
    if exceeded is not None:
        return _FAILED, exceeded
    if is_cancelled(state, group):
        return _CANCELLED, why_cancelled(state, group)
    if group.error is not None:
        return _FAILED, group.error
    nodes = [state.tasks[task_id] for task_id in group.children]
    failed = next((node for node in nodes if node.status is _FAILED and not lets_pass(node)), None)
    if failed is not None:
        return _FAILED, f"{failed.title}: {failed.error}"
    if source is not None or not nodes:
        return TaskStatus.DONE, None
    return _nothing_came(state, group, nodes)


def _nothing_came(state: State, group: Task, nodes: Sequence[Task]) -> tuple[TaskStatus, str]:
    """Return how a graph ends that has no output though nothing of it failed."""
    outcome = state.tasks.get(group.outcome_id or "")
    missed = [
        node
        for node in nodes
        if node.status in (_FAILED, _SKIPPED) and lets_pass(node) and node.kind in ("agent", "group")
    ]
    if outcome in missed:
        return _SKIPPED, f"{outcome.title}: {outcome.error}"
    if missed:
        return _SKIPPED, f"{missed[-1].title}: {missed[-1].error}"
    cancelled = next((node for node in nodes if node.status is _CANCELLED), None)
    if cancelled is not None:
        return _CANCELLED, cancelled.error or "cancelled"
    return _SKIPPED, next((node.error for node in nodes if node.passed_by and node.error), "nothing of it was done")


def _source(state: State, group: Task, nodes: Sequence[Task]) -> Task | None:
    """Return the node whose output is that of its graph; None where there is no such node."""
    done = [node for node in nodes if node.status is TaskStatus.DONE]
    outcome = state.tasks.get(group.outcome_id or "")
    sources = {} if outcome is None else _sources(state, outcome)
    if len(sources) == 1:
        return next(iter(sources.values()))
    if outcome is not None and outcome.status in (_FAILED, _SKIPPED) and not outcome.passed_by:
        return None
    return done[-1] if done else None


def _sources(state: State, node: Task) -> dict[str, Task]:
    """Return the node itself where it is done, else the done ones that it would have gone on from."""
    found: dict[str, Task] = {}
    front, seen = [node.id], {node.id}
    for task_id in front:  # grows as it goes
        task = state.tasks[task_id]
        if task.status is TaskStatus.DONE and task.kind != "check":
            found[task_id] = task
            continue
        before = task.after if task.sees is None or task.kind == "check" else task.sees
        front += [one for one in before if one not in seen]
        seen.update(before)
    return found


def _furthest(state: State, group: Task, nodes: Sequence[Task]) -> Task | None:
    """Return the node whose output is what there is of a graph that was cut off: the last, a finished one first."""
    outcome = state.tasks.get(group.outcome_id or "")
    if outcome is not None and outcome.output is not None:
        return outcome
    there = [node for node in nodes if node.output is not None]
    return max(reversed(there), key=lambda node: node.status is TaskStatus.DONE, default=None)


def finish_run(state: State, prompt: FinishRun, ctx: Context) -> list[Event]:
    """Close a run once its outcome stands and nothing of it is at work."""
    run = state.runs.get(prompt.run_id)
    if run is None or run.running or not state.tasks[run.root_id].ended:
        return []
    root = state.tasks[run.root_id]
    return [
        RunFinished(
            run_id=root.run_id,
            status=RunStatus(root.status.value),
            output=root.output,
            figures=_figures(run),
            error=root.error,
            following=list(run.before),
            titles={task_id: state.tasks[task_id].title for task_id in run.tasks},
        )
    ]


def _figures(run: Run) -> RunFigures:
    return RunFigures(
        supervisor_id=run.supervisor_id,
        title=run.title,
        request=run.request,
        strategy=run.strategy,
        tasks=run.total,
        done=run.done,
        failed=run.failed,
        usage=run.usage,
        started_ms=run.started_ms,
        longest_ms=run.longest_ms,
    )
