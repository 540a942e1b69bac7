"""Child processes for `run_in: process`: reused, and killed when their call is cancelled.

Children are started by exec, never by fork, because a forked child would keep the engine's lock. Each has a session of
its own, so that Ctrl-C in the terminal reaches only the engine and a kill reaches everything that the child started.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from engine.children.tail import Tail, how_ended
from engine.core.records.records import JsonValue
from engine.errors import CallFailed, ProcessDied
from engine.trusted_code.references import Origin

PROGRAM = Path(__file__).with_name("child.py")
CHECKS = 3
"""How often a reference is checked whose process is killed meanwhile: memory ran out, or somebody meant another one."""
GONE_S = 5.0
"""How long to wait for a killed child to exit."""

Report = Callable[[int, int, str], None]


def spare_cores() -> int:
    """Return how many CPU-bound processes fit this computer, with one core left for the engine."""
    return max(1, (os.cpu_count() or 2) - 1)


class Processes:
    """Runs functions by reference in child processes, one call at a time in each; the core limits how many run.

    Args:
        spawn: Starts the tasks that read what children print.
    """

    def __init__(self, spawn: Callable[..., object]) -> None:
        self._spawn = spawn
        self._checks = anyio.CapacityLimiter(spare_cores())
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()

    async def check(self, origin: Origin) -> None:
        """Check that a reference is a function that can be called with one text.

        Raises:
            CallFailed: If it is not.
            ProcessDied: If the import ended the process; where a signal did, `CHECKS` times in a row.
        """
        async with self._checks:
            for left in reversed(range(CHECKS)):
                try:
                    await self._ask(_request(origin), _ignore)
                except ProcessDied as death:
                    if not (death.killed and left):
                        raise
                else:
                    return

    async def call(self, origin: Origin, value: JsonValue, *, report: Report) -> JsonValue:
        """Call the function and return its result; a cancelled call kills its process.

        Args:
            origin: Where the function is imported from.
            value: The one argument.
            report: Called with its progress.

        Raises:
            CallFailed: If it raised.
            ProcessDied: If the process ended without an answer.
        """
        return await self._ask({**_request(origin), "value": value}, report)

    async def close(self) -> None:
        """Kill every child."""
        for child in list(self._all):
            await self._end(child)

    async def _ask(self, request: dict[str, JsonValue], report: Report) -> JsonValue:
        line = json.dumps(request).encode() + b"\n"
        child = await self._child()
        try:
            answer = await child.ask(line, report)
        # Also when cancelled: the child is still busy with this call, so it cannot be reused.
        except BaseException:
            await self._end(child)
            raise
        self._idle.append(child)
        if "error" in answer:
            raise CallFailed(answer["type"], answer["error"], answer.get("traits"))
        output: JsonValue = answer["output"]
        return output

    async def _child(self) -> "_Child":
        while self._idle:
            child = self._idle.pop()
            if child.process.returncode is None:
                return child
            await self._end(child)
        with anyio.CancelScope(shield=True):  # a half-started child would be orphaned
            process = await anyio.open_process([sys.executable, "-P", str(PROGRAM)], start_new_session=True)
        child = _Child(process)
        self._all.add(child)
        self._spawn(child.read_errors)
        return child

    async def _end(self, child: "_Child") -> None:
        self._all.discard(child)
        if child in self._idle:
            self._idle.remove(child)
        child.kill()
        with anyio.move_on_after(GONE_S, shield=True):
            await child.process.aclose()


class _Child:
    def __init__(self, process: Process) -> None:
        self.process = process
        self._is_asked = False
        self._unread = b""
        self._errors = Tail()
        self._errors_read = anyio.Event()

    async def ask(self, line: bytes, report: Report) -> dict[str, Any]:
        """Send one request and return its answer.

        Raises:
            ProcessDied: If the process ends instead.
        """
        assert self.process.stdin is not None
        self._is_asked = True
        try:
            await self.process.stdin.send(line)
            while True:
                message: dict[str, Any] = json.loads(await self._line())
                if "progress" not in message:
                    self._is_asked = False
                    return message
                report(*message["progress"])
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            said = await self._last_words()
            raise ProcessDied(said, killed=(self.process.returncode or 0) < 0) from error

    def kill(self) -> None:
        """Kill it and everything that it started."""
        # One that ended while it was idle may have been reaped long ago, and its id may be that of others by now.
        if self.process.returncode is not None and not self._is_asked:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    async def read_errors(self) -> None:
        """Keep the end of its standard error; returns when the process ends."""
        assert self.process.stderr is not None
        try:
            async for chunk in self.process.stderr:
                self._errors.add(chunk)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        finally:
            self._errors_read.set()

    async def _line(self) -> bytes:
        assert self.process.stdout is not None
        chunks = [self._unread]
        while b"\n" not in chunks[-1]:
            chunks.append(await self.process.stdout.receive())
        line, _, self._unread = b"".join(chunks).partition(b"\n")
        return line

    async def _last_words(self) -> str:
        self.kill()
        with anyio.move_on_after(GONE_S):
            await self._errors_read.wait()
            await self.process.wait()
        last = f"; it last said: {self._errors.line}" if self._errors.line else ""
        return f"its process {how_ended(self.process.returncode)}{last}"


def _request(origin: Origin) -> dict[str, Any]:
    """Return what a child needs to import a function: its modules, or else the search path."""
    path = [str(Path(entry).absolute()) for entry in sys.path]
    if origin.sources is None and origin.folder is not None:
        path.insert(0, str(origin.folder))
    sources = {name: list(source) for name, source in (origin.sources or {}).items()}
    return {"reference": origin.reference, "folder": str(origin.folder), "sources": sources, "path": path}


def _ignore(done: int, total: int, note: str) -> None:
    """Ignore progress."""
