"""Tasks as rows: running, waiting, then ended ones, also of finished runs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from dashboard.views.agents import MAX_NAME_WIDTH, widest_name
from dashboard.views.drawing.rows import EMPTY, Cell, Column, Listing, Order, empty_message, make_cells, visible_columns
from dashboard.views.drawing.sorting import heads_of, orders_of
from dashboard.views.facts.ended import EndedTask
from dashboard.views.facts.now import now_of_task
from dashboard.views.facts.task import AnyTask, time_taken
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.limits import deadline_cell
from dashboard.views.measures.usage import (
    USAGE_TITLES,
    cost_cell,
    cost_rank,
    is_metered,
    own_usage,
    tokens_cell,
    tokens_rank,
)
from dashboard.views.words.amounts import duration, moment
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.glyphs import TASK, task_mark
from dashboard.views.words.help import STATE_MEANING
from dashboard.views.words.names import without_title
from dashboard.views.words.subjects import EndedTaskSubject, TaskSubject, worker_name
from engine.core.queries.targets import name_of
from engine.core.records.values import Usage
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import State, Task, TaskStatus

_AGENT_WIDTH, _TIME_WIDTH = 10, 6
"""Cells of a name, and of a time in the last column, narrow for a window of 80 columns with a scroll bar."""
_NEVER = 2**62
_URGENT_FIRST = {
    status: place
    for place, status in enumerate(
        (
            TaskStatus.IN_DOUBT,
            TaskStatus.RUNNING,
            TaskStatus.RETRYING,
            TaskStatus.PREEMPTED,
            TaskStatus.WAITING,
            TaskStatus.FAILED,
            TaskStatus.CANCELLED,
            TaskStatus.SKIPPED,
            TaskStatus.DONE,
        )
    )
}
TaskRank: TypeAlias = Callable[[State, AnyTask], tuple[object, ...]]


class TaskRow(NamedTuple):
    """A task, with what its cells are made from."""

    state: State
    task: AnyTask
    counts: Digest
    live: Mapping[str, str]
    now_ms: int


def _by_state(state: State, task: AnyTask) -> tuple[object, ...]:
    # Ended tasks: the newest first; waiting tasks: the oldest first.
    return (_URGENT_FIRST[task.status], -(task.ended_ms or 0), 0 if isinstance(task, EndedTask) else task.created_ms)


def _by_agent(state: State, task: AnyTask) -> tuple[object, ...]:
    agent_id = task.agent_id if isinstance(task, EndedTask) else task.agent_id or task.worker_id
    return (name_of(state, agent_id) or "~", *_by_state(state, task))


def _by_urgency(state: State, task: AnyTask) -> tuple[object, ...]:
    if isinstance(task, EndedTask):
        return (True, DEFAULT_PRIORITY, _NEVER, *_by_state(state, task))
    return (task.ended, task.priority, task.deadline_ms or _NEVER, *_by_state(state, task))


def _by_deadline(state: State, task: AnyTask) -> tuple[object, ...]:
    return (True, _NEVER) if isinstance(task, EndedTask) else (task.ended, task.deadline_ms or _NEVER)


def _worked_ms(task: AnyTask) -> int:
    """Return the sort key of a task's time; open tasks are the longest, the oldest of them first."""
    if task.started_ms is None:
        return 0
    return task.ended_ms - task.started_ms if task.ended_ms is not None else _NEVER - task.started_ms


def _usage(state: State, task: AnyTask) -> Usage | None:
    return task.usage if isinstance(task, EndedTask) else own_usage(state, task)


def _state_cell(row: TaskRow) -> Cell:
    task = row.task
    mark = TASK[task.status] if isinstance(task, EndedTask) else task_mark(task, row.counts.activities)
    return Cell(mark.text, mark.tone)


def _agent_cell(row: TaskRow) -> Cell:
    task = row.task
    if isinstance(task, EndedTask):
        return Cell(name_of(row.state, task.agent_id), "muted")
    return Cell(worker_name(row.state, task), "muted" if task.agent_id is None else "")


