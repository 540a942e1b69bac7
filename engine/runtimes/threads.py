"""Threads for blocking calls of the user's code.

They are daemons: one that never returns ends its attempt and not the program's exit. An idle one is used again.
"""

import queue
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio.from_thread
from anyio.lowlevel import EventLoopToken, current_token

from engine.runtimes.pending import Pending

T = TypeVar("T")

KEPT_IDLE = 32
"""How many threads without work stay."""


@dataclass(slots=True)
class _Job:
    call: Callable[[], Any]
    context: Context
    answer: Pending[Any]
    on_return: Callable[[], None] | None


class Threads:
    """Run blocking functions, each in a thread of its own."""

    def __init__(self) -> None:
        self._idle: list[_Thread] = []
        self._closed = False

    async def run(self, call: Callable[[], T], *, on_return: Callable[[], None] | None = None) -> T:
        """Return what `call` returns; a cancelled wait leaves the thread alone.

        Args:
            call: Runs with the context variables of the caller.
            on_return: Called in the loop when the thread returns, also after its waiter was cancelled.

        Raises:
            BaseException: Whatever `call` raises.
        """
        job = _Job(call, copy_context(), Pending(), on_return)
        thread = self._idle.pop() if self._idle else _Thread(self, current_token())
        thread.jobs.put(job)
        result: T = await job.answer.wait()
        return result

    def close(self) -> None:
        """End the threads that have no work; the others end when their call returns."""
        self._closed = True
        while self._idle:
            self._idle.pop().jobs.put(None)

    def came_back(self, thread: "_Thread", job: _Job, result: object, error: BaseException | None) -> None:
        """Take a thread back; in the loop."""
        if self._closed or len(self._idle) >= KEPT_IDLE:
            thread.jobs.put(None)
        else:
            self._idle.append(thread)
        if job.on_return is not None:
            job.on_return()
        if error is not None:
            job.answer.fail(error)
        else:
            job.answer.put(result)


class _Thread:
    def __init__(self, owner: Threads, token: EventLoopToken) -> None:
        self.jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._owner = owner
        self._token = token
        threading.Thread(target=self._work, name="engine-work", daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            result, error = None, None
            try:
                result = job.context.run(job.call)
            except BaseException as raised:  # the call is the user's code; even SystemExit ends the attempt alone
                error = raised
            try:
                anyio.from_thread.run_sync(self._owner.came_back, self, job, result, error, token=self._token)
            except RuntimeError:
                return  # the loop has ended
            del job, result, error
