"""Time limits of an attempt: of its whole, of its steps, and of what it does when it ends."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import anyio

from engine.core.specs.spec import AgentSpec
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.attempt_slot import AttemptSlot
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.time_limits import TimeLimit


class AttemptLimits:
    """The part of an attempt that limits its time."""

    timed_out: str | None = None
    """The time limit that was exceeded, in words; the attempt fails with it."""

    def __init__(self, attempt: Attempt, slot: AttemptSlot, spec: AgentSpec) -> None:
        self._attempt = attempt
        self._slot = slot
        self._spec = spec

    def begin(self) -> None:
        """Start the spec's time limit, which stands still while the attempt waits for people."""
        limit_s = self._spec.timeout_s
        if limit_s is not None and self._slot.attempt_limit is None:
            words = f"took longer than its time limit of {limit_s:g} s"
            self._slot.attempt_limit = TimeLimit(self._attempt.services, limit_s, lambda: self._time_out(words))
            self._slot.attempt_limit.resume()

    def step(self, name: str) -> AbstractContextManager[None]:
        """Fail the attempt if the body takes longer than a step may."""
        limit_s = self._spec.step_timeout_s
        if limit_s is None:
            return nullcontext()
        words = f"step {name!r} took longer than {limit_s:g} s"
        return self._slot.limit_step(TimeLimit(self._attempt.services, limit_s, lambda: self._time_out(words)))

    def end(self) -> None:
        """End the spec's time limit."""
        if self._slot.attempt_limit is not None:
            self._slot.attempt_limit.suspend()

    @contextmanager
    def move_on_after(self, seconds: float) -> Iterator[None]:
        """Limit the body to a time on the engine's clock, also in an attempt that is stopped."""
        # Two limits: the engine's timer follows a virtual clock; the scope ends when the engine has no timers any more.
        with anyio.move_on_after(seconds, shield=True) as scope:
            cancel_timer = self._attempt.services.call_later(
                self._attempt.now_ms() + round(seconds * 1000), scope.cancel
            )
            waiting: Pending[None] = self._attempt.open_wait()
            try:
                yield
            finally:
                waiting.put(None)
                cancel_timer()

    def _time_out(self, words: str) -> None:
        if not self._attempt.over:
            self.timed_out = words
            self._attempt.stop_now()