def _status_cell(row: TaskRow) -> Cell:
    task = row.task
    if isinstance(task, EndedTask):
        return Cell(without_title(task.error or "", task.title), "error" if task.error else "muted")
    if task.ended:
        error = without_title(task.error or "", task.title)
        return Cell(error, "error" if task.status is TaskStatus.FAILED else "muted")
    now = now_of_task(task, row.counts, row.now_ms, beside_state=True)
    tail = f"  ({task.error})" if task.status is TaskStatus.RETRYING and task.error else ""
    return Cell(without_title(now.text, task.title) + tail, now.tone or "muted")


def _priority_cell(row: TaskRow) -> Cell:
    if isinstance(row.task, EndedTask):
        return EMPTY
    return Cell(str(row.task.priority), "muted" if row.task.priority == DEFAULT_PRIORITY else "accent")


def _deadline_cell(row: TaskRow) -> Cell:
    if isinstance(row.task, EndedTask) or row.task.ended:
        return EMPTY
    return deadline_cell(row.state, row.task.id, row.now_ms)


def _started_cell(row: TaskRow) -> Cell:
    task = row.task
    begun_ms = task.started_ms if isinstance(task, EndedTask) else task.started_ms or task.created_ms
    return Cell(moment(begun_ms, row.now_ms), "muted")


def _time_cell(row: TaskRow) -> Cell:
    task = row.task
    if isinstance(task, EndedTask):
        return Cell(duration(task.took_ms, max_width=_TIME_WIDTH), "muted")
    return Cell(time_taken(task, row.now_ms, max_width=_TIME_WIDTH), "muted")


def _newest_ms(task: AnyTask) -> int:
    return task.ended_ms if isinstance(task, EndedTask) else task.created_ms


COLUMNS: tuple[Column[TaskRow, TaskRank], ...] = (
    Column("ID", shell_rank=1, meaning="its id in commands", cell=lambda row: Cell(row.task.id)),
    Column("TASK", 16, grow=4, max_width=80, path=True, meaning="a piece of work of a run",
           cell=lambda row: Cell(row.task.title, "muted" if isinstance(row.task, EndedTask) else ""),
           order=Order("title", lambda state, task: (task.title.casefold(),), step=5)),
    Column("STATE", 11, shell_rank=3, meaning=STATE_MEANING, cell=_state_cell,
           order=Order("state", _by_state, step=0)),
    Column("AGENT", _AGENT_WIDTH, grow=99, drop=1, named=True, cell=_agent_cell,  # until no name is cut
           meaning="the agent that works on it, or did last", order=Order("agent", _by_agent, step=2)),
    Column("RUN", 5, drop=4, shell_rank=2, meaning="the request that a task belongs to",
           cell=lambda row: Cell(row.task.run_id, "muted"),
           order=Order("run", lambda state, task: (task.run_id, *_by_state(state, task)), step=6)),
    Column("WHY, OR HOW FAR", 26, grow=5, max_width=90, calm=True, shell_rank=9, cell=_status_cell,
           meaning="why a task waits, or what it says of its progress"),
    Column("PRI", 3, right=True, drop=6, shell_rank=0, meaning="priority, 0 the most urgent to 9", cell=_priority_cell,
           order=Order("urgency", _by_urgency, step=4)),
    Column("DUE", 6, right=True, drop=5, calm=True, shell_rank=0, meaning="time left until the deadline",
           cell=_deadline_cell, order=Order("due", _by_deadline, step=7)),
    Column("TRY", 3, right=True, drop=7, meaning="attempts so far, where there were several",
           cell=lambda row: Cell(str(row.task.attempts) if row.task.attempts > 1 else "", "draining"),
           order=Order("attempts", lambda state, task: (-task.attempts, *_by_state(state, task)), step=3)),
    Column("SINCE", 8, drop=8, shell_rank=0, meaning="when it began", cell=_started_cell,
           order=Order("newest", lambda state, task: (-_newest_ms(task),), step=1)),
    Column("TOOK", _TIME_WIDTH, right=True, drop=2, calm=True, meaning="how long it took, or has taken so far",
           cell=_time_cell,
           order=Order("longest", lambda state, task: (-_worked_ms(task), *_by_state(state, task)), step=8)),
    Column("TOKENS", 9, right=True, drop=3, shell_rank=0, cell=lambda row: tokens_cell(_usage(row.state, row.task)),
           meaning="what models read and wrote for the task itself; what it delegated has rows of its own",
           order=Order("tokens", lambda state, task: (tokens_rank(_usage(state, task)),), step=9)),
    Column("COST", 8, right=True, drop=1, shell_rank=0, cell=lambda row: cost_cell(_usage(row.state, row.task)),
           meaning="what models took for the task itself, in US dollars; – where no price is known",
           order=Order("cost", lambda state, task: (cost_rank(_usage(state, task)),), step=10)),
)  # fmt: skip
ORDERS, HEADS = orders_of(COLUMNS), heads_of(COLUMNS)


