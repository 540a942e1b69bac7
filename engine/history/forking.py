"""Forks: a new database that continues from a past state of another, optionally with one changed step.

The fork has the same ids and contains the whole state of that time, as an archive would: its runs are paused, and
interrupted attempts restart from their finished steps. Code that was trusted for the original is trusted for the fork,
in the same folder. See docs/reference/archive.md.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec import Raw

from engine.archive.exporting import resolver_of
from engine.archive.manifest import counts_of
from engine.core.decisions.decision_context import DecisionContext
from engine.core.documents.document import references_in, text_refs
from engine.core.encoding.codec import encode_state
from engine.core.errors import Refused
from engine.core.events import AttemptCancelled, CommandRefused, Delegated, Event, StepRecorded, TeamLoaded
from engine.core.fold import fold
from engine.core.queries.team.code import UNASKED
from engine.core.queries.team.tree import open_tasks
from engine.core.records.records import JsonValue
from engine.core.records.values import TextRef, stored_value
from engine.core.signals import StateReady
from engine.core.state import State
from engine.core.step import step as core_step
from engine.core.transfer.approvals import forget_approvals
from engine.core.transfer.exporting import make_document
from engine.core.transfer.rewinding import change_step, go_to_rest
from engine.history.steps import steps_of
from engine.host.batch import row_of
from engine.platform.sender import sender_of
from engine.reading.folding import events_of, fold_from, pages
from engine.trusted_code.trust import TrustError, user_list
from store import Reader, Record, Row, check_free, create_database
from store.wall_clock import wall_ms

_CHANGED_SEQ = -1
"""Placeholder for the seq of the event with the changed output, while a fork is made."""


@dataclass(frozen=True, slots=True)
class Fork:
    """A new database."""

    path: Path
    at_seq: int
    """The last event of the original that it includes."""
    runs: int
    """Number of its open runs, all paused."""
    tasks: int
    """Number of agents' tasks in these runs that have not ended."""


@dataclass(frozen=True, slots=True)
class ChangedStep:
    """A recorded step and its new output."""

    seq: int
    """Seq of the event that recorded it."""
    output: JsonValue


def fork(db: Path, target: Path, *, at_seq: int | None = None, changed: ChangedStep | None = None) -> Fork:
    """Create a database that continues from a past state of `db`, completely or not at all; blocks.

    Args:
        db: The original; its engine may be at work.
        target: Path of the new database.
        at_seq: The event after which it continues, with the events that follow from it at once. None is the newest, or
            that of the changed step.
        changed: A step with a new output; later steps of its task are dropped.

    Raises:
        StoreError: If `db` cannot be read, or no database can be created at `target`.
        CoreError: If there is no such event, or the step cannot be changed.
    """
    check_free(target)
    with Reader(db) as reader:
        step = None if changed is None else step_at(reader, changed.seq)
        target_seq = _check_target_seq(reader, at_seq, changed)
        is_at_step = changed is not None and target_seq == changed.seq
        state = fold_from(reader, target_seq) if is_at_step else _state_after(reader, target_seq)
        new_output: JsonValue = None
        if changed is not None and step is not None:
            new_output = _as_output(step, changed.output)
            output = stored_value(new_output, _CHANGED_SEQ, "output")
            later = _later_keys(reader, step, changed.seq, state.seq)
            change_step(state, step.task_id, step.key, output, later=later)
        last_included_seq = state.seq
        team = None if state.team is None else reader.record(state.team.seq)
        rows, result = _rows(db, state, _resolver_with(reader, state, new_output), team)
    create_database(target, rows)
    if (allowed := user_list()) is not None:
        with suppress(TrustError):  # then agents of the fork report what has to be trusted
            allowed.inherit(db.resolve(), target.resolve())
    return Fork(target, last_included_seq, len(result.runs), open_tasks(result))


def _check_target_seq(reader: Reader, at_seq: int | None, changed: ChangedStep | None) -> int:
    """Return the event to continue after; raises Refused if the journal lacks it, or it precedes the changed step."""
    last_seq = reader.last_seq()
    first_seq = max(1, reader.first_seq())
    seq = at_seq if at_seq is not None else last_seq if changed is None else changed.seq
    min_seq = first_seq if changed is None else changed.seq
    if not max(first_seq, min_seq) <= seq <= last_seq:
        raise Refused(f"there is no event {seq:,} to go on from: name one from {min_seq:,} to {last_seq:,}")
    return seq


