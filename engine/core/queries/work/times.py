"""Where the time of tasks and attempts went, by kind and to the millisecond; the kinds are in `records/spans.py`.

An attempt that is parked counts as what it is parked for. A step that ends takes the time from its beginning to its
end, less what is counted already; what no step takes is `code`. A task is its attempts, and between them what it waited
for. The parts add up to the wall time.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from engine.core.queries.team.tree import supervisors_from
from engine.core.records.spans import (
    BACKOFF,
    BLOCKED,
    BUDGET,
    CODE_BITS,
    CODE_MASK,
    DELEGATED,
    KIND_OF,
    PAUSED,
    PERSON,
    QUEUE,
    RATE_LIMIT,
    REST,
    SLOT,
    SUSPENDED,
    TIME_KINDS,
    TimeKind,
    TimeSpan,
)
from engine.core.state import Agent, Attempt, State, Supervisor, Task, TaskStatus

Times: TypeAlias = dict[TimeKind, int]
"""Milliseconds by kind, without kinds of zero, in the order of `TIME_KINDS`."""
_RETRYING, _IN_DOUBT = TaskStatus.RETRYING, TaskStatus.IN_DOUBT
PARKED: Mapping[str | None, int] = {
    None: DELEGATED,
    "call": DELEGATED,
    "ask": PERSON,
    "approval": PERSON,
    "rate_limit": RATE_LIMIT,
    "backoff": BACKOFF,
    "tool": SLOT,
    "paused": PAUSED,
    "insight": QUEUE,
}
"""What the time of a parked attempt counts as, by `Attempt.parked_for`."""


def code_of(state: State, task: Task) -> int:
    """Return the code of what `task` does or waits for at present."""
    attempt = task.attempt
    if attempt is not None:
        if not attempt.parked:
            return REST
        return SLOT if attempt.wants_slot or attempt.back_seq is not None else PARKED[attempt.parked_for]
    if task.ended:
        return BLOCKED
    status = task.status
    if status is _IN_DOUBT:
        return PERSON
    if task.escalation_id is not None:
        return BUDGET if state.escalations[task.escalation_id].kind == "budget" else PERSON
    if status is _RETRYING:
        return BACKOFF
    is_paused = state.runs[task.run_id].paused
    if task.held_back:
        return PAUSED if is_paused else BUDGET
    if task.ready:
        return QUEUE
    if task.mode is not None:
        return DELEGATED
    if task.blockers:
        return BLOCKED
    return PAUSED if is_paused else QUEUE


def detail_of(task: Task, code: int) -> int:
    """Return the number of the question that `task` waits for; 0 if it waits for none."""
    if code != PERSON:
        return 0
    question = task.escalation_id or next(iter(task.asks.values()), None)
    return 0 if question is None else int(question[1:])


def stop_kind(member: Agent | Supervisor) -> TimeKind | None:
    """Return what the tasks wait for that a member keeps from beginning; None if it lets them begin."""
    if member.paused:
        return "paused"
    if member.exhausted is not None or member.held:
        return "budget"
    return "backoff" if isinstance(member, Agent) and member.is_shut else None


def pieces_of(state: State, task: Task, code: int, until_ms: int) -> Iterator[tuple[int, int]]:
    """Yield the codes and ends of the time from `task.counted_ms` to `until_ms`: a queue may have been stopped."""
    since_ms = task.counted_ms
    stoppages = state.stoppages if code == QUEUE and task.ready else ()
    if recent := [stop for stop in stoppages if stop.until_ms is None or stop.until_ms > since_ms]:
        owners = _owners_of(state, task)
        for stop in recent:
            if stop.subject not in owners:
                continue
            begin_ms = max(since_ms, stop.since_ms)
            end_ms = until_ms if stop.until_ms is None else min(until_ms, stop.until_ms)
            if begin_ms < end_ms:
                if since_ms < begin_ms:
                    yield QUEUE, begin_ms
                yield TIME_KINDS.index(stop.kind), end_ms
                since_ms = end_ms
        if since_ms == until_ms:
            return
    yield code, until_ms


def _owners_of(state: State, task: Task) -> set[str]:
    """Return the ids of the members that all keep the tasks in the queue of `task` from beginning while stopped."""
    queue = state.queues.get(task.queue or "")
    if queue is None:
        return set()
    owners = {supervisor.id for supervisor in supervisors_from(state, queue.supervisor_id)}
    return owners | set(queue.agents) if len(queue.agents) == 1 else owners


def spans_of(state: State, task: Task, now_ms: int) -> list[TimeSpan]:
    """Return what a task did and waited for, from its creation to its end or to `now_ms`, in order."""
    at_ms = task.created_ms
    spans: list[TimeSpan] = []
    stored = iter(task.spans)
    for duration_ms, kind in zip(stored, stored, strict=True):
        until_ms = at_ms + duration_ms
        spans.append(TimeSpan(kind & CODE_MASK, at_ms, until_ms, kind >> CODE_BITS))
        at_ms = until_ms
    if task.ended or now_ms <= at_ms:
        return spans
    code = code_of(state, task)
    counted_until_ms = now_ms
    if state.runs[task.run_id].suspended and state.engine is not None and state.engine.stopped_ms is not None:
        counted_until_ms = min(now_ms, max(at_ms, state.engine.stopped_ms))
    for piece, until_ms in pieces_of(state, task, code, counted_until_ms):
        spans.append(TimeSpan(piece, at_ms, until_ms, detail_of(task, piece)))
        at_ms = until_ms
    if at_ms < now_ms:
        spans.append(TimeSpan(SUSPENDED, at_ms, now_ms))
    return [span for span in spans if span.since_ms < span.until_ms]


def waits_since_ms(state: State, task: Task, code: int, now_ms: int) -> int | None:
    """Return since when a task has waited for what `code` says; None if it has not."""
    since_ms: int | None = None
    for span in reversed(spans_of(state, task, now_ms)):
        if span.code != code:
            break
        since_ms = span.since_ms
    return since_ms


def stopped_since_ms(state: State, subject_id: str) -> int | None:
    """Return since when an agent or a supervisor lets none of its tasks begin; None if that is not known."""
    lasting = (stop.since_ms for stop in state.stoppages if stop.subject == subject_id and stop.until_ms is None)
    return next(lasting, None)


def sum_times(spans: Iterable[TimeSpan]) -> Times:
    """Return the milliseconds of spans by kind."""
    totals: Counter[TimeKind] = Counter()
    for span in spans:
        totals[KIND_OF[span.code]] += span.until_ms - span.since_ms
    return {kind: totals[kind] for kind in TIME_KINDS if totals[kind]}


def times_of(state: State, task: Task, now_ms: int) -> Times:
    """Return where the time of a task went; an open one is counted to `now_ms`."""
    return sum_times(spans_of(state, task, now_ms))


def times_of_attempt(state: State, task: Task, attempt: Attempt, now_ms: int) -> Times:
    """Return where the time of the open attempt of a task went, up to `now_ms`."""
    return sum_times(clip(spans_of(state, task, now_ms), attempt.started_ms, now_ms))


def clip(spans: Iterable[TimeSpan], since_ms: int, until_ms: int) -> Iterator[TimeSpan]:
    """Yield the parts of spans between two times."""
    for span in spans:
        if span.until_ms > since_ms and span.since_ms < until_ms:
            yield TimeSpan(span.code, max(span.since_ms, since_ms), min(span.until_ms, until_ms), span.detail)
