"""Tasks as rows: running, waiting, then ended ones, also of finished runs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from dashboard.views.agents import MAX_NAME_WIDTH, widest_name
from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message
from dashboard.views.facts.ended import EndedTask
from dashboard.views.facts.steps import last_line
from dashboard.views.facts.work import describe_progress, time_taken, waiting_reason
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.limits import deadline_cell
from dashboard.views.measures.usage import COST, TOKENS, is_metered, own_usage, usage_cells
from dashboard.views.words.amounts import duration, moment
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.glyphs import TASK, task_mark
from dashboard.views.words.names import without_title
from dashboard.views.words.subjects import EndedTaskSubject, TaskSubject, worker_name
from engine.core.queries.targets import name_of
from engine.core.records.values import Usage
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import State, Task, TaskStatus

_TIME_WIDTH = 6
"""Cells of a time in the last column, narrow for a window of 80 columns with a scroll bar."""
COLUMNS = (
    Column("TASK", 16, grow=4, max_width=80, path=True),
    Column("STATE", 11),
    Column("AGENT", 10, grow=99, drop=1, named=True),  # until no name is cut
    Column("RUN", 5, drop=4),
    Column("WHY, OR HOW FAR", 26, grow=5, max_width=90, calm=True),
    Column("PRI", 3, right=True, drop=6),
    Column("DUE", 6, right=True, drop=5, calm=True),
    Column("TRY", 3, right=True, drop=7),
    Column("SINCE", 8, drop=8),
    Column("TOOK", _TIME_WIDTH, right=True, drop=2, calm=True),
)
"""A narrow window drops SINCE first, then TRY, PRI, DUE, RUN, TOOK and AGENT.

PRI, DUE and TRY are shown only if any task has a value for them.
"""
_USAGE_COLUMNS = (
    replace(TOKENS, means="what models read and wrote for the task itself; what it delegated has rows of its own"),
    replace(COST, means="what models took for the task itself, in US dollars; – where no price is known"),
)
_AGENT = next(place for place, column in enumerate(COLUMNS) if column.title == "AGENT")
_SINCE = next(place for place, column in enumerate(COLUMNS) if column.title == "SINCE")
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


def _by_state(state: State, task: Task) -> tuple[object, ...]:
    # Ended tasks: the newest first; waiting tasks: the oldest first.
    return (_URGENT_FIRST[task.status], -(task.ended_ms or 0), task.created_ms)


def _by_agent(state: State, task: Task) -> tuple[object, ...]:
    agent = state.agents.get(task.agent_id or task.worker_id or "")
    return (agent.name if agent else "~", *_by_state(state, task))


ORDERS: dict[str, Callable[[State, Task], tuple[object, ...]]] = {
    "state": _by_state,
    "newest": lambda state, task: (-task.created_ms,),
    "agent": _by_agent,
    "attempts": lambda state, task: (-task.attempts, *_by_state(state, task)),
    "urgency": lambda state, task: (task.ended, task.priority, task.deadline_ms or _NEVER, *_by_state(state, task)),
    "title": lambda state, task: (task.title.casefold(),),
    "run": lambda state, task: (task.run_id, *_by_state(state, task)),
    "due": lambda state, task: (task.ended, task.deadline_ms or _NEVER),
    "longest": lambda state, task: (-_worked_ms(task), *_by_state(state, task)),
    "tokens": lambda state, task: (-_tokens(own_usage(state, task)),),
    "cost": lambda state, task: (-_cost(own_usage(state, task)),),
}
"""The orders of the table, in the order of the key that switches them."""
HEADS = {
    "TASK": "title",
    "STATE": "state",
    "AGENT": "agent",
    "RUN": "run",
    "PRI": "urgency",
    "DUE": "due",
    "TRY": "attempts",
    "SINCE": "newest",
    "TOOK": "longest",
    "TOKENS": "tokens",
    "COST": "cost",
}
"""The order that each heading chooses."""


def _worked_ms(task: Task) -> int:
    """Return the sort key of a task's time; open tasks are the longest, the oldest of them first."""
    if task.started_ms is None:
        return 0
    return task.ended_ms - task.started_ms if task.ended_ms is not None else _NEVER - task.started_ms


def _tokens(usage: Usage | None) -> int:
    return (usage.tokens_in or 0) + (usage.tokens_out or 0) if usage is not None else 0


def _cost(usage: Usage | None) -> float:
    return float(usage.cost_usd or 0) if usage is not None else 0.0


def _ended_by_state(state: State, task: EndedTask) -> tuple[object, ...]:
    return (_URGENT_FIRST[task.status], -task.ended_ms, 0)


