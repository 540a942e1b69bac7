"""The loop: messages in, events on disk, effects out.

Effects of an event are performed only after the event is in the journal. While a batch is being appended, the next one
is decided: memory leads the disk by at most two batches, the one in flight and the open one, which grows until the
append returns. A failed append drops both and ends the engine.
See docs/semantics/execution.md.
"""

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable

import anyio
from anyio.lowlevel import checkpoint

from engine.core.commands import Order
from engine.core.decisions.decision_context import DecisionContext
from engine.core.effects import Effect, EndRun, StopLoop
from engine.core.effects.table import effects_of
from engine.core.events import Event
from engine.core.fold import apply
from engine.core.records.records import copy_with
from engine.core.signals import EngineWoke
from engine.core.state import State
from engine.core.step import step
from engine.errors import Defect, HostStopped
from engine.host.batch import Batch, DefectReport, DirectEvent, Message, OnWritten, row_of
from engine.host.journal_writer import Writer, load_state
from engine.platform.clock import Clock
from engine.reading.texts import Texts
from engine.runtimes.attempts.pending import Pending
from store.layout.opening import Store

BATCH_MS = 4
"""Time for which messages are decided before the batch is written: later messages delay the acknowledgement of earlier
ones by at most this."""
MAX_AHEAD_ROWS = 5_000
"""Rows in the open batch above which deciding waits for the writer; bounds memory while the disk is slow."""

log = logging.getLogger(__name__)


