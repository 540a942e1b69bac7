"""Time limits of attempts and steps; they stand still while a person is waited for, or the computer is suspended."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.runtimes.attempts.services import Services


class TimeLimit:
    """A time limit that can be suspended; it is suspended at first.

    Args:
        limit_s: Total running time, in seconds.
        on_timeout: Called when the time is up.
    """

    def __init__(self, timers: "Services", limit_s: float, on_timeout: Callable[[], None]) -> None:
        self._timers = timers
        self._remaining_ms = round(limit_s * 1000)
        self._on_timeout = on_timeout
        self._since_ms = 0
        self._cancel_timer: Callable[[], None] | None = None

    def resume(self) -> None:
        """Count the time from now on."""
        if self._cancel_timer is None:
            self._wait()

    def suspend(self) -> None:
        """Count no time from now on."""
        if self._cancel_timer is not None:
            self._cancel_timer()
            self._count()
            self._cancel_timer = None

    def _wait(self) -> None:
        clock = self._timers.clock
        self._since_ms = clock.awake_ms()
        self._cancel_timer = self._timers.call_later(clock.now_ms() + self._remaining_ms, self._on_timer)

    def _count(self) -> None:
        self._remaining_ms -= self._timers.clock.awake_ms() - self._since_ms

    def _on_timer(self) -> None:
        self._count()
        if self._remaining_ms > 0:  # the computer was suspended, or its time was set forward
            self._wait()
        else:
            self._on_timeout()
