"""The loop: messages in, events on disk, effects out.

One rule holds inside: nothing is done because of an event before that event is in the journal. Memory leads the disk
by one batch; what arrives while a batch is written is decided as the next one.
"""

import logging
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import anyio
from anyio.lowlevel import checkpoint

from engine.clock import Clock
from engine.core.commands import Order
from engine.core.context import Context
from engine.core.effects import Effect, EndRun, StopLoop, effects_of
from engine.core.events import Event
from engine.core.fold import apply
from engine.core.state import State
from engine.core.step import step
from engine.errors import Defect
from engine.host.batch import Batch, Given, Message, Then, row_of
from engine.host.defects import Found
from engine.host.disk import Writer
from engine.host.opening import folded
from engine.texts import Texts
from store.opening import Store

BATCH_MS = 4
"""How long deciding may go on before what was decided is written."""

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
        self._store = store
        self._writer = writer
        self._clock = clock
        self._texts = texts
        self._perform = perform
        self._divert = divert
        self._random = random.Random(seed)
        self._batch_ns = batch_ms * 1_000_000
        self._messages: deque[tuple[Message, Then | None]] = deque()
        self._wake = anyio.Event()
        self._asleep = False
        self._defect: Found | None = None
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
        """Tell everybody who waits for a message that it will not be decided."""
        while self._messages:
            _, then = self._messages.popleft()
            if then is not None:
                then(error)

    async def begin(self, message: Message) -> None:
        """Read the state, and decide the first message.

        Raises:
            Exception: Whatever deciding it runs into; an engine that cannot begin does not go on.
        """
        self._clock.hold()
        self.state = await folded(self._store, self.state if self.state.seq else None)
        self._clock.begin(self.state.at_ms)
        self._messages.appendleft((message, None))
        await self._turn()
        if self._defect is not None:
            raise self._defect.error

    async def run(self, after_turn: Callable[[], None]) -> None:
        """Go on until an effect ends it.

        Args:
            after_turn: Called after each batch.

        Raises:
            StoreError, EngineError: If what was decided cannot be written.
        """
        try:
            while self.stopped is None:
                await self._next()
                after_turn()
        finally:
            if not self._asleep:
                self._clock.release()  # another engine may go on by the same clock
            self._asleep = False

    async def _next(self) -> None:
        if not self._messages and self._failure is None:
            self._asleep, self._wake = True, anyio.Event()
            self._clock.release()
            await self._wake.wait()
        if self._failure is not None:
            raise self._failure
        await self._turn()
        if self._defect is not None:
            await self._recover(self._defect)

    def _rouse(self) -> None:
        if self._asleep:
            self._asleep = False
            self._clock.hold()
            self._wake.set()

    async def _turn(self) -> None:
        batch = self._decided()
        await self._carry_out(batch)

    async def _carry_out(self, batch: Batch) -> None:
        try:
            if batch.rows:
                await self._writer.write(batch)
            if self._messages:
                await checkpoint()
        except Exception as error:
            for then in batch.then:
                then(error)
            raise
        self._perform(batch)
        for then in batch.then:
            then(None)

    def _decided(self) -> Batch:
        """Decide what has arrived, for at most `batch_ms`."""
        batch = Batch(self.state.seq + 1)
        until_ns = time.perf_counter_ns() + self._batch_ns
        while self._messages:
            message, then = self._messages.popleft()
            try:
                self._decide(message, batch)
            except Exception as error:  # a defect of ours: the state may be half changed, so the batch ends here
                self._defect = Found(message, then, error)
                break
            if then is not None:
                batch.then.append(then)
            if batch.is_last or time.perf_counter_ns() >= until_ns:
                break
        return batch

    def _decide(self, message: Message, batch: Batch) -> None:
        if type(message) is Order and self._divert(message, batch):
            return
        state = self.state
        if type(message) is Given:  # it may have waited for the disk: what happened meanwhile is not undone
            event = replace(message.event, at_ms=self._clock.now_ms())
            self._take(batch, *_given(state, Given(event)))
        else:
            context = Context(now_ms=self._clock.now_ms(), jitter=self._random.random())
            self._take(batch, *step(state, message, context))  # type: ignore[arg-type]  # Given is handled above

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
                batch.is_last = True

    async def _recover(self, found: Found) -> None:
        """Take the state from the journal again, and say what became of the message."""
        self._defect = None
        if found.line not in self._defects_said:
            self._defects_said.add(found.line)
            log.error("a defect in deciding %s", found.kind, exc_info=found.error)
        await self._writer.flush()
        self.state = await folded(self._store)
        if found.then is not None:
            found.then(Defect(f"a defect in the engine: {found.line}"))
        if (instead := found.instead()) is not None:
            self._messages.appendleft((instead, None))
        batch = Batch(self.state.seq + 1)
        self._take(batch, *_given(self.state, Given(found.event(self._clock.now_ms()))))
        await self._carry_out(batch)


def _given(state: State, message: Given) -> tuple[list[Event], list[Effect]]:
    apply(state, message.event)
    return [message.event], effects_of(state, message.event)
