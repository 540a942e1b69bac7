"""The slot of an attempt: held while one of its steps runs, released while the attempt waits or is paused.

The core grants and takes slots; `resume_steps` is called when the attempt has one again. A pause takes effect before a
step begins, and before one goes on that has waited.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from engine.core.events.attempt import StepKind
from engine.core.signals import SlotAsked, StepsEnded
from engine.core.state import ParkedFor
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.services import of_attempt
from engine.runtimes.attempts.time_limits import TimeLimit


class _Step:
    """A running step of an attempt; it does not count as running while it waits for others."""

    waits = 0
    """Number of its present waits."""
    person_waits = 0
    """How many of these waits are for people, or for the end of a pause."""
    limit: TimeLimit | None = None
    """Its time limit."""


@dataclass(eq=False, frozen=True, slots=True)
class _Wait:
    """A reason to wait other than delegated work."""

    reason: ParkedFor
    until_ms: int | None


_FOR_PEOPLE = ("ask", "approval", "paused")
"""Waits that last as long as people take, during which time limits stand still."""
_FOR_CALLS = _Wait("call", None)
_STEP: ContextVar[_Step | None] = ContextVar("step", default=None)
"""The step that the current code runs in."""


class AttemptSlot:
    """The part of an attempt that holds and releases its slot."""

    is_held = True
    _parked_since_ms = 0
    _parked_ms = 0
    _person_waits = 0
    """Number of waits for people, and for the end of a pause, including the wait for a slot afterwards."""
    attempt_limit: TimeLimit | None = None
    """Time limit of the attempt."""

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt
        self._effect = attempt.effect
        self._clock = attempt.services.clock
        self._began_ms = self._clock.awake_ms()
        self.calls: dict[str, Pending[Any]] = {}
        """Delegations that wait for their outcomes, by key."""
        self._slot_waiters: dict[int, Pending[None]] = {}
        """Steps that wait for a slot, to begin or to go on."""
        self._pause_waiters: dict[int, Pending[None]] = {}
        """Steps that wait for the end of a pause."""
        self._running: set[_Step] = set()
        self._parks: dict[_Wait, None] = {}
        """Its waits other than calls, oldest first."""

    @asynccontextmanager
    async def step(self, what: StepKind, name: str) -> AsyncIterator[None]:
        """Run the body as a step, which begins once the attempt holds a slot and is not paused.

        Args:
            what: Kind of the step.
            name: Its name, for those who watch.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop while it waits.
        """
        await self._acquire()
        step = _Step()
        self._running.add(step)
        self._update_limit()
        outer, began_ms = _STEP.set(step), self._attempt.now_ms()
        try:
            with self._attempt.live.step(what, name):
                yield
        except Exception:
            raise
        except BaseException:
            if what == "tool":  # calls of models report themselves, with their cost
                self._attempt.record_cut_off(what, name, began_ms)
            raise
        finally:
            _STEP.reset(outer)
            self._running.discard(step)
            self._release_if_waiting()
            self._update_limit()

    @asynccontextmanager
    async def parked(self, reason: ParkedFor, until_ms: int | None = None) -> AsyncIterator[None]:
        """Release the slot during the body if nothing else of the attempt runs, then take one again.

        If the attempt still waits for something else, it goes on without a slot until its next step.

        Args:
            reason: Reason for the wait.
            until_ms: When the wait ends by itself, on the engine's clock.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop while it waits for a slot.
        """
        wait = _Wait(reason, until_ms)
        with self._suspend_limit() if reason in _FOR_PEOPLE else nullcontext():
            async with self.waiting_step():
                self._parks[wait] = None
                try:
                    self._release_if_waiting()
                    yield
                finally:
                    del self._parks[wait]
            if not self._current_wait():
                self._attempt.raise_if_stopping()
                await self._acquire()

    async def wait_while_paused(self) -> None:
        """Wait for the end of a pause, and for a slot after it; call it before work that costs something begins.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop meanwhile.
        """
        if self._attempt.is_paused:
            async with self.waiting_step():
                await self._acquire()

    @contextmanager
    def _suspend_limit(self) -> Iterator[None]:
        """Suspend the time limit of the waiting step, and of the attempt while no step runs."""
        step = _STEP.get()
        self._person_waits += 1
        if step is not None:
            step.person_waits += 1
            if step.limit is not None:
                step.limit.suspend()
        self._update_limit()
        try:
            yield
        finally:
            self._person_waits -= 1
            if step is not None:
                step.person_waits -= 1
                if step.limit is not None and not step.person_waits:
                    step.limit.resume()
            self._update_limit()

    def _update_limit(self) -> None:
        """Suspend the attempt's time limit exactly while it waits for a person or is paused, and no step runs."""
        if self.attempt_limit is None or self._attempt.over:
            return
        if self._person_waits and not self._running:
            self.attempt_limit.suspend()
        else:
            self.attempt_limit.resume()

    @contextmanager
    def limit_step(self, limit: TimeLimit) -> Iterator[None]:
        """Apply a time limit to the current step."""
        step = _STEP.get()
        if step is not None:
            step.limit = limit
        limit.resume()
        try:
            yield
        finally:
            limit.suspend()
            if step is not None:
                step.limit = None

    @asynccontextmanager
    async def waiting_step(self) -> AsyncIterator[None]:
        """Mark the current step, if any, as waiting during the body."""
        step = _STEP.get()
        # Also a task that the step's code has started and left behind: the step has ended, so it cannot wait.
        if step is None or (step not in self._running and not step.waits):
            yield
            return
        step.waits += 1
        self._running.discard(step)
        self._update_limit()
        try:
            yield
            # The last of several concurrent waits of the step: only then does its code go on.
            if step.waits == 1:
                await self._acquire()
        finally:
            step.waits -= 1
            if not step.waits:
                self._running.add(step)
            self._update_limit()

    async def _acquire(self) -> None:
        """Wait until the attempt holds a slot and is not paused.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop meanwhile, also once it has the slot.
        """
        while self._attempt.is_paused or not self.is_held:
            await (self._wait_for_resume() if self._attempt.is_paused else self._wait_for_slot())

    async def _wait_for_resume(self) -> None:
        """Wait for the end of the pause, without a slot once no other step runs."""
        wait = _Wait("paused", None)
        with self._attempt.stoppable_wait() as pending, self._suspend_limit():
            self._parks[wait] = None
            self._pause_waiters[id(pending)] = pending
            try:
                if self.is_held:
                    self._release_if_waiting()
                elif self._current_wait() is wait and not self.is_busy:
                    self._report_wait(wait)  # it is parked for something else, which has come
                await pending.wait()
            finally:
                del self._parks[wait], self._pause_waiters[id(pending)]

    def end_pause(self) -> None:
        """Let steps go on that wait for the end of a pause, unless there is another; called by the host."""
        if not self._attempt.is_paused:
            for pending in self._pause_waiters.values():
                pending.put(None)

    async def _wait_for_slot(self) -> None:
        pending: Pending[None] = self._attempt.open_wait()
        # One request serves all steps that wait.
        if not self._slot_waiters:
            self._attempt.services.signal(SlotAsked(**of_attempt(self._effect)))
        self._attempt.stoppable_waits[id(pending)] = self._slot_waiters[id(pending)] = pending
        try:
            await pending.wait()
        finally:
            del self._attempt.stoppable_waits[id(pending)], self._slot_waiters[id(pending)]
        self._attempt.raise_if_stopping()

    def resume_steps(self) -> None:
        """Start the steps that waited for a slot; called by the host once the attempt has one."""
        self.set_held(True)
        for pending in self._slot_waiters.values():
            pending.put(None)
        # If no step wanted it after all, for example because it was cancelled, the slot is released again.
        self._release_if_waiting()

    def _release_if_waiting(self) -> None:
        """Release the slot if the attempt waits and no step runs."""
        wait = self._current_wait()
        if wait is not None and self.is_held and not self.is_busy and not self._attempt.over:
            self.set_held(False)
            self._report_wait(wait)

    def _report_wait(self, wait: _Wait) -> None:
        self._attempt.services.signal(StepsEnded(**of_attempt(self._effect), why=wait.reason, until_ms=wait.until_ms))

    def _current_wait(self) -> _Wait | None:
        """Return what the attempt waits for; None if it waits for nothing or is stopping."""
        if self._attempt.stopping:
            return None
        if not all(call.done for call in self.calls.values()):
            return _FOR_CALLS
        return next(iter(self._parks), None)

    @property
    def is_busy(self) -> bool:
        """True while a step runs or is about to begin."""
        return bool(self._running or self._slot_waiters)

    def set_held(self, holds: bool) -> None:
        """Record whether it holds a slot, and the time without one."""
        now_ms = self._clock.awake_ms()
        if holds != self.is_held:
            self._parked_ms += now_ms - self._parked_since_ms if holds else 0
            self.is_held, self._parked_since_ms = holds, now_ms

    @property
    def held_ms(self) -> int:
        """Time for which it was held, while the computer ran."""
        until_ms = self._clock.awake_ms() if self.is_held else self._parked_since_ms
        return until_ms - self._began_ms - self._parked_ms
