"""From a journal to a state: folding alone, and reading and decoding before it, at a hundred to 100,000 tasks."""

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import from_json, to_json

from engine.core.encoding.codec import decode_events, encode_event
from engine.core.events import AttemptDone, AttemptStarted, Delegated, Event, RunSubmitted
from engine.core.fold import fold
from engine.core.queries.work.explain import explain
from engine.core.records.records import copy_with
from engine.core.state import State
from engine.reading.folding import fold_from
from store import Reader
from tests.bench.databases import written
from tests.bench.histories import folded, worked_off
from tests.bench.measure import Series, interleaved
from tests.bench.report import Row

BLOCK = 500


def rows(quick: bool) -> Iterator[Row]:
    """Measure each size, so that a cost that grows with the state shows."""
    for tasks in (100, 1_000, 10_000) if quick else (100, 1_000, 10_000, 100_000):
        journal = worked_off(tasks)
        rounds = 3 if tasks > 10_000 else 5 if quick else 9
        yield _folding(journal, tasks, rounds)
        if tasks == 1_000:
            # The clock of `histories` stands still: time that passes is counted for each task.
            moving = [copy_with(event, at_ms=journal[0].at_ms + index) for index, event in enumerate(journal)]
            yield _folding(moving, tasks, rounds, clock=", a millisecond after the last")
        yield _reading(journal, tasks, rounds)
        if tasks == 10_000:
            yield _explaining(journal, rounds)
    yield from _json(worked_off(2_000), 5 if quick else 15)


def _folding(journal: list[Event], tasks: int, rounds: int, *, clock: str = "") -> Row:
    """Fold the work; the team before it is folded already."""
    first = next(place for place, event in enumerate(journal) if type(event) is RunSubmitted)
    team, work = journal[:first], journal[first:]
    times = max(1, 20_000 // len(work))
    states: list[State] = []

    def prepare() -> None:
        states[:] = [folded(team) for _ in range(times)]

    took, floor = interleaved(
        lambda: _folded_into(states, work),
        lambda: [_bare(work) for _ in range(times)],
        rounds,
        before=prepare,
    )
    events = len(work) * times
    return Row(
        what=f"fold an event{clock}, {tasks:,} tasks",
        took=took.per(events),
        floor=floor.per(events),
        floor_is="the same status and counts in plain dicts",
        unit="µs",
        budget=2.0,
        computes=True,
    )


def _explaining(journal: list[Event], rounds: int) -> Row:
    """Say where the time of a run went; its state is at hand."""
    state = folded(journal)
    (run,) = state.runs.values()
    took, floor = interleaved(
        lambda: explain(state, run, state.at_ms + 1),
        lambda: sorted(state.tasks.values(), key=lambda task: (task.ended_ms or 0, task.id)),
        rounds,
    )
    return Row(
        what="explain a run of 10,000 tasks",
        took=took,
        floor=floor,
        floor_is="its tasks in the order of their ends",
        budget=200.0,
        computes=True,
    )


def _folded_into(states: list[State], work: list[Event]) -> None:
    for state in states:
        fold(state, work)


def _bare(work: list[Event]) -> dict[str, dict[str, Any]]:
    """Keep of each task what any fold keeps: where it stands, who works on it, and how many are at work."""
    tasks: dict[str, dict[str, Any]] = {}
    running: dict[str, set[str]] = defaultdict(set)
    for event in work:
        if type(event) is Delegated:
            for child in event.children:
                tasks[child.task_id] = {"status": "waiting", "title": child.title, "input": child.input}
        elif type(event) is AttemptStarted:
            tasks.setdefault(event.task_id, {})["status"] = "running"
            running[event.agent_id or ""].add(event.task_id)
        elif type(event) is AttemptDone:
            tasks[event.task_id] |= {"status": "done", "output": event.output}
            running[event.agent_id or ""].discard(event.task_id)
    return tasks


def _reading(journal: list[Event], tasks: int, rounds: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "team.db", journal)
        with Reader(path) as reader:
            took, floor = interleaved(lambda: fold_from(reader), lambda: _rows(reader), rounds)
    return Row(
        what=f"read, decode, fold an event, {tasks:,} tasks",
        took=took.per(len(journal)),
        floor=floor.per(len(journal)),
        floor_is="read the rows",
        unit="µs",
        budget=6.0,
        computes=True,
    )


def _rows(reader: Reader) -> None:
    after = 0
    while records := reader.records(after, 2_000):
        after = records[-1].seq


def _json(journal: list[Event], rounds: int) -> Iterator[Row]:
    bodies = [encode_event(event) for event in journal]
    found = [(seq, event.type, body) for seq, (event, body) in enumerate(zip(journal, bodies, strict=True), 1)]
    values = [from_json(body) for body in bodies]
    took, floor = interleaved(
        lambda: [encode_event(event) for event in journal], lambda: [to_json(value) for value in values], rounds
    )
    yield _json_row("encode an event", "to_json of the same as a dict", took, floor, len(journal))
    took, floor = interleaved(
        lambda: [decode_events(found[first : first + BLOCK]) for first in range(0, len(found), BLOCK)],
        lambda: [from_json(body) for body in bodies],
        rounds,
    )
    yield _json_row("decode an event, in blocks of 500", "from_json of it, to a dict", took, floor, len(journal))


def _json_row(what: str, floor_is: str, took: Series, floor: Series, events: int) -> Row:
    return Row(what=what, took=took.per(events), floor=floor.per(events), floor_is=floor_is, unit="µs", computes=True)