class Loop:
    """Decides messages, writes their events, and has the effects performed.

    Args:
        store: The store whose journal is read.
        writer: Appends batches to the journal.
        clock: The engine's time; held while the loop is at work, so that a virtual clock does not advance.
        texts: Cache of texts in recent events.
        perform: Performs the effects of a batch that is on disk.
        divert: Handles an order outside the core; returns False to leave it to the core.
        seed: Seed of the random draws.
        batch_ms: Time for which messages are decided before the batch is written.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        clock: Clock,
        texts: Texts,
        *,
        perform: Callable[[Batch], None],
        divert: Callable[[Order, Batch], bool],
        seed: int | None,
        batch_ms: float = BATCH_MS,
    ) -> None:
        self.state = State()
        self.stopped: str | None = None
        """Why the loop has ended or is about to; None while it runs."""
        self.written_seq = 0
        """Seq of the last event whose effects may be performed."""
        self._store = store
        self._writer = writer
        self._clock = clock
        self._texts = texts
        self._perform = perform
        self._divert = divert
        self._random = random.Random(seed)
        self._batch_ns = batch_ms * 1_000_000
        self._open = Batch(1)
        self._is_last = False
        """The engine ends with the open batch or the one in flight."""
        self._is_over = False
        """Set when the loop has ended: effects of later writes are dropped."""
        self._is_writing = False
        self._due = anyio.Event()
        self._messages: deque[tuple[Message, OnWritten | None]] = deque()
        self._wake: asyncio.Future[None]
        self._asleep = False
        self._defect: DefectReport | None = None
        """A defect found while deciding: the state may be half changed until it is reloaded from the journal."""
        self._logged_defects: set[str] = set()
        self._failure: Exception | None = None

    def put(self, message: Message, on_written: OnWritten | None = None) -> None:
        """Queue a message; never blocks."""
        self._messages.append((message, on_written))
        self._wake_up()

    def fail(self, error: Exception) -> None:
        """End with an error."""
        self._failure = error
        self._wake_up()

    def close(self, error: Exception) -> None:
        """Fail every waiter whose message was not written."""
        callbacks = [*self._open.callbacks, *(callback for _, callback in self._messages if callback is not None)]
        self._open, self._messages = Batch(self._open.first_seq), deque()
        self._failure = self._failure or error
        for callback in callbacks:
            callback(error)

    async def begin(self, message: Message) -> None:
        """Load the state and decide the first message.

        Raises:
            Exception: Any defect in deciding it: an engine that cannot begin must not go on.
        """
        self._clock.hold()
        self.state = await load_state(self._store, self.state if self.state.seq else None)
        self.written_seq = self.state.seq
        self._clock.begin(self.state.at_ms)
        self._open = Batch(self.state.seq + 1)
        # First, ahead of orders that arrived meanwhile: `EngineStarted` ends the attempts of the engine before.
        self._messages.appendleft((message, None))
        self._decide()
        await self._write_batch(self._take_open())
        if self._defect is not None:
            raise self._defect.error

    async def run(self, after_turn: Callable[[], None]) -> None:
        """Run until an effect stops it; `after_turn` is called whenever something was decided or written."""
        try:
            while self.stopped is None:
                await self._turn()
                # After a defect the state may be half changed, and must not become a snapshot.
                if self._defect is None:
                    after_turn()
        finally:
            self._is_over = True
            if not self._asleep:
                self._clock.release()  # another engine may go on by the same clock
            self._asleep = False

    async def write(self) -> None:
        """Append batches and perform their effects, for the life of the engine."""
        while True:
            await self._due.wait()
            self._due = anyio.Event()
            try:
                while self._open.is_due:
                    await self._write_batch(self._take_open())
            finally:
                self._is_writing = False
                self._clock.release()
            self._wake_up()

    async def flush(self) -> bool:
        """Wait until all events decided so far may take effect; False if they were dropped and the engine stops."""
        if self._failure is None and (self._is_writing or self._open.is_due):
            pending: Pending[bool] = Pending()
            self._open.callbacks.append(lambda error: pending.put(error is None))
            self._begin_to_write()
            return await pending.wait()
        return self._failure is None

    async def _turn(self) -> None:
        if not (self._messages and self._may_decide) and self._failure is None and not self._can_recover:
            self._asleep, self._wake = True, asyncio.get_running_loop().create_future()
            self._clock.release()
            await self._wake
        if self._failure is not None:
            raise self._failure
        if self._can_recover:
            await self._recover()
        self._decide()
        if not self._open.is_due:
            return
        if self._writer.takes_time:
            self._begin_to_write()
        else:
            await self._write_batch(self._take_open())
        # Nothing above has yielded; other tasks get a turn before the next batch.
        if self._messages:
            await checkpoint()

    @property
    def _may_decide(self) -> bool:
        """False while the open batch must be written before more is decided."""
        return self._defect is None and not self._is_last and len(self._open.rows) < MAX_AHEAD_ROWS

    @property
    def _can_recover(self) -> bool:
        return self._defect is not None and not self._is_writing and not self._open.is_due

    def _wake_up(self) -> None:
        if self._asleep:
            self._asleep = False
            self._clock.hold()
            if not self._wake.done():  # else the loop is being cancelled
                self._wake.set_result(None)

    def _begin_to_write(self) -> None:
        if not self._is_writing:
            self._is_writing = True
            self._clock.hold()
            self._due.set()

    def _take_open(self) -> Batch:
        """Return the open batch and open a new one."""
        batch = self._open
        self._open = Batch(batch.first_seq + len(batch.events))
        return batch

    async def _write_batch(self, batch: Batch) -> None:
        try:
            if batch.rows:
                await self._writer.write(batch)
            if self._is_over:  # the loop ended during the append: only the next engine may perform the effects
                raise HostStopped(self.stopped or "it was cancelled")
        except BaseException as error:  # also when cancelled, for example while it waits for room on the disk
            reason = error if isinstance(error, Exception) else HostStopped(self.stopped or "it was cancelled")
            for callback in [*batch.callbacks, *self._open.callbacks]:
                callback(reason)
            self._open.callbacks = []
            raise
        # `max`, because a batch without rows begins after events that may be in flight.
        self.written_seq = max(self.written_seq, batch.first_seq + len(batch.rows) - 1)
        # Callbacks first: an attempt whose step is recorded continues before an effect may stop other attempts.
        for callback in batch.callbacks:
            callback(None)
        self._perform(batch)

    def _decide(self) -> None:
        """Decide the queued messages, for at most `batch_ms`."""
        batch = self._open
        until_ns = time.perf_counter_ns() + self._batch_ns
        if slept_ms := self._clock.take_slept_ms():
            self._messages.appendleft((EngineWoke(slept_ms=slept_ms), None))  # ahead of timers that are due by now
        now_ms = self._clock.now_ms()  # the same for all: reading the clock takes as long as encoding an event
        while self._messages and self._may_decide:
            message, on_written = self._messages.popleft()
            try:
                self._decide_one(message, batch, now_ms)
            except Exception as error:  # a defect of the engine: the state may be half changed, so the batch ends here
                self._defect = DefectReport(message, on_written, error)
                break
            if on_written is not None:
                batch.callbacks.append(on_written)
            if time.perf_counter_ns() >= until_ns:
                break

    def _decide_one(self, message: Message, batch: Batch, now_ms: int) -> None:
        if type(message) is Order and self._divert(message, batch):
            return
        state = self.state
        if type(message) is DirectEvent:
            # Stamped now: it may have waited while the disk was full, and time in the journal never goes back.
            event = copy_with(message.event, at_ms=now_ms)
            self._take(batch, *_apply_direct(state, DirectEvent(event)))
        else:
            context = DecisionContext(now_ms=now_ms, jitter=self._random.random())
            self._take(batch, *step(state, message, context))  # type: ignore[arg-type]  # DirectEvent is handled above

    def _take(self, batch: Batch, events: list[Event], effects: list[Effect]) -> None:
        # All rows are encoded first: if one event cannot be encoded, none of its message may be in the batch.
        rows = [row_of(event) for event in events]
        seq = batch.first_seq + len(batch.events)
        batch.events += events
        batch.rows += rows
        batch.effects += effects
        for index, event in enumerate(events):
            self._texts.keep(seq + index, event, len(rows[index].body))
        for effect in effects:
            if type(effect) is EndRun:
                summary = self.state.summary(effect.run_id)
                assert summary is not None
                batch.finished_runs[effect.run_id] = summary
            elif type(effect) is StopLoop:
                # Nothing more is decided, so that no event follows `EngineStopped`.
                self._is_last = True

    async def _recover(self) -> None:
        """Reload the state from the journal, and refuse or drop the message that hit the defect."""
        report = self._defect
        assert report is not None
        if report.line not in self._logged_defects:  # once: the same message may arrive in a loop
            self._logged_defects.add(report.line)
            log.error("a defect in deciding %s", report.kind, exc_info=report.error)
        await self._writer.flush()
        self.state = await load_state(self._store)
        self._defect = None
        if report.on_written is not None:
            report.on_written(Defect(f"a defect in the engine: {report.line}"))
        if (replacement := report.replacement()) is not None:
            self._messages.appendleft((replacement, None))
        self._take(self._open, *_apply_direct(self.state, DirectEvent(report.event(self._clock.now_ms()))))


def _apply_direct(state: State, message: DirectEvent) -> tuple[list[Event], list[Effect]]:
    apply(state, message.event)
    return [message.event], effects_of(state, message.event)
