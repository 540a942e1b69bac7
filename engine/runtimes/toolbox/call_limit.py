"""Concurrency limit of one tool in an engine; further calls wait in order, without a slot."""

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.work import Work


class CallLimit:
    """A limit on concurrent calls.

    Args:
        limit: How many calls may run at once; None means no limit.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._running = 0
        self._waiting: deque[Pending[None]] = deque()

    @asynccontextmanager
    async def enter(self, work: Work) -> AsyncIterator[None]:
        """Enter once fewer than `limit` calls run.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop while it waits.
        """
        while not (self._take_place() or await self._wait(work)):
            pass
        try:
            yield
        finally:
            self._leave()

    def _take_place(self) -> bool:
        is_free = self.limit is None or (self._running < self.limit and not self._waiting)
        self._running += is_free
        return is_free

    async def _wait(self, work: Work) -> bool:
        """Wait for a place, and return True; an attempt that is paused by then passes it on, and tries again later."""
        with work.attempt.stoppable_wait() as pending:
            self._waiting.append(pending)
            passed_on = False
            try:
                async with work.slot.parked("tool"):
                    await pending.wait()
                    if work.attempt.is_paused:
                        passed_on = True
                        self._leave()
            except BaseException:
                if pending in self._waiting:
                    self._waiting.remove(pending)
                elif not passed_on:  # cancelled after it got its place
                    self._leave()
                raise
        return not passed_on

    def _leave(self) -> None:
        """Pass the place of an ended call to the next waiting one."""
        while self._waiting:
            pending = self._waiting.popleft()
            if not pending.done:
                pending.put(None)
                return
        self._running -= 1
