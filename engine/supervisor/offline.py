"""A team without a running engine: its journal in memory, reading of its file, and the whole team as one value.

A program without a store runs an engine only during calls. In between, the journal is kept here; the next engine
starts with these events, and its own are copied back when it ends. A change to a team without open work needs no
engine: the same core decides it here.
"""

import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread
from msgspec import Raw

from engine.archive.reading import complete_state, read_state
from engine.core.commands import Command, Order
from engine.core.decisions.decision_context import DecisionContext
from engine.core.documents.document import bound_references_in, references_in, text_refs
from engine.core.encoding.codec import decode_events, decode_state, encode_state
from engine.core.errors import NotTrusted
from engine.core.events import CommandApplied, CommandRefused, Event, RunFinished
from engine.core.fold import fold
from engine.core.queries.team.code import grants_for_own_program
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import StoredValue
from engine.core.signals import Signal, StateReady
from engine.core.state import RunSummary, State
from engine.core.step import step
from engine.core.transfer.approvals import forget_approvals
from engine.core.transfer.exporting import make_document
from engine.errors import CommandRefusedError, Defect
from engine.host.batch import DefectReport, row_of
from engine.host.pending_commands import Applied
from engine.platform.sender import sender_of
from engine.reading.folding import IMPORTS, finished_run, summary_in
from engine.reading.texts import Texts, resolve_value
from engine.supervisor.callables import Callables
from store import Reader, Record, Row
from store.layout.opening import Store

_PAGE_ROWS = 2_000
_MIN_SNAPSHOT_EVENTS = 500
"""Number of events above which reading a snapshot is faster than folding them."""

log = logging.getLogger(__name__)


class OfflineJournal:
    """The events so far, and the state after them; they may continue the journal of a given state."""

    def __init__(self, state: State | None = None) -> None:
        self.state = State() if state is None else state
        self._after_seq = self.state.seq
        self._rows: list[Row] = []

    def order(self, command: Command, now_ms: int) -> Applied:
        """Carry out a command at once, without an engine; raises CommandRefusedError if it is refused."""
        order = Order(id=uuid.uuid4().hex, command=command, sender=sender_of(), granted=grants_for_own_program(command))
        return self.decide(order, now_ms)

    def decide(self, message: Order | Signal, now_ms: int) -> Applied:
        """Decide a command, or a signal that ends one.

        Raises:
            CommandRefusedError: If it is refused.
            Defect: If deciding it fails; nothing changed then.
        """
        context = DecisionContext(now_ms=max(now_ms, self.state.at_ms), jitter=0.5)
        try:
            events, _ = step(self.state, message, context)
            rows = [row_of(event) for event in events]
        except Exception as error:  # the state may be half changed
            defect = DefectReport(message, None, error)
            log.error("a defect in deciding %s", defect.kind, exc_info=error)
            self.state = self._refold()
            raise Defect(f"a defect in the engine, please report it: {defect.line}") from error
        self._rows += rows
        return self._outcome(events)

    def _outcome(self, events: list[Event]) -> Applied:
        for event in events:
            if isinstance(event, CommandApplied):
                return Applied(self.state.seq, event.summary, event.result)
            if isinstance(event, CommandRefused):
                raise CommandRefusedError(event.code, event.reason)
        raise AssertionError("the core neither applied nor refused a command")

    async def text(self, value: StoredValue) -> JsonValue:
        """Return a value that the state holds by reference."""
        return resolve_value(value, lambda seq: self._rows[seq - 1].body)

    async def records(self, task_id: str) -> list[Record]:
        """Return the events about a task, oldest first."""
        return self._records(lambda row: row.task_id == task_id)

    async def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a finished run."""
        kinds = {RunFinished.type, *IMPORTS}
        return summary_in(self._records(lambda row: row.kind in kinds and row.run_id in (run_id, None)), run_id)

    def _records(self, is_matching: Callable[[Row], bool]) -> list[Record]:
        rows = ((seq, row) for seq, row in enumerate(self._rows, 1) if is_matching(row))
        return [Record(seq, row.at_ms, row.kind, row.body, row.run_id, row.task_id, row.agent_id) for seq, row in rows]

    async def append_to(self, store: Store) -> None:
        """Append everything to a store's journal."""
        for start in range(0, len(self._rows), _PAGE_ROWS):
            await store.journal.append(self._after_seq + start + 1, self._rows[start : start + _PAGE_ROWS])
        if len(self._rows) > _MIN_SNAPSHOT_EVENTS:
            await store.snapshots.save(self.state.seq, encode_state(self.state))

    async def copy_from(self, store: Store, state: State) -> None:
        """Copy back the events that an engine has written, and the state after them."""
        while records := await store.journal.read(len(self._rows), _PAGE_ROWS):
            self._rows += [
                Row(record.at_ms, record.kind, bytes(record.body), record.run_id, record.task_id, record.agent_id)
                for record in records
            ]
        self.state = state if state.seq == len(self._rows) else self._refold()

    def _refold(self) -> State:
        """Fold the state again, because a cancelled engine leaves one that is ahead of its journal."""
        state = State()
        fold(state, decode_events([(seq, row.kind, row.body) for seq, row in enumerate(self._rows, 1)]))
        return state


