"""Timers: one task that sleeps until the earliest is due."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from engine.platform.clock import Clock


@dataclass(slots=True, order=True)
class _Timer:
    due_ms: int
    order: int
    call: Callable[[], None] | None = field(compare=False)


class Timers:
    """Calls functions in the loop when they are due, in order of time, then of request."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timers: list[_Timer] = []
        self._order = 0
        self._cancelled_count = 0
        self._news = anyio.Event()
        self._sleep: anyio.CancelScope | None = None

    def at(self, due_ms: int, call: Callable[[], None]) -> Callable[[], None]:
        """Call `call` once, at `due_ms` or as soon after as possible; return a function that cancels it."""
        self._order += 1
        timer = _Timer(due_ms, self._order, call)
        heapq.heappush(self._timers, timer)
        if self._timers[0] is timer:
            self._wake()

        def cancel() -> None:
            if timer.call is not None:
                timer.call = None
                self._note_cancelled(timer)

        return cancel

    async def run(self) -> None:
        """Call due functions, for the life of the engine."""
        while True:
            self._call_due()
            if not self._timers:
                self._news = anyio.Event()
                await self._news.wait()
                continue
            with anyio.CancelScope() as self._sleep:
                await self._clock.sleep_until(self._timers[0].due_ms)
            self._sleep = None

    def _call_due(self) -> None:
        while self._timers:
            timer = self._timers[0]
            if timer.call is not None and timer.due_ms > self._clock.now_ms():
                return
            heapq.heappop(self._timers)
            if timer.call is None:
                self._cancelled_count -= 1
            else:
                # Cleared before the call, so that cancelling the timer from inside it has no effect.
                call, timer.call = timer.call, None
                call()

    def _note_cancelled(self, timer: _Timer) -> None:
        self._cancelled_count += 1
        if self._timers and self._timers[0] is timer:
            self._wake()
        # Cancelled entries stay in the heap until they are half of it: removing one at a time would cost O(n).
        elif self._cancelled_count > 64 and self._cancelled_count > len(self._timers) // 2:
            self._timers = [pending_timer for pending_timer in self._timers if pending_timer.call is not None]
            heapq.heapify(self._timers)
            self._cancelled_count = 0

    def _wake(self) -> None:
        self._news.set()
        if self._sleep is not None:
            self._sleep.cancel()
