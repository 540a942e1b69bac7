"""Clocks: the engine's time, and waiting for it. Times are UTC milliseconds.

The real clock starts at the wall clock and then counts by the boot clock, so that setting the wall clock back has no
effect. It follows the wall clock if that is far ahead, because the boot clock stood still or the time of the computer
was corrected. The virtual clock stands still while anything works, and then jumps to the next sleeper, so that hours
pass reproducibly in the time that their work takes.
"""

import heapq
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import anyio
from anyio.lowlevel import checkpoint
from typing_extensions import override

from store.wall_clock import wall_ms


class Clock(ABC):
    """The time, and waiting for it."""

    # The methods that are not abstract are for virtual clocks; on a real clock they do nothing.

    @abstractmethod
    def now_ms(self) -> int:
        """Return the time, in UTC milliseconds; it never goes back."""

    def awake_ms(self) -> int:
        """Return a count of milliseconds for time limits, without suspended time and jumps of the clock."""
        return self.now_ms()

    def take_slept_ms(self) -> int:
        """Return for how long the computer was suspended, or its clock jumped ahead, since the last call; 0 if not."""
        return 0

    @abstractmethod
    async def sleep_until(self, due_ms: int) -> None:
        """Return when it is `due_ms` or later."""

    @abstractmethod
    def begin(self, at_least_ms: int) -> None:
        """Never return a time before `at_least_ms`, the last time in the journal."""

    def hold(self) -> None:  # noqa: B027
        """Stop time while work runs that does not wait for this clock; each hold needs a `release`."""

    def release(self) -> None:  # noqa: B027
        """End a hold: the work is done, or waits for the engine or for this clock."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the clock in the body, for example while a thread works."""
        self.hold()
        try:
            yield
        finally:
            self.release()

    async def drive(self) -> None:  # noqa: B027
        """Let time pass while the engine runs; returns at once if time passes by itself."""


boot_ns: Callable[[], int] = time.monotonic_ns
"""Returns nanoseconds since this computer started; on Linux this includes suspended time."""
if hasattr(time, "CLOCK_BOOTTIME"):
    boot_ns = partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME)


class RealClock(Clock):
    """The time of this computer; its methods raise ClockUnusable if a database cannot store that time.

    Args:
        wall_ns: Returns the time of day in nanoseconds since 1970 (UTC), which may be set.
        steady_ns: Returns a count of nanoseconds that is never set, and may stand still during suspension.
        awake_ns: Returns a count of nanoseconds that is never set, and stands still during suspension.
        look_s: Interval in which a sleeper checks the time: timers of the event loop stand still during suspension.
    """

    AHEAD_MS = 1_000
    """The wall clock is followed when it is ahead by more than this."""

    def __init__(
        self,
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        steady_ns: Callable[[], int] = boot_ns,
        awake_ns: Callable[[], int] = time.monotonic_ns,
        look_s: float = 1.0,
    ) -> None:
        self._wall_ns = wall_ns
        self._steady_ns = steady_ns
        self._awake_ns = awake_ns
        self._look_s = look_s
        self._start_ms, self._start_ns = wall_ms(wall_ns), steady_ns()
        self._ahead_ms = self._start_ms - self.awake_ms()

    @override
    def begin(self, at_least_ms: int) -> None:
        """Restart at the wall clock, or at the last time returned or the journal's last time if that is later."""
        now_ms = max(self.now_ms(), wall_ms(self._wall_ns))
        self._start_ms, self._start_ns = max(now_ms, at_least_ms), self._steady_ns()
        self._ahead_ms = self._start_ms - self.awake_ms()

    @override
    def now_ms(self) -> int:
        """Return the start time plus the time since then; the wall clock if that is far ahead."""
        steady_ns, wall_clock_ms = self._steady_ns(), wall_ms(self._wall_ns)
        now_ms = self._start_ms + (steady_ns - self._start_ns) // 1_000_000
        if wall_clock_ms - now_ms > self.AHEAD_MS:
            self._start_ms, self._start_ns = wall_clock_ms, steady_ns
            return wall_clock_ms
        return now_ms

    @override
    def awake_ms(self) -> int:
        """Return the time for which the computer ran."""
        return self._awake_ns() // 1_000_000

    @override
    def take_slept_ms(self) -> int:
        """Return how far the time has moved ahead of `awake_ms` since the last call; 0 up to `AHEAD_MS`."""
        ahead_ms = self.now_ms() - self.awake_ms()
        slept_ms = ahead_ms - self._ahead_ms
        if slept_ms <= self.AHEAD_MS:
            return 0
        self._ahead_ms = ahead_ms
        return slept_ms

    @override
    async def sleep_until(self, due_ms: int) -> None:
        """Sleep in short intervals until the time has come."""
        await checkpoint()
        while (left_ms := due_ms - self.now_ms()) > 0:  # noqa: ASYNC110 - nothing tells that the computer was suspended
            await anyio.sleep(min(left_ms / 1000, self._look_s))


class VirtualClock(Clock):
    """A clock that moves only when nothing else can happen, to one sleeper after the other, in order of their times.

    Work that does not wait for this clock holds it; the engine does so for itself and for each attempt.
    """

    SETTLE = 10
    """Loop iterations without any hold before time moves, so that woken tasks run first."""

    def __init__(self, start_ms: int = 1_750_000_000_000) -> None:
        self._now_ms = start_ms
        self._holds = 0
        self._sleepers: list[tuple[int, int, anyio.Event]] = []
        self._order = 0
        self._changed = anyio.Event()

    @override
    def begin(self, at_least_ms: int) -> None:
        """Jump to the last time of the journal."""
        self._now_ms = max(self._now_ms, at_least_ms)

    @override
    def now_ms(self) -> int:
        """Return the time at which the last sleeper was woken."""
        return self._now_ms

    @override
    async def sleep_until(self, due_ms: int) -> None:
        """Wait until `drive` has moved time there."""
        if due_ms <= self._now_ms:
            await checkpoint()
            return
        woken = anyio.Event()
        self._order += 1
        sleeper = (due_ms, self._order, woken)
        heapq.heappush(self._sleepers, sleeper)
        self._changed.set()
        try:
            await woken.wait()
        finally:
            # Also if cancelled after it was woken: `drive` took a hold that only this sleeper releases.
            if woken.is_set():
                self.release()
            else:
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)

    @override
    def hold(self) -> None:
        """Stop time."""
        self._holds += 1

    @override
    def release(self) -> None:
        """Let time pass again once there are no other holds."""
        self._holds -= 1
        if self._holds == 0:
            self._changed.set()

    @override
    async def drive(self) -> None:
        """Move time until cancelled."""
        while True:
            if self._holds or not self._sleepers:
                self._changed = anyio.Event()
                await self._changed.wait()
            elif await self._is_quiet() and self._sleepers:
                due_ms, _, woken = heapq.heappop(self._sleepers)
                self._now_ms = max(self._now_ms, due_ms)
                # Time stands still until the sleeper has run; it releases this hold in `sleep_until`.
                self.hold()
                woken.set()

    async def _is_quiet(self) -> bool:
        for _ in range(self.SETTLE):
            await checkpoint()
            if self._holds:
                return False
        return True
