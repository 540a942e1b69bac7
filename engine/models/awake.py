"""Time limits that count only time in which the event loop of this process ran.

The first request imports hundreds of modules, and a computer may be busy or suspended: time in which the loop stood
still must not count against a provider, which may not have received the request yet.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio

TICK_S = 0.05
MAX_TICK_S = 0.25
"""Maximum that counts between two ticks, in seconds; in the rest the loop stood still."""


@dataclass(eq=False)
class _Limit:
    scope: anyio.CancelScope
    until_s: float


class AwakeTimer:
    """Cancels scopes that take too long by the clock `now_s`, in seconds."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._last_tick_s = now_s()
        self._awake_s = 0.0
        self._limits: set[_Limit] = set()
        self._limits_set = anyio.Event()

    @contextmanager
    def limit(self, seconds: float) -> Iterator[anyio.CancelScope]:
        """Open a scope that is cancelled after `seconds`."""
        if not self._limits:
            self._last_tick_s = self._now_s()
            self._limits_set.set()
        with anyio.CancelScope() as scope:
            limit = _Limit(scope, self._awake_s + seconds)
            self._limits.add(limit)
            try:
                yield scope
            finally:
                self._limits.discard(limit)

    async def run(self) -> None:
        """Count time until cancelled; sleeps while there is no limit."""
        while True:
            await self._limits_set.wait()
            while self._limits:
                await anyio.sleep(TICK_S)
                self.tick()
            self._limits_set = anyio.Event()

    def tick(self) -> None:
        """Count the time since the last tick, and cancel scopes that took too long."""
        now_s = self._now_s()
        self._awake_s += min(now_s - self._last_tick_s, MAX_TICK_S)
        self._last_tick_s = now_s
        for limit in self._limits:
            if self._awake_s >= limit.until_s:
                limit.scope.cancel()