def tasks(
    state: State,
    counts: Digest,
    live: Mapping[str, str],
    *,
    now_ms: int,
    order: str = "state",
    needle: str = "",
    ended_tasks: Sequence[EndedTask] = (),
) -> Listing:
    """Return tasks as rows; keys are their ids. Groups are left out, their nodes are included.

    Args:
        state: The team, with the tasks of open runs.
        order: One of `ORDERS`.
        ended_tasks: Tasks of finished runs, as far as they were read.
    """
    rank = ORDERS[order]
    every = [task for task in state.tasks.values() if task.kind != "group"]
    over = {task.id: task for task in ended_tasks if task.id not in state.tasks}
    row_filter = parse_partial_filter(needle)
    matching: list[AnyTask] = [
        *row_filter.apply(every, lambda task: TaskSubject(state, task, counts.activities, now_ms)),
        *row_filter.apply(list(over.values()), lambda task: EndedTaskSubject(state, task)),
    ]
    matching.sort(key=lambda task: rank(state, task))

    def make(key: str) -> tuple[Cell, ...]:
        task = state.tasks.get(key) or over.get(key)
        if task is None:
            return (Cell("its run has ended", "muted"),)
        return make_cells(columns, TaskRow(state, task, counts, live, now_ms))

    widest = max(len("AGENT▾"), min(widest_name(state), MAX_NAME_WIDTH))  # the rest of the width goes to other columns
    # The start of a run is a lower bound for its tasks.
    begun_ms = [run.started_ms for run in state.runs.values()] + [ended_task.started_ms for ended_task in over.values()]
    since_width = len(moment(min(begun_ms, default=now_ms), now_ms))  # wide enough for a date only if there is one
    columns = visible_columns(
        COLUMNS,
        {"AGENT": (min(_AGENT_WIDTH, widest), widest), "SINCE": (since_width, since_width)},
        without=_empty_columns(state, every, over.values()),
    )
    return Listing(
        columns=columns,
        keys=[task.id for task in matching],
        make=make,
        empty=empty_message(needle, "task", "no task yet", "n  gives the team a request"),
        total=len(every) + len(over),
    )


def _empty_columns(state: State, tasks: Sequence[Task], ended_tasks: Collection[EndedTask]) -> set[str]:
    """Return the headings of columns without a value in any task."""
    used_columns = {
        "PRI": any(task.priority != DEFAULT_PRIORITY for task in tasks),
        "DUE": any(task.deadline_ms is not None and not task.ended for task in tasks),
        "TRY": any(task.attempts > 1 for task in tasks) or any(task.attempts > 1 for task in ended_tasks),
        **dict.fromkeys(USAGE_TITLES, is_metered(state)),
    }
    return {title for title, is_used in used_columns.items() if not is_used}