class FileJournal:
    """What the journal of a file holds besides the state; raises StoreError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.texts = Texts(lambda seq: anyio.to_thread.run_sync(self.body, seq))
        self.text = self.texts.resolve

    def body(self, seq: int) -> bytes:
        """Return the body of one event; blocks."""
        with Reader(self._path) as reader:
            return reader.record(seq).body

    async def records(self, task_id: str) -> list[Record]:
        """Return the events about a task, oldest first."""
        return await anyio.to_thread.run_sync(self._records, task_id)

    def _records(self, task_id: str) -> list[Record]:
        records: list[Record] = []
        with Reader(self._path) as reader:
            while page := reader.records(records[-1].seq if records else 0, _PAGE_ROWS, task_id=task_id):
                records += page
        return records

    async def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a finished run."""
        return await anyio.to_thread.run_sync(self._finished_run, run_id)

    def _finished_run(self, run_id: str) -> RunSummary | None:
        with Reader(self._path) as reader:
            return finished_run(reader, run_id)


# A whole team as one value of JSON, and back


async def complete_state_of(state: State, text: Callable[[StoredValue], Awaitable[JsonValue]]) -> dict[str, JsonValue]:
    """Return a copy of a whole state with its texts, as of the call."""
    body = encode_state(state)
    copy = await anyio.to_thread.run_sync(decode_state, body)
    texts = {(ref.seq, ref.path): await text(ref) for ref in text_refs(copy)}
    document = await anyio.to_thread.run_sync(make_document, copy, lambda ref: texts[ref.seq, ref.path])
    return complete_state(copy, document)


def state_ready(
    value: Mapping[str, Any], name: str, callables: Callables, *, paused: bool, trusted: Iterable[str]
) -> StateReady:
    """Check a value for `DynamicSupervisor.deserialize_state`, and return the signal with which the core restores it.

    Args:
        name: New name of its first supervisor.
        callables: Resolves references that are bound to this process; other references have to be `trusted`.
    """
    archive = read_state(value)
    state = archive.state
    forget_approvals(state)
    for root in state.roots[:1]:
        state.supervisors[root.id] = copy_with(root, name=name)
    for reference in bound_references_in(state):
        callables.adopt(reference)
    allowed, needed = set(trusted), references_in(state)
    missing = sorted(reference for reference in needed if reference not in allowed and not callables.adopt(reference))
    if missing:
        reason = f"it calls code that is not trusted: {', '.join(missing)}; allow it with trusted=[…]"
        raise CommandRefusedError(NotTrusted.code, reason)
    return StateReady(
        order_id=uuid.uuid4().hex,
        sender=sender_of(),
        role="operator",
        path="",
        sha256="",
        paused=paused,
        state=Raw(encode_state(state)),
        texts=archive.texts,
        counts=archive.manifest.counts,
        references=needed,
        granted=dict.fromkeys(needed, ""),
    )