_ORDERS_OF_ENDED: dict[str, Callable[[State, EndedTask], tuple[object, ...]]] = {
    "state": _ended_by_state,
    "newest": lambda state, task: (-task.ended_ms,),
    "agent": lambda state, task: (name_of(state, task.agent_id) or "~", *_ended_by_state(state, task)),
    "attempts": lambda state, task: (-task.attempt, *_ended_by_state(state, task)),
    "urgency": lambda state, task: (True, DEFAULT_PRIORITY, _NEVER, *_ended_by_state(state, task)),
    "title": lambda state, task: (task.title.casefold(),),
    "run": lambda state, task: (task.run_id, *_ended_by_state(state, task)),
    "due": lambda state, task: (True, _NEVER),
    "longest": lambda state, task: (-task.took_ms, *_ended_by_state(state, task)),
    "tokens": lambda state, task: (-_tokens(task.usage),),
    "cost": lambda state, task: (-_cost(task.usage),),
}
"""The sort keys of ended tasks, in each of `ORDERS`."""
assert _ORDERS_OF_ENDED.keys() == ORDERS.keys()


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
    rank, rank_of_ended = ORDERS[order], _ORDERS_OF_ENDED[order]
    every = [task for task in state.tasks.values() if task.kind != "group"]
    over = {task.id: task for task in ended_tasks if task.id not in state.tasks}
    row_filter = parse_partial_filter(needle)
    ranked = [
        (rank(state, task), task.id) for task in row_filter.apply(every, lambda task: TaskSubject(state, task, now_ms))
    ]
    matching_ended = row_filter.apply(list(over.values()), lambda task: EndedTaskSubject(state, task))
    ranked += [(rank_of_ended(state, task), task.id) for task in matching_ended]
    ranked.sort(key=lambda pair: pair[0])

    metered = is_metered(state)
    unsaid = _empty_columns(every, over.values())
    places = [place for place, column in enumerate(COLUMNS) if column.title not in unsaid]

    def make(key: str) -> tuple[Cell, ...]:
        task, ended_task = state.tasks.get(key), over.get(key)
        if task is not None:
            cells, usage = _cells(state, task, counts, live, now_ms), own_usage(state, task)
        elif ended_task is not None:
            cells, usage = _ended_cells(state, ended_task, now_ms), ended_task.usage
        else:
            return (Cell("its run has ended", "muted"),)
        return (*(cells[place] for place in places), *(usage_cells(usage) if metered else ()))

    empty = empty_message(needle, "task", "no task yet", "n  gives the team a request")
    widest = max(len("AGENT▾"), min(widest_name(state), MAX_NAME_WIDTH))  # the rest of the width goes to other columns
    name = replace(COLUMNS[_AGENT], width=min(COLUMNS[_AGENT].width, widest), max_width=widest)
    # The start of a run is a lower bound for its tasks.
    begun_ms = [run.started_ms for run in state.runs.values()] + [ended_task.started_ms for ended_task in over.values()]
    oldest_ms = min(begun_ms, default=now_ms)
    # Wide enough for a date only if there is one.
    since = replace(COLUMNS[_SINCE], width=len(moment(oldest_ms, now_ms)))
    own = {_AGENT: name, _SINCE: since}
    visible_columns = [own.get(place, COLUMNS[place]) for place in places]
    columns = (*visible_columns, *(_USAGE_COLUMNS if metered else ()))
    total = len(every) + len(over)
    return Listing(columns=columns, keys=[key for _, key in ranked], make=make, empty=empty, total=total)


def _empty_columns(tasks: Sequence[Task], ended_tasks: Collection[EndedTask]) -> set[str]:
    """Return the headings of columns without a value in any task."""
    used_columns = {
        "PRI": any(task.priority != DEFAULT_PRIORITY for task in tasks),
        "DUE": any(task.deadline_ms is not None and not task.ended for task in tasks),
        "TRY": any(task.attempts > 1 for task in tasks) or any(task.attempt > 1 for task in ended_tasks),
    }
    return {title for title, any_is in used_columns.items() if not any_is}


def _ended_cells(state: State, task: EndedTask, now_ms: int) -> tuple[Cell, ...]:
    mark = TASK[task.status]
    return (
        Cell(task.title, "muted"),
        Cell(mark.text, mark.tone),
        Cell(name_of(state, task.agent_id), "muted"),
        Cell(task.run_id, "muted"),
        Cell(without_title(task.error or "", task.title), "error" if task.error else "muted"),
        Cell(""),
        Cell(""),
        Cell(str(task.attempt) if task.attempt > 1 else "", "draining"),
        Cell(moment(task.started_ms, now_ms), "muted"),
        Cell(duration(task.took_ms, max_width=_TIME_WIDTH), "muted"),
    )


def _cells(state: State, task: Task, counts: Digest, live: Mapping[str, str], now_ms: int) -> tuple[Cell, ...]:
    mark = task_mark(task, working=counts.working)
    return (
        Cell(task.title),
        Cell(mark.text, mark.tone),
        Cell(worker_name(state, task), "muted" if task.agent_id is None else ""),
        Cell(task.run_id, "muted"),
        _status_cell(state, task, counts, live, now_ms),
        Cell(str(task.priority), "muted" if task.priority == DEFAULT_PRIORITY else "accent"),
        deadline_cell(state, task.id, now_ms) if not task.ended else Cell(""),
        Cell(str(task.attempts) if task.attempts > 1 else "", "draining"),
        Cell(moment(task.started_ms or task.created_ms, now_ms), "muted"),
        Cell(time_taken(task, now_ms, max_width=_TIME_WIDTH), "muted"),
    )


def _status_cell(state: State, task: Task, counts: Digest, live: Mapping[str, str], now_ms: int) -> Cell:
    if reason := waiting_reason(state, task, counts, now_ms):
        tail = f"  ({task.error})" if task.status is TaskStatus.RETRYING and task.error else ""
        short = reason.replace("waits for ", "for ", 1).removesuffix(" in use")  # STATE says that it waits
        return Cell(short + tail, "muted")
    if task.error:
        return Cell(without_title(task.error, task.title), "error" if task.status is TaskStatus.FAILED else "muted")
    return Cell(describe_progress(live, task.id) or last_line(live, task.id), "muted")
