"""Reads the recorded steps of tasks from the journal: those of all attempts, also of ended ones."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.core.events import StepRecorded
from engine.core.events.attempt import StepKind
from engine.core.queries.work.answered import model_of
from engine.core.records.records import JsonValue
from engine.core.records.values import Usage
from engine.reading.folding import events_of
from store import Reader, Record

STEPS = StepRecorded.type
"""Kind of the events that record steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """A recorded step."""

    seq: int
    """Seq of the event that recorded it."""
    task_id: str
    attempt: int
    step: str
    """Its key: name, hash of the input and number of its occurrence; unique in a task."""
    what: StepKind
    name: str
    model: str | None
    """Name in the team of the model that was asked, also to compact; None for code and tools."""
    input: JsonValue
    """Excerpt of the input, for people to read."""
    output: JsonValue
    usage: Usage
    duration_ms: int
    parts: list[str]
    """Hashes of the system prompt and of the tool schemas; empty for steps of other kinds."""


def step_of(record: Record, event: StepRecorded) -> Step:
    """Return the step that an event recorded."""
    return Step(
        seq=record.seq,
        task_id=event.task_id,
        attempt=event.attempt,
        step=event.key,
        what=event.what,
        name=event.name,
        model=model_of(event),
        input=event.input,
        output=event.output,
        usage=event.usage,
        duration_ms=event.duration_ms,
        parts=event.parts,
    )


def steps_in(records: Iterable[Record]) -> list[Step]:
    """Return the steps among some records."""
    step_records = [record for record in records if record.kind == STEPS]
    pairs = zip(step_records, events_of(step_records), strict=True)
    return [step_of(record, event) for record, event in pairs if isinstance(event, StepRecorded)]


def steps_of(reader: Reader, task_id: str) -> Iterator[Step]:
    """Yield the steps of a task in an open file, oldest first."""
    after_seq = 0
    while records := reader.records(after_seq, 500, kinds=(STEPS,), task_id=task_id):
        yield from steps_in(records)
        after_seq = records[-1].seq
