"""A journal in memory while no engine works on it.

Between two calls of a program without a store there is no engine, and its team is still there: what happened stands
here, goes into the next engine's journal as it is, and is taken from it again at its end. A change to a team that has
no open work needs no engine at all: it is decided here by the same core.
"""

import json
import logging
import uuid

from pydantic import JsonValue

from engine.core.code import of_program
from engine.core.codec import decode_events, encode_state, kind_of
from engine.core.commands import Command, Order
from engine.core.context import Context
from engine.core.events import CommandApplied, CommandRefused, Event, RunFinished
from engine.core.fold import fold
from engine.core.signals import Signal
from engine.core.state import RunSummary, State
from engine.core.step import step
from engine.core.values import Held, TextRef
from engine.errors import CommandRefusedError, Defect
from engine.folding import IMPORTS, summary_in
from engine.host.batch import row_of
from engine.host.defects import Found
from engine.host.orders import Applied
from engine.sender import sender_of
from engine.texts import walk
from store import Record, Row
from store.opening import Store

_PAGE = 2_000
_SNAPSHOT_PAYS = 500
"""From how many events on a snapshot is read faster than they are."""


log = logging.getLogger(__name__)


class Rest:
    """What happened so far, and the state that it comes to.

    Args:
        state: What a journal holds already that this is written to; None for a journal of its own.
    """

    def __init__(self, state: State | None = None) -> None:
        self.state = State() if state is None else state
        self._after_seq = self.state.seq
        self.rows: list[Row] = []

    def order(self, command: Command, now_ms: int) -> Applied:
        """Carry out a command here and now.

        Raises:
            CommandRefusedError: If it is refused; nothing changed then.
        """
        order = Order(id=uuid.uuid4().hex, command=command, sender=sender_of(), granted=of_program(command))
        return self.decide(order, now_ms)

    def decide(self, message: Order | Signal, now_ms: int) -> Applied:
        """Decide a command, or a signal that ends one.

        Raises:
            CommandRefusedError: If it is refused.
            Defect: If deciding it fails; nothing changed then.
        """
        context = Context(now_ms=max(now_ms, self.state.at_ms), jitter=0.5)
        try:
            events, _ = step(self.state, message, context)
            rows = [row_of(event) for event in events]
        except Exception as error:  # the state may be half changed
            found = Found(message, None, error)
            log.error("a defect in deciding %s", found.kind, exc_info=error)
            self.state = self._folded()
            raise Defect(f"a defect in the engine, please report it: {found.line}") from error
        self.rows += rows
        return self._outcome(events)

    def _outcome(self, events: list[Event]) -> Applied:
        for event in events:
            if isinstance(event, CommandApplied):
                return Applied(self.state.seq, event.summary, event.result)
            if isinstance(event, CommandRefused):
                raise CommandRefusedError(event.code, event.reason)
        raise AssertionError("the core neither applied nor refused a command")

    def text(self, value: Held) -> JsonValue:
        """Return a value that the state holds."""
        if not isinstance(value, TextRef):
            return value
        found: JsonValue = walk(json.loads(self.rows[value.seq - 1].body), value.path)
        return found

    def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a run that has ended."""
        told = {kind_of(RunFinished), *IMPORTS}
        rows = ((seq, row) for seq, row in enumerate(self.rows, 1) if row.kind in told and row.run_id in (run_id, None))
        records = [Record(seq, row.at_ms, row.kind, row.body, row.run_id, None, None) for seq, row in rows]
        return self.state.summary(run_id) or summary_in(records, run_id)

    async def pour_into(self, store: Store) -> None:
        """Write all of it into a journal, an empty one where none was given."""
        for start in range(0, len(self.rows), _PAGE):
            await store.journal.append(self._after_seq + start + 1, self.rows[start : start + _PAGE])
        if len(self.rows) > _SNAPSHOT_PAYS:
            await store.snapshots.save(self.state.seq, encode_state(self.state))

    async def take_from(self, store: Store, state: State) -> None:
        """Take what was written since, and the state that it came to."""
        while records := await store.journal.read(len(self.rows), _PAGE):
            self.rows += [
                Row(one.at_ms, one.kind, bytes(one.body), one.run_id, one.task_id, one.agent_id) for one in records
            ]
        self.state = state if state.seq == len(self.rows) else self._folded()

    def _folded(self) -> State:
        """Return the state anew: memory led what was written when the engine was cancelled."""
        state = State()
        fold(state, decode_events([(seq, row.kind, row.body) for seq, row in enumerate(self.rows, 1)]))
        return state