def step_at(reader: Reader, seq: int) -> StepRecorded:
    """Return the step that event `seq` recorded; raises Refused if the event does not record a step."""
    records = reader.records(seq - 1, 1)
    event = events_of(records)[0] if records and records[0].seq == seq else None
    if not isinstance(event, StepRecorded):
        raise Refused(f"event {seq:,} records no step; 'quarterdeck steps TASK' lists them")
    return event


def step_named(reader: Reader, task_id: str, key: str) -> int:
    """Return the seq of the last event that recorded a step; raises Refused if the task has no step with this key."""
    for step in reversed(list(steps_of(reader, task_id))):
        if step.step == key:
            return step.seq
    raise Refused(f"task {task_id} has no step {key!r}; 'quarterdeck steps {task_id}' lists those it has")


def _state_after(reader: Reader, seq: int) -> State:
    """Return the state after event `seq` and the events that followed from it at once."""
    state = fold_from(reader, seq - 1) if seq > 1 else State()
    go_to_rest(state, _events_at(reader, seq, reader.record(seq).at_ms))
    return state


def _events_at(reader: Reader, seq: int, at_ms: int) -> Iterator[Event]:
    """Yield the events from `seq` on that have the same time."""
    for records in pages(reader, seq - 1):
        for record, event in zip(records, events_of(records), strict=True):
            if record.at_ms != at_ms:
                return
            yield event


def _later_keys(reader: Reader, step: StepRecorded, seq: int, until_seq: int) -> list[str]:
    """Return the keys of the steps of a task that were recorded after `step`.

    Raises:
        Refused: If the task has delegated or was cancelled since, which the changed step might contradict.
    """
    keys: list[str] = []
    for records in pages(reader, seq, until_seq):
        for event in events_of([record for record in records if record.task_id == step.task_id]):
            if isinstance(event, StepRecorded):
                keys.append(event.key)
            elif isinstance(event, Delegated | AttemptCancelled) and getattr(event, "restarted", True):
                reason = f"task {step.task_id} has diverged since event {seq:,}"
                raise Refused(f"{reason}: fork at the step itself, without another moment")
    return keys


def _as_output(step: StepRecorded, output: JsonValue) -> JsonValue:
    """Return the output to record for a changed step; for a model's step a text becomes its whole answer."""
    if step.what != "model" or not isinstance(output, str) or not isinstance(step.output, dict):
        return output
    kept_fields = {name: value for name, value in step.output.items() if name not in ("calls", "thinking", "finish")}
    return {**kept_fields, "text": output}


def _resolver_with(reader: Reader, state: State, new: JsonValue) -> Callable[[TextRef], JsonValue]:
    resolve = resolver_of(reader, [ref for ref in text_refs(state) if ref.seq != _CHANGED_SEQ])
    return lambda ref: new if ref.seq == _CHANGED_SEQ else resolve(ref)


def _rows(
    db: Path, state: State, resolve: Callable[[TextRef], JsonValue], team: Record | None
) -> tuple[list[Row], State]:
    """Return the journal of the new database, and the state that it folds to."""
    # The present time, because the import restarts deadlines, which would have passed long ago.
    trusted = dict(state.trusted)
    at_ms = max(state.at_ms, wall_ms())
    seq = state.seq
    texts = make_document(state, resolve)
    forget_approvals(state)
    references = references_in(state)
    ready = StateReady(
        order_id=uuid.uuid4().hex,
        sender=sender_of(),
        role="operator",
        path=f"{db}@{seq}",
        sha256="",
        paused=True,
        state=Raw(encode_state(state)),
        texts=texts,
        counts=counts_of(state, len(texts)),
        references=references,
        granted={
            reference: trusted.get(reference, "")
            for reference in references
            if reference in trusted or reference.startswith(UNASKED)
        },
    )
    new_state = State()
    events = list[Event]()
    if team is not None:
        events += [event for event in events_of([team]) if isinstance(event, TeamLoaded)]
        fold(new_state, events)
    imported, _ = core_step(new_state, ready, DecisionContext(now_ms=at_ms, jitter=0.0))
    for event in imported:
        if isinstance(event, CommandRefused):
            raise Refused(event.reason)
    events += imported
    return [row_of(event) for event in events], new_state
