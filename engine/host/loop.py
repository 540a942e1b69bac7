"""The loop: messages in, events on disk, effects out.

One rule holds inside: nothing is done because of an event before that event is in the journal. While a batch is being
appended, the next one is decided: memory leads the disk by two batches at most, the one in flight and the open one,
which grows until the append returns. An append that fails drops both, and the engine ends.
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

from engine.clock import Clock
from engine.core.commands import Order
from engine.core.decision_context import DecisionContext
from engine.core.effects import Effect, EndRun, StopLoop, effects_of
from engine.core.events import Event
from engine.core.fold import apply
from engine.core.records import changed
from engine.core.state import State
from engine.core.step import step
from engine.errors import Defect, HostStopped
from engine.host.batch import Batch, DirectEvent, Found, Message, Then, row_of
from engine.host.journal_writer import Writer, folded
from engine.runtimes.pending import Pending
from engine.texts import Texts
from store.opening import Store

BATCH_MS = 4
"""How long deciding may go on before what was decided is written."""
MOST_AHEAD = 5_000
"""Rows in the open batch; with more, nothing is decided before they are written."""

log = logging.getLogger(__name__)


class Loop:
    """Decides, writes, and has the effects performed.

    Args:
        store: Where the events are read.
        writer: Writes them.
        clock: The engine's time; held while anything is under way here.
        texts: Keeps what is written for those who refer to it.
        perform: Performs the effects of a batch that is on disk.
        divert: Takes an order that is not for the core to decide now; False leaves it to the core.
        seed: Of the draws.
        batch_ms: How long deciding may go on before what was decided is written.
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
        """Why it has ended or is about to; None while it goes on."""
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
        """With the open batch, or the one in flight, the engine ends."""
        self._is_over = False
        """Set when the loop has ended: effects of later writes are dropped."""
        self._is_writing = False
        self._due = anyio.Event()
        self._messages: deque[tuple[Message, Then | None]] = deque()
        self._wake: asyncio.Future[None]
        self._asleep = False
        self._defect: Found | None = None
        """Found while a message was decided: the state may be half changed, until it is read from the journal."""
        self._defects_said: set[str] = set()
        self._failure: Exception | None = None

    def put(self, message: Message, then: Then | None = None) -> None:
        """Queue a message; never blocks."""
        self._messages.append((message, then))
        self._rouse()

    def fail(self, error: Exception) -> None:
        """End with an error."""
        self._failure = error
        self._rouse()

    def close(self, error: Exception) -> None:
        """Fail every waiter: its message will not be decided, or not be written."""
        waiting = [*self._open.then, *(then for _, then in self._messages if then is not None)]
        self._open, self._messages = Batch(self._open.first_seq), deque()
        self._failure = self._failure or error
        for then in waiting:
            then(error)

    async def begin(self, message: Message) -> None:
        """Read the state, and decide the first message.

        Raises:
            Exception: Whatever deciding it runs into; an engine that cannot begin does not go on.
        """
        self._clock.hold()
        self.state = await folded(self._store, self.state if self.state.seq else None)
        self.written_seq = self.state.seq
        self._clock.begin(self.state.at_ms)
        self._open = Batch(self.state.seq + 1)
        self._messages.appendleft((message, None))
        self._decide()
        await self._carry_out(self._taken())
        if self._defect is not None:
            raise self._defect.error

    async def run(self, after_turn: Callable[[], None]) -> None:
        """Run until an effect stops it.

        Args:
            after_turn: Called whenever something was decided or written.

        Raises:
            StoreError, EngineError: If what was decided cannot be written.
        """
        try:
            while self.stopped is None:
                await self._turn()
                if self._defect is None:
                    after_turn()
        finally:
            self._is_over = True
            if not self._asleep:
                self._clock.release()  # another engine may go on by the same clock
            self._asleep = False

    async def write(self) -> None:
        """Append decided batches and perform their effects, for the life of the engine."""
        while True:
            await self._due.wait()
            self._due = anyio.Event()
            try:
                while self._open.is_due:
                    await self._carry_out(self._taken())
            finally:
                self._is_writing = False
                self._clock.release()
            self._rouse()

    async def written(self) -> bool:
        """Wait until decided events may take effect; False if they were dropped and the engine is stopping."""
        if self._failure is None and (self._is_writing or self._open.is_due):
            told: Pending[bool] = Pending()
            self._open.then.append(lambda error: told.put(error is None))
            self._begin_to_write()
            return await told.wait()
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
            await self._carry_out(self._taken())
        if self._messages:
            await checkpoint()

    @property
    def _may_decide(self) -> bool:
        """False while the open batch must be written before more is decided."""
        return self._defect is None and not self._is_last and len(self._open.rows) < MOST_AHEAD

    @property
    def _can_recover(self) -> bool:
        return self._defect is not None and not self._is_writing and not self._open.is_due

    def _rouse(self) -> None:
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

    def _taken(self) -> Batch:
        """Hand the open batch to the writer and open a new one."""
        batch = self._open
        self._open = Batch(batch.first_seq + len(batch.events))
        return batch

    async def _carry_out(self, batch: Batch) -> None:
        try:
            if batch.rows:
                await self._writer.write(batch)
            if self._is_over:  # while it was written: the next engine goes on from there
                raise HostStopped(self.stopped or "it was cancelled")
        except Exception as error:
            for then in [*batch.then, *self._open.then]:
                then(error)
            self._open.then = []
            raise
        self.written_seq = max(self.written_seq, batch.first_seq + len(batch.rows) - 1)
        self._perform(batch)
        for then in batch.then:
            then(None)

    def _decide(self) -> None:
        """Decide what has arrived, for at most `batch_ms`."""
        batch = self._open
        until_ns = time.perf_counter_ns() + self._batch_ns
        while self._messages and self._may_decide:
            message, then = self._messages.popleft()
            try:
                self._decide_one(message, batch)
            except Exception as error:  # a defect of the engine: the state may be half changed, so the batch ends here
                self._defect = Found(message, then, error)
                break
            if then is not None:
                batch.then.append(then)
            if time.perf_counter_ns() >= until_ns:
                break

    def _decide_one(self, message: Message, batch: Batch) -> None:
        if type(message) is Order and self._divert(message, batch):
            return
        state = self.state
        if type(message) is DirectEvent:  # it may have waited for the disk: what happened meanwhile is not undone
            event = changed(message.event, at_ms=self._clock.now_ms())
            self._take(batch, *_given(state, DirectEvent(event)))
        else:
            context = DecisionContext(now_ms=self._clock.now_ms(), jitter=self._random.random())
            self._take(batch, *step(state, message, context))  # type: ignore[arg-type]  # DirectEvent is handled above

    def _take(self, batch: Batch, events: list[Event], effects: list[Effect]) -> None:
        # Rows first: an event that cannot be written must not leave others of its message behind.
        rows = [row_of(event) for event in events]
        seq = batch.first_seq + len(batch.events)
        batch.events += events
        batch.rows += rows
        batch.effects += effects
        for place, event in enumerate(events):
            self._texts.keep(seq + place, event, len(rows[place].body))
        for effect in effects:
            if type(effect) is EndRun:
                summary = self.state.summary(effect.run_id)
                assert summary is not None
                batch.ended[effect.run_id] = summary
            elif type(effect) is StopLoop:
                self._is_last = True

    async def _recover(self) -> None:
        """Reload the state from the journal, and report the outcome of the message."""
        found = self._defect
        assert found is not None
        if found.line not in self._defects_said:
            self._defects_said.add(found.line)
            log.error("a defect in deciding %s", found.kind, exc_info=found.error)
        await self._writer.flush()
        self.state = await folded(self._store)
        self._defect = None
        if found.then is not None:
            found.then(Defect(f"a defect in the engine: {found.line}"))
        if (instead := found.instead()) is not None:
            self._messages.appendleft((instead, None))
        self._take(self._open, *_given(self.state, DirectEvent(found.event(self._clock.now_ms()))))


def _given(state: State, message: DirectEvent) -> tuple[list[Event], list[Effect]]:
    apply(state, message.event)
    return [message.event], effects_of(state, message.event)
