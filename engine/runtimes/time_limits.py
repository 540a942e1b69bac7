"""Time limits of attempts and steps, on the engine's clock; they stand still while a person is waited for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.runtimes.services import Services


class TimeLimit:
    """A time limit that can be suspended; it is suspended at first.

    Args:
        timers: The engine's timers.
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
            self._since_ms = self._timers.clock.now_ms()
            self._take_back = self._timers.later(self._since_ms + self._left_ms, self._passed)

    def stand_still(self) -> None:
        """Count no time from now on."""
        if self._take_back is not None:
            self._take_back()
            self._left_ms -= self._timers.clock.now_ms() - self._since_ms
            self._take_back = None
