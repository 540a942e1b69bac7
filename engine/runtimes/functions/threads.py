"""Threads for blocking calls of the user's code. Daemons: a call that never returns must not block the exit."""

import queue
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio.from_thread
from anyio.lowlevel import EventLoopToken, current_token

from engine.runtimes.attempts.pending import Pending

T = TypeVar("T")

MAX_IDLE_THREADS = 32
"""Number of idle threads that are kept."""


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
        """Run `call` in a thread; if the wait is cancelled, the thread goes on.

        Args:
            call: The blocking call; it sees the context variables of the caller.
            on_return: Called in the loop when the thread returns, also after its waiter was cancelled.

        Raises:
            BaseException: Whatever `call` raises; RuntimeError if the system gives no more threads.
        """
        job = _Job(call, copy_context(), Pending(), on_return)
        try:
            thread = self._idle.pop() if self._idle else _Thread(self, current_token())
        except RuntimeError:
            if on_return is not None:
                on_return()
            raise
        thread.jobs.put(job)
        result: T = await job.answer.wait()
        return result

    def close(self) -> None:
        """End idle threads; the others end when their call returns."""
        self._closed = True
        while self._idle:
            self._idle.pop().jobs.put(None)

    def release(self, thread: "_Thread", job: _Job, result: object, error: BaseException | None) -> None:
        """Return a thread to the idle ones; runs in the loop."""
        if self._closed or len(self._idle) >= MAX_IDLE_THREADS:
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
            except BaseException as raised:  # user code: even SystemExit must end only the attempt
                error = raised
            try:
                anyio.from_thread.run_sync(self._owner.release, self, job, result, error, token=self._token)
            except RuntimeError:
                return  # the loop has ended
            del job, result, error  # an idle thread must not keep the last call's objects alive
