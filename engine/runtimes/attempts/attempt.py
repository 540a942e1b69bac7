"""The shared base of the parts of an attempt: steps and their keys, reports to the journal, waits and their stops."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import anyio

from engine.core import signals
from engine.core.effects import StartAttempt
from engine.core.events.attempt import StepKind
from engine.core.queries.work.pauses import pause_of
from engine.core.records.keys import stem_of
from engine.core.records.records import JsonValue
from engine.core.records.values import NO_USAGE, Usage
from engine.core.signals import Signal
from engine.core.state import State
from engine.errors import AttemptInterrupted
from engine.runtimes.attempts.live_output import AttemptOutput
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.services import Services, of_attempt
from engine.runtimes.values import copy_json

T = TypeVar("T")

GIVE_UP_MS = 2_000
"""How long a cancelled attempt may clean up before it is abandoned."""


@cache
def _scopes() -> Callable[[], anyio.CancelScope]:
    """Return the class of anyio's scopes, which it looks up for each anew: four times as long as one takes to make."""
    return type(anyio.CancelScope())


class Attempt:
    """The shared base of the parts of an attempt.

    It refers to none of them: without cycles an attempt is freed once it has ended, and garbage is rarely collected.

    Args:
        on_given_up: Called when it still runs `GIVE_UP_MS` after it was cancelled.
    """

    over = False
    """Its end is reported, so later reports have no effect."""
    stopping = False
    """Asked to stop at its next step."""
    saw_stopping = False
    """The code has noticed the stop, so a result that it returns now is partial."""
    _waits = 0

    def __init__(self, effect: StartAttempt, services: Services, on_given_up: Callable[["Attempt"], None]) -> None:
        self.effect = effect
        self.services = services
        self.live = AttemptOutput(effect, services)
        self.scope = _scopes()()
        """Cancelled by the host to stop it now."""
        self.stoppable_waits: dict[int, Pending[Any]] = {}
        self._occurrences: dict[str, int] = {}
        self._timers: list[Callable[[], None]] = []
        self._on_given_up = on_given_up
        services.clock.hold()

    @property
    def state(self) -> State:
        """The state of the moment, for reading."""
        return self.services.state

    @property
    def is_paused(self) -> bool:
        """True while its agent, a supervisor above it or its run is paused."""
        effect = self.effect
        return pause_of(self.state, effect.run_id, effect.agent_id) is not None

    def key(self, name: str, value: JsonValue) -> str:
        """Return the key of a step or a call: its name, a hash of its input, and the number of its occurrence."""
        stem = stem_of(name, value)
        number = self._occurrences[stem] = self._occurrences.get(stem, 0) + 1
        return f"{stem}:{number}"

    def next_key(self, name: str, value: JsonValue) -> str:
        """Return what `key` would return, without counting it."""
        stem = stem_of(name, value)
        return f"{stem}:{self._occurrences.get(stem, 0) + 1}"

    def new_key(self, name: str) -> str:
        """Return the key of a step whose input is not known; steps of earlier attempts keep their keys."""
        key = self.key(name, None)
        while self.is_recorded(key):
            key = self.key(name, None)
        return key

    def is_recorded(self, key: str) -> bool:
        """Return True when an earlier attempt finished this step."""
        return key in self.effect.steps

    async def recorded_output(self, key: str) -> JsonValue:
        """Return the output of a finished step."""
        return copy_json(await self.services.text(self.effect.steps[key]))

    async def record(self, step: signals.StepFinished) -> None:
        """Journal a finished step; returns once it is on disk.

        Raises:
            AttemptInterrupted: If its end was reported; the step is not recorded then.
        """
        await self.report(step)

    def record_cut_off(self, what: StepKind, name: str, began_ms: int, usage: Usage = NO_USAGE) -> None:
        """Journal the time and the cost of a call that a stop or a time limit cuts off, unless it is over."""
        if not self.over:
            duration_ms = self.now_ms() - began_ms
            self.services.signal(
                signals.StepCutOff(
                    **of_attempt(self.effect), what=what, name=name, duration_ms=duration_ms, usage=usage
                )
            )

    async def report(self, signal: Signal) -> None:
        """Report a signal, and return once it is on disk.

        A stop does not interrupt this: it takes effect at the next step, and code that returns before that is done.
        """
        self.raise_if_over()
        if isinstance(signal, signals.StepFinished | signals.ToolBegan):
            self.live.announce(signal.key)
        pending: Pending[None] = self.open_wait()
        try:
            self.services.signal(signal, lambda error: pending.put(None) if error is None else pending.fail(error))
            await pending.wait()
        finally:
            pending.close()

    async def wait_state_written(self) -> None:
        """Wait until the state that was just read is on disk; otherwise a stopped engine would have acted on nothing.

        Raises:
            AttemptInterrupted: If the engine stops first.
        """
        pending: Pending[None] = self.open_wait()
        try:
            if not await self.services.state_written():
                raise AttemptInterrupted
        finally:
            pending.close()

    def now_ms(self) -> int:
        """Return the engine's time."""
        return self.services.clock.now_ms()

    async def sleep(self, seconds: float) -> None:
        """Wait on the engine's clock.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop meanwhile.
        """
        with self.stoppable_wait() as pending:
            cancel_timer = self.services.call_later(self.now_ms() + round(seconds * 1000), lambda: pending.put(None))
            try:
                await pending.wait()
            finally:
                cancel_timer()

    @contextmanager
    def stoppable_wait(self) -> Iterator[Pending[Any]]:
        """Yield a future that fails when the attempt is asked to stop.

        Raises:
            AttemptInterrupted: If it was asked before: nothing else would end a wait for others, who may wait for it.
        """
        self.raise_if_stopping()
        pending: Pending[Any] = self.open_wait()
        self.stoppable_waits[id(pending)] = pending
        try:
            yield pending
        finally:
            pending.close()
            del self.stoppable_waits[id(pending)]

    def open_wait(self) -> Pending[T]:
        """Return a future; while one is open, the attempt does not hold the clock."""
        self._waits += 1
        if self._waits == 1 and not self.over:
            self.services.clock.release()
        return Pending(self._end_wait)

    def _end_wait(self) -> None:
        self._waits -= 1
        if self._waits == 0 and not self.over:
            self.services.clock.hold()

    def raise_if_stopping(self) -> None:
        """Raise `AttemptInterrupted` if it is asked to stop; every call of `ctx` checks this."""
        if self.stopping or not self.services.may_act():
            self.saw_stopping = True
            raise AttemptInterrupted

    def raise_if_over(self) -> None:
        """Raise if its end is reported: a report now could be taken for one of the attempt's next generation."""
        if self.over:
            raise AttemptInterrupted

    def stop_now(self) -> None:
        """Cancel it; code that ignores cancellation is abandoned after `GIVE_UP_MS`."""
        self.stopping = True
        if not self.scope.cancel_called:
            self.scope.cancel()
            self.call_later(GIVE_UP_MS, lambda: self._on_given_up(self))

    def call_later(self, delay_ms: int, call: Callable[[], None]) -> None:
        """Call `call` after a delay, unless the attempt has ended by then."""
        self._timers.append(self.services.call_later(self.now_ms() + delay_ms, call))

    def close(self) -> None:
        """Remove its live output and timers, and release the clock; does nothing the second time."""
        if self.over:
            return
        self.over = True
        if self._waits == 0:
            self.services.clock.release()
        for cancel_timer in self._timers:
            cancel_timer()
        self.live.close()
