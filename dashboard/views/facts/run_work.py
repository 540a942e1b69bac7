"""The work of an open run: running and waiting tasks, and the progress of each stage of its graph. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dashboard.views.drawing.lines import Line, Span, cut_path, pad, spread
from dashboard.views.drawing.plots import meter
from dashboard.views.facts.now import now_of_task
from dashboard.views.facts.task import share_of_attempt
from dashboard.views.facts.task_page import task_line
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import duration
from dashboard.views.words.glyphs import task_mark
from engine.core.queries.targets import name_of
from engine.core.queries.work.queues import capability_of, member_names_in
from engine.core.state import Run, State, Task, TaskStatus

MAX_LINES = 200
"""Lines of one list."""
MAX_LISTED = 200
"""Tasks of a run up to which its ended ones are listed too."""
TASKS_PER_MS = 5
"""Tasks per millisecond of pause: a run with n tasks is counted again after n / TASKS_PER_MS milliseconds."""
_WAITING_STATUSES = frozenset({TaskStatus.WAITING, TaskStatus.RETRYING, TaskStatus.PREEMPTED, TaskStatus.IN_DOUBT})


class Stage(NamedTuple):
    """A node of the graph of a run, with the tasks below it."""

    task: Task
    ended_count: int
    total: int


@dataclass(slots=True, eq=False)  # tasks change in place, so that equal lists do not mean equal counts
class Census:
    """The tasks of a run by state and stage."""

    at_work: list[Task] = field(default_factory=list)
    waiting: list[Task] = field(default_factory=list)
    ended: list[Task] = field(default_factory=list)
    """The newest first, of a run of at most `MAX_LISTED` tasks."""
    stages: list[Stage] = field(default_factory=list)


def take_census(state: State, run: Run) -> Census:
    """Collect the tasks of a run: running ones with leads first, then the longest; waiting ones in order of start."""
    root = state.tasks[run.root_id]
    stage_of: dict[str, str] = {child_id: child_id for child_id in root.children}
    ended_counts: dict[str, int] = dict.fromkeys(root.children, 0)
    total: dict[str, int] = dict.fromkeys(root.children, 0)
    out = Census()
    for task_id in run.tasks:
        task = state.tasks[task_id]
        if task.kind != "agent":
            continue
        stage = _stage(state, task_id, stage_of)
        if stage in total:
            total[stage] += 1
            ended_counts[stage] += task.ended
        if task.status is TaskStatus.RUNNING:
            out.at_work.append(task)
        elif task.status in _WAITING_STATUSES:
            out.waiting.append(task)
        elif len(run.tasks) <= MAX_LISTED:
            out.ended.append(task)
    out.at_work.sort(key=lambda task: (not task.children, task.started_ms or 0))
    out.waiting.sort(key=lambda task: (not task.ready, task.priority, task.ready_ms or task.created_ms))
    out.ended.sort(key=lambda task: -(task.ended_ms or 0))
    nodes = (state.tasks[child_id] for child_id in root.children if child_id in state.tasks)
    out.stages = [Stage(task, ended_counts[task.id], total[task.id]) for task in nodes]
    return out


def _stage(state: State, task_id: str, stage_by_id: dict[str, str]) -> str:
    """Return the node of the run's graph that a task belongs to; `stage_by_id` caches the results."""
    path: list[str] = []
    at: str | None = task_id
    while at is not None and at not in stage_by_id:
        path.append(at)
        task = state.tasks.get(at)
        at = task.parent_id if task is not None else None
    stage = stage_by_id[at] if at is not None else ""
    stage_by_id.update(dict.fromkeys(path, stage))
    return stage


def at_work_lines(
    state: State,
    census: Census,
    counts: Digest,
    live: Mapping[str, str],
    *,
    width: int,
    now_ms: int,
    max_lines: int = MAX_LINES,
) -> list[Line]:
    """Return a line for each running task, up to `max_lines`: its progress and its time."""
    return [_at_work_line(state, task, counts, live, width, now_ms) for task in census.at_work[:max_lines]]


def _at_work_line(state: State, task: Task, counts: Digest, live: Mapping[str, str], width: int, now_ms: int) -> Line:
    mark = task_mark(task, counts.activities)
    share, text = _progress_of(state, task, live, now_ms, counts.working)
    wide = max(6, min(24, width // 4))
    bar = () if share is None else meter(share, wide, tone=mark.tone or "busy")
    right = (*bar, Span(pad(text, 11, right=True), "muted" if task.children else ""))
    room = max(4, width - (wide if bar else 0) - 11 - 3)
    title = Span(cut_path(task.title, room), "strong" if task.children else "")
    return spread((Span(f"{mark.glyph} ", mark.tone), title), right, width, key=task.id)


def _progress_of(
    state: State, task: Task, live: Mapping[str, str], now_ms: int, working: bool
) -> tuple[float | None, str]:
    """Return the done share of a task, or None if unknown, and its progress or time in words."""
    spent_ms = now_ms - (task.started_ms or now_ms)
    if task.children:
        total = len(task.children)
        return (total - task.open) / total, f"{total - task.open:,}/{total:,}"
    return share_of_attempt(state, task, live, now_ms=now_ms, working=working), duration(spent_ms)


def ended_lines(state: State, census: Census, counts: Digest, *, width: int, now_ms: int, max_lines: int) -> list[Line]:
    """Return a line for each ended task, the newest first, up to `max_lines`: its agent and its time."""
    return [task_line(state, task, counts, width, now_ms) for task in census.ended[: max(0, max_lines)]]


def waiting_lines(
    state: State, census: Census, counts: Digest, *, width: int, now_ms: int, max_lines: int = MAX_LINES
) -> list[Line]:
    """Return a line for each waiting task, up to `max_lines`: for which agent, or why."""
    lines = [_waiting_line(state, task, counts, width, now_ms) for task in census.waiting[:max_lines]]
    more = len(census.waiting) - max_lines
    return [*lines, *([Line((Span(f"  and {more:,} more; 5 shows all", "muted"),))] if more > 0 else [])]


def _waiting_line(state: State, task: Task, counts: Digest, width: int, now_ms: int) -> Line:
    mark = task_mark(task, counts.activities)
    now = now_of_task(task, counts, now_ms, beside_state=True)
    text = f"for {receiver(state, task)}" if now.tone == "muted" and task.ready else now.text
    room = max(8, width * 11 // 20)
    title = Span(pad(cut_path(task.title, room - 3), room - 2))
    return spread((Span(f"{mark.glyph} ", mark.tone), title, Span(text, now.tone)), (), width, key=task.id)


def receiver(state: State, task: Task) -> str:
    """Return who may take a ready task: the agent, or the required specialties."""
    if task.worker_id is not None:
        return name_of(state, task.worker_id)
    queue = state.queues.get(task.queue or "")
    if queue is not None and len(queue.agents) == 1 and queue.agents[0] in state.agents:
        return state.agents[queue.agents[0]].name
    key = task.queue or ""
    return ", ".join(member_names_in(capability_of(key))) if key.startswith("able:") else "an agent"
