"""Timers: one task that sleeps until the earliest is due."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from engine.platform.clock import Clock


@dataclass(slots=True, order=True)
class _Moment:
    due_ms: int
    order: int
    call: Callable[[], None] | None = field(compare=False)


class Timers:
    """Calls functions in the loop when they are due, in order of time, then of request."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moments: list[_Moment] = []
        self._order = 0
        self._taken_back = 0
        self._news = anyio.Event()
        self._sleep: anyio.CancelScope | None = None

    def at(self, due_ms: int, call: Callable[[], None]) -> Callable[[], None]:
        """Call `call` once, at `due_ms` or as soon after as possible; return a function that cancels it."""
        self._order += 1
        moment = _Moment(due_ms, self._order, call)
        heapq.heappush(self._moments, moment)
        if self._moments[0] is moment:
            self._wake()

        def take_back() -> None:
            if moment.call is not None:
                moment.call = None
                self._forget(moment)

        return take_back

    async def run(self) -> None:
        """Call due functions, for the life of the engine."""
        while True:
            self._call_due()
            if not self._moments:
                self._news = anyio.Event()
                await self._news.wait()
                continue
            with anyio.CancelScope() as self._sleep:
                await self._clock.sleep_until(self._moments[0].due_ms)
            self._sleep = None

    def _call_due(self) -> None:
        while self._moments:
            moment = self._moments[0]
            if moment.call is not None and moment.due_ms > self._clock.now_ms():
                return
            heapq.heappop(self._moments)
            if moment.call is None:
                self._taken_back -= 1
            else:
                # Cleared before the call, so that a `take_back` from inside it changes nothing.
                call, moment.call = moment.call, None
                call()

    def _forget(self, moment: _Moment) -> None:
        self._taken_back += 1
        if self._moments and self._moments[0] is moment:
            self._wake()
        # Cancelled entries stay in the heap until they are half of it: removing one at a time would cost O(n).
        elif self._taken_back > 64 and self._taken_back > len(self._moments) // 2:
            self._moments = [one for one in self._moments if one.call is not None]
            heapq.heapify(self._moments)
            self._taken_back = 0

    def _wake(self) -> None:
        self._news.set()
        if self._sleep is not None:
            self._sleep.cancel()
