"""The program of an attempt: waits until it has exited, stops it with the attempt, and interprets its exit.

A cancelled program gets three escalating signals; for an immediate stop (abort, time limit, end of the engine) it has
0.2 s to clean up. All waits are on the engine's clock.
"""

import signal
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from engine.children.child import Child
from engine.children.tail import how_ended
from engine.errors import AttemptInterrupted, EngineError, ProcessDied
from engine.runtimes.attempts.footprint import show_footprint
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.threads import Threads

Talk: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

STOP_LADDER = ((signal.SIGINT, 1.5), (signal.SIGTERM, 1.5), (signal.SIGKILL, 1.0))
"""Escalation of signals with the wait after each, in seconds; less in sum than the grace period of 5 s."""
STOP_NOW_LADDER = ((signal.SIGTERM, 0.2),)
QUIET_S = 1.0
"""Longest silence of the pipes after the program's exit: a process that left its group may keep them open."""


class ProgramFailed(EngineError):
    """A program exited with a status other than 0."""


class AttemptProgram:
    """A running program of an attempt.

    Args:
        name: Name of the program for errors.
        threads: Threads for reading its resource usage.
    """

    def __init__(self, work: Work, program: Child, name: str, threads: Threads) -> None:
        self._work = work
        self.program = program
        self._name = name
        self._threads = threads
        self._failure: BaseException | None = None
        self._is_read = False
        self.is_stopped = False
        """It was asked to stop, so its output is partial."""
        self._is_finished = False
        """It has delivered its result; if it is still running then, we end it, and the signal is not a failure."""

    async def attend(self, read: Talk, say: Talk = checkpoint, *, before: Talk = checkpoint) -> None:
        """Wait until it has exited successfully and all its output is read.

        Args:
            read: Reads its standard output to the end; an error of it stops the program, and is raised here.
            say: Writes to its standard input.
            before: Awaited before the first signal if the attempt is asked to stop.

        Raises:
            ProgramFailed: If its exit status is not 0.
            ProcessDied: If a signal ended it that we have not sent.
            AttemptInterrupted: If it was stopped with the attempt.
        """
        program = self.program
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(show_footprint, self._work.attempt, program, self._threads)
                group.start_soon(self._stop_with_attempt, before)
                group.start_soon(self._read, read)
                group.start_soon(self._talk, say)
                await program.exited.wait()
                await self._drain()
                group.cancel_scope.cancel()
        finally:
            self._work.live.show("process", "")
            await self.stop(STOP_NOW_LADDER)
            await program.end()
        self._raise_failure()

    async def stop(self, ladder: Iterable[tuple[signal.Signals, float]] = STOP_LADDER) -> None:
        """Send escalating signals until it has exited."""
        for number, wait_s in ladder:
            if not self.program.exited.is_set():
                self.program.signal(number)
                with self._work.limits.move_on_after(wait_s):
                    await self.program.exited.wait()

    async def end_soon(self, seconds: float) -> None:
        """Wait for its exit and stop it if needed; its result counts either way."""
        with self._work.limits.move_on_after(seconds):
            await self.program.exited.wait()
        self._is_finished = not self.program.exited.is_set()
        await self.stop()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self.is_stopped:
            raise AttemptInterrupted
        code = 0 if self._is_finished else self.program.returncode
        if code:
            line = self.program.errors.line
            reason = f"{self._name} {how_ended(code)}" + (f": {line}" if line else "")
            raise ProcessDied(reason) if code < 0 else ProgramFailed(reason)

    async def _read(self, read: Talk) -> None:
        try:
            await self._talk(read)
        finally:
            self._is_read = True

    async def _talk(self, talk: Talk) -> None:
        try:
            await talk()
        except (AttemptInterrupted, Exception) as error:  # raised once the program is gone
            self._failure = self._failure or error
            await self.stop()

    async def _stop_with_attempt(self, before: Talk) -> None:
        await self._work.wait_for_stop()
        self.is_stopped = self._work.attempt.saw_stopping = True
        await before()
        await self.stop()

    async def _drain(self) -> None:
        """Wait until both pipes have been read to the end, or were silent for a while."""
        program, quiet = self.program, 0
        while not self._is_drained and quiet < 2:
            before = program.bytes_read, program.errors.bytes_read
            with anyio.move_on_after(QUIET_S):
                while not self._is_drained:  # noqa: ASYNC110 - a pipe ends within a turn of the loop, or never
                    await anyio.sleep(0.002)
            quiet = quiet + 1 if before == (program.bytes_read, program.errors.bytes_read) else 0

    @property
    def _is_drained(self) -> bool:
        return self._is_read and self.program.errors_ended.is_set()
