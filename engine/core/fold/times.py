"""Fold: where the time of tasks went.

`Task.spans` covers the time from the creation of a task to `Task.counted_ms`. What a task did or waited for until an
event is what its fields say before that event changes them, so a handler calls `count_time` first. Read with
`queries/work/times.py`.
"""

from engine.core.queries.work.times import code_of, detail_of, pieces_of, stop_kind
from engine.core.records.records import copy_with
from engine.core.records.spans import CODE_BITS, QUEUE, REST, STEP_CODES, SUSPENDED
from engine.core.state import Agent, State, Stoppage, Supervisor, Task

MAX_STOPPAGES = 200
"""Limit on the stoppages that are remembered; beyond it the oldest leave."""


def count_time(state: State, task: Task) -> None:
    """Count the time since the last count as what `task` does or waits for at present; not after its end."""
    at_ms, counted_ms = state.at_ms, task.counted_ms
    if counted_ms >= at_ms or task.ended_ms is not None:
        return
    attempt = task.attempt
    # The usual cases, without further calls: the beginning and the end of each attempt.
    if attempt is not None and not attempt.parked and counted_ms:
        code = REST
    elif task.ready and counted_ms and task.escalation_id is None and not state.stoppages:
        code = QUEUE
    else:
        _count_until(state, task, at_ms)
        return
    task.counted_ms = at_ms
    spans = task.spans
    if spans and spans[-1] == code:
        task.spans = (*spans[:-2], spans[-2] + at_ms - counted_ms, code)
    else:
        task.spans = spans + (at_ms - counted_ms, code)  # noqa: RUF005 - half the time of unpacking


def _count_until(state: State, task: Task, until_ms: int) -> None:
    # 0: a task of a state that was stored before times were counted.
    task.counted_ms = task.counted_ms or task.created_ms
    for code, piece_end_ms in pieces_of(state, task, code_of(state, task), until_ms):
        _add(task, code, piece_end_ms, detail_of(task, code))


def _add(task: Task, code: int, until_ms: int, detail: int = 0) -> None:
    duration_ms = until_ms - task.counted_ms
    if duration_ms <= 0:
        return
    task.counted_ms = until_ms
    kind, spans = detail << CODE_BITS | code, task.spans
    if spans and spans[-1] == kind:
        task.spans = (*spans[:-2], spans[-2] + duration_ms, kind)
    else:
        task.spans = (*spans, duration_ms, kind)


def count_step(state: State, task: Task, what: str, duration_ms: int, *, number: int) -> None:
    """Give step `number`, which ends now, the time since it began, less what is counted already; 0: a failed call."""
    count_time(state, task)
    attempt = task.attempt
    if duration_ms <= 0 or attempt is None:
        return
    began_ms = max(state.at_ms - duration_ms, attempt.started_ms)
    kind = number << CODE_BITS | STEP_CODES[what]
    spans = [*task.spans]
    end_ms, index = task.counted_ms, len(spans)
    while index and end_ms > began_ms:
        index -= 2
        since_ms = end_ms - spans[index]
        if spans[index + 1] == REST:
            taken = [end_ms - max(since_ms, began_ms), kind]
            spans[index : index + 2] = taken if since_ms >= began_ms else [began_ms - since_ms, REST, *taken]
        end_ms = since_ms
    task.spans = tuple(spans)


def count_suspension(state: State, since_ms: int) -> None:
    """Count the time since `since_ms` as without an engine, for all open tasks."""
    for task in state.tasks.values():
        if not task.ended:
            count_suspended(state, task, since_ms)


def count_suspended(state: State, task: Task, since_ms: int) -> None:
    """Count the time since `since_ms` as without an engine, and that before as what `task` does or waits for."""
    _count_until(state, task, min(since_ms, state.at_ms))
    _add(task, SUSPENDED, state.at_ms)


def note_stoppage(state: State, member: Agent | Supervisor) -> None:
    """Note since when a member lets none of its tasks begin, or that it does again."""
    kind = stop_kind(member)
    stoppages = state.stoppages
    lasting = (index for index, stop in enumerate(stoppages) if stop.subject == member.id and stop.until_ms is None)
    index = next(lasting, None)
    if kind == (None if index is None else stoppages[index].kind):
        return
    if index is not None:
        stoppages[index] = copy_with(stoppages[index], until_ms=state.at_ms)
    if kind is not None:
        stoppages.append(Stoppage(subject=member.id, kind=kind, since_ms=state.at_ms))
        del stoppages[:-MAX_STOPPAGES]
