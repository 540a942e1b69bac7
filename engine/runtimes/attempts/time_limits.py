"""Time limits of attempts and steps; they stand still while a person is waited for, or the computer is suspended."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.runtimes.attempts.services import Services


class TimeLimit:
    """A time limit that can be suspended; it is suspended at first.

    Args:
        limit_s: Total running time, in seconds.
        passed: Called when the time is up.
    """

    def __init__(self, timers: "Services", limit_s: float, passed: Callable[[], None]) -> None:
        self._timers = timers
        self._left_ms = round(limit_s * 1000)
        self._passed = passed
        self._since_ms = 0
        self._take_back: Callable[[], None] | None = None

    def go_on(self) -> None:
        """Count the time from now on."""
        if self._take_back is None:
            self._wait()

    def stand_still(self) -> None:
        """Count no time from now on."""
        if self._take_back is not None:
            self._take_back()
            self._count()
            self._take_back = None

    def _wait(self) -> None:
        clock = self._timers.clock
        self._since_ms = clock.awake_ms()
        self._take_back = self._timers.later(clock.now_ms() + self._left_ms, self._due)

    def _count(self) -> None:
        self._left_ms -= self._timers.clock.awake_ms() - self._since_ms

    def _due(self) -> None:
        self._count()
        if self._left_ms > 0:  # the computer was suspended, or its time was set forward
            self._wait()
        else:
            self._passed()
