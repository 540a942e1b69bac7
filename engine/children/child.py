"""A child process: start, pipes, exit, kill.

Every child leads its own session and process group: Ctrl-C in the terminal reaches only the engine, and a kill reaches
everything that the child started. It is started by exec, never by fork, because a forked child would keep the engine's
lock. Processes that it leaves in its group are killed at its exit. Children of our own code exit when their input ends,
also after the engine was killed; other programs have the watcher in `runtimes.programs.external_programs`.

Exits are taken from the asyncio protocol, not from `Process.wait`, which before Python 3.12.5 also waits for every
process that holds the pipes.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio
from anyio.lowlevel import checkpoint
from typing_extensions import override

from engine.children.tail import StderrTail, how_ended

EXIT_TIMEOUT_S = 5.0
"""How long to wait for a killed child to exit."""
CHUNK_BYTES = 65_536
LINES_PER_TURN = 20
"""Lines that are read before the event loop has its turn, because a million of them may be buffered."""


class Child(asyncio.SubprocessProtocol):
    """A running child process. Up to twice `line_bytes`, its longest line, of unread output stays in memory."""

    stdin: asyncio.StreamWriter

    def __init__(self, line_bytes: int) -> None:
        self.stdout = asyncio.StreamReader(line_bytes, asyncio.get_running_loop())
        self.errors = StderrTail()
        """The end of its standard error."""
        self.on_errors: Callable[[bytes], None] = self.errors.add
        """Called with each chunk of its standard error."""
        self.errors_ended = anyio.Event()
        self.exited = anyio.Event()
        """Set once it has exited and its group is killed; its pipes can still be read."""
        self.on_exit: Callable[[int], None] = _ignore
        self.bytes_read = self.lines_read = 0
        self.kill_reason = ""
        """Why it was killed by us; empty if it ended by itself."""

    @property
    def returncode(self) -> int | None:
        """Its exit status, or the negative number of the signal that ended it; None while it runs."""
        return self._transport.get_returncode()

    @property
    def ending(self) -> str:
        """How it ended, with the last line of its standard error."""
        last = f"; it last said: {self.errors.line}" if self.errors.line else ""
        return f"{self.kill_reason or how_ended(self.returncode)}{last}"

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its whole group, while it runs."""
        if not self.exited.is_set():
            _kill(self.pid, number)

    def kill(self, reason: str = "") -> None:
        """Kill its group; the first reason is kept."""
        self.kill_reason = self.kill_reason or reason
        self.signal(signal.SIGKILL)

    async def send(self, data: bytes) -> None:
        """Write to its standard input, with back-pressure; dropped if the pipe is closed."""
        with contextlib.suppress(ConnectionError):
            self.stdin.write(data)
            await self.stdin.drain()

    def close_input(self) -> None:
        """Close its standard input."""
        self.stdin.close()

    async def read(self) -> bytes:
        """Return more of its standard output; empty at the end."""
        chunk = await self.stdout.read(CHUNK_BYTES)
        self.bytes_read += len(chunk)
        return chunk

    async def line(self) -> bytes:
        """Return the next line of its standard output with its end; empty at the end of the output.

        Raises:
            ValueError: If it is longer than `line_bytes`.
        """
        if self.lines_read % LINES_PER_TURN == LINES_PER_TURN - 1:
            await checkpoint()
        line = await self.stdout.readline()
        if line:
            self.lines_read += 1
        self.bytes_read += len(line)
        return line

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines of its standard output, of any length, without a last one that is cut off."""
        pieces: list[bytes] = []
        with contextlib.suppress(ConnectionError):
            while chunk := await self.read():
                first, *others = chunk.split(b"\n")
                pieces.append(first)
                for piece in others:
                    yield b"".join(pieces)
                    pieces = [piece]

    async def reap(self) -> None:
        """Kill it if it runs, and wait until it has exited and its standard error is read."""
        self.kill()
        with anyio.move_on_after(EXIT_TIMEOUT_S):
            await self.exited.wait()
            await self.errors_ended.wait()

    async def end(self, within_s: float = 0.0) -> None:
        """Kill it if it runs, and close its pipes; with `within_s`, it may exit by itself once its input is closed."""
        if within_s:
            self.close_input()
            with anyio.move_on_after(within_s, shield=True):
                await self.exited.wait()
        self.kill()
        with anyio.move_on_after(EXIT_TIMEOUT_S, shield=True):
            await self.exited.wait()
        self._transport.close()
        # Also drops what it has not read.
        if not self.stdin.transport.is_closing() or self.stdin.transport.get_write_buffer_size():
            self.stdin.transport.abort()

    # Callbacks of asyncio

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connect standard output to its reader."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport, self.pid = transport, transport.get_pid()
        output = transport.get_pipe_transport(1)
        assert output is not None
        self.stdout.set_transport(output)

    @override
    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep output."""
        (self.stdout.feed_data if fd == 1 else self.on_errors)(data)

    @override
    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """End a pipe."""
        if fd == 2:
            self.errors_ended.set()
        elif exc is None:
            self.stdout.feed_eof()
        else:
            self.stdout.set_exception(exc)

    @override
    def process_exited(self) -> None:
        """Kill the rest of its group."""
        # At once, while the id of the group cannot have been reused.
        _kill(self.pid, signal.SIGKILL)
        self.exited.set()
        self.on_exit(self.pid)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """Close the transport: it has exited, and its pipes have ended."""
        self._transport.close()


def _ignore(pid: int) -> None:
    """Record the exit status."""


def _kill(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


async def start_child(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    line_bytes: int = CHUNK_BYTES,
    pass_fds: Iterable[int] = (),
) -> Child:
    """Start a child with pipes for standard input, output and error.

    Args:
        argv: The program and its arguments, which no shell interprets.
        env: Its whole environment.
        cwd: Its working folder; None for that of the engine.
        line_bytes: As for `Child`.
        pass_fds: Descriptors that it inherits in addition to its pipes.

    Raises:
        OSError: If it cannot be started.
        ValueError: If an argument has a NUL character.
    """
    with anyio.CancelScope(shield=True):  # a half-started child would be orphaned
        # Before Python 3.12 asyncio gives a socket for standard input, which cannot be opened by its name (/dev/stdin).
        loop = asyncio.get_running_loop()
        read_end, write_end = os.pipe()
        try:
            _, child = await loop.subprocess_exec(
                partial(Child, line_bytes),
                *argv,
                stdin=read_end,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                cwd=cwd,
                pass_fds=tuple(pass_fds),
                start_new_session=True,
            )
        except BaseException:
            os.close(write_end)
            raise
        finally:
            os.close(read_end)
        flow = partial(asyncio.streams.FlowControlMixin, loop=loop)
        stdin, control = await loop.connect_write_pipe(flow, os.fdopen(write_end, "wb", buffering=0))
        child.stdin = asyncio.StreamWriter(stdin, control, None, loop)
    return child
