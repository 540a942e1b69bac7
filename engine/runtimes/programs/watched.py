"""Child programs that never outlive the engine: agents that are programs, and tool servers.

Every external program is started here, in a session and process group of its own. The group is killed when the program
ends, when its user releases it, and when the engine dies. For the last case one watcher serves all programs: a shell
(0.3 MB) that reads the groups from a pipe, and kills them at its end, which the system signals when the engine is gone.
A program waits for a line before it begins, sent after the watcher knows its group, so none runs unwatched (1 ms). A
program that leaves its session (`setsid`) escapes. See docs/reference/programs.md.

Exits are taken from the protocol, not from `Process.wait`, which before Python 3.12.5 also waits for every process that
holds the pipes.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
from asyncio.subprocess import SubprocessStreamProtocol
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from engine.errors import EngineError

GONE_S = 5.0
"""How long to wait for a killed program to exit."""
LINE_BYTES = 1_000_000
"""Default limit on a line, and on unread output in memory."""

GATE = 'read -r _ && exec "$@"'
"""Waits for a line on standard input, then becomes the program; without a line, the engine is gone."""

WATCH = """
exec >/dev/null 2>&1
trap '' HUP INT TERM
groups=' '
while read -r change group; do
    case $change in
    +) groups="$groups$group " ;;
    -) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class NotStarted(EngineError):
    """A program cannot be started; the message says which and why."""


class Program:
    """A running program."""

    def __init__(self, spawned: "_Spawned") -> None:
        protocol = spawned.protocol
        self._transport = spawned.transport
        self.exited = protocol.exited
        """Set once it has exited and its group is killed; its pipes can still be read."""
        self.pid = self._transport.get_pid()
        """Id of its process and of its group."""
        assert protocol.stdout is not None
        assert protocol.stderr is not None
        self.stdin = spawned.stdin
        self.stdout: asyncio.StreamReader = protocol.stdout
        self.stderr: asyncio.StreamReader = protocol.stderr

    @property
    def returncode(self) -> int | None:
        """Its exit status, or the negative number of the signal that ended it; None while it runs."""
        return self._transport.get_returncode()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its whole group, while it runs."""
        if not self.exited.is_set():
            _kill(self.pid, number)

    async def send(self, data: bytes) -> None:
        """Write to its standard input, with back-pressure; dropped if the pipe is closed."""
        with contextlib.suppress(ConnectionError):
            self.stdin.write(data)
            await self.stdin.drain()

    def close_input(self) -> None:
        """Close its standard input."""
        self.stdin.close()

    async def end(self) -> None:
        """Kill it if it runs, and close its pipes."""
        self.signal(signal.SIGKILL)
        with anyio.move_on_after(GONE_S, shield=True):
            await self.exited.wait()
        self._transport.close()
        _drop(self.stdin)


class Watched:
    """The child programs of one engine."""

    def __init__(self) -> None:
        self._watcher: _Spawned | None = None
        self._programs: dict[int, Program] = {}
        self._starting = anyio.Lock()

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, line_bytes: int = LINE_BYTES
    ) -> Program:
        """Start a program with pipes for standard input, output and error.

        Args:
            argv: The program, searched in PATH of `env`, and its arguments, which no shell interprets.
            env: Its whole environment.
            cwd: Its working folder.
            line_bytes: Longest line that `readline` of its streams returns.

        Raises:
            NotStarted: If it cannot be started.
        """
        with anyio.CancelScope(shield=True):  # a half-started program would be orphaned
            async with self._starting:
                await self._watch()
                command = ["/bin/sh", "-c", GATE, "program", *argv]
                spawned = await _spawned(command, env=env, cwd=cwd, limit=line_bytes)
                program = Program(spawned)
                self._programs[program.pid] = program
                self._tell(f"+ {program.pid}\n")
                spawned.protocol.on_exit = self._exited
                if program.exited.is_set():  # it exited before `on_exit` was set, so nobody has told the watcher
                    self._exited(program.pid)
        program.stdin.write(b"\n")
        return program

    def _exited(self, pid: int) -> None:
        del self._programs[pid]
        self._tell(f"- {pid}\n")

    async def close(self) -> None:
        """End every program, and the watcher."""
        for program in list(self._programs.values()):
            await program.end()
        if self._watcher is not None:
            self._watcher.stdin.close()
            with anyio.move_on_after(GONE_S, shield=True):
                await self._watcher.protocol.exited.wait()
            self._watcher.transport.close()
            self._watcher = None

    async def _watch(self) -> None:
        """Start the watcher, or replace one that was killed and tell it all running groups."""
        if self._watcher is not None:
            if not self._watcher.protocol.exited.is_set():
                return
            _drop(self._watcher.stdin)
            self._watcher.transport.close()
        env = {"PATH": os.environ.get("PATH", os.defpath)}
        self._watcher = await _spawned(["/bin/sh", "-c", WATCH, "watcher"], env=env, cwd=Path("/"), limit=LINE_BYTES)
        for pid in self._programs:
            self._tell(f"+ {pid}\n")

    def _tell(self, line: str) -> None:
        # A write into a pipe with room completes before it returns, and its data outlives this process.
        if self._watcher is not None and not self._watcher.protocol.exited.is_set():
            self._watcher.stdin.write(line.encode())


class _Protocol(SubprocessStreamProtocol):
    """The pipes of a process as streams, and its exit."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit=limit, loop=asyncio.get_running_loop())
        self.exited = anyio.Event()
        self.on_exit: Callable[[int], None] = _ignore

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._pid = transport.get_pid()

    def process_exited(self) -> None:
        # At once, while the id of the group cannot have been reused.
        _kill(self._pid, signal.SIGKILL)
        super().process_exited()
        self.exited.set()
        self.on_exit(self._pid)


def _ignore(pid: int) -> None:
    """Record the exit status."""


def _kill(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@dataclass(frozen=True, slots=True)
class _Spawned:
    """A process with its pipes."""

    transport: asyncio.SubprocessTransport
    protocol: _Protocol
    stdin: asyncio.StreamWriter


async def _spawned(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, limit: int) -> _Spawned:
    # Blocks the loop for 1 ms until /bin/sh is executed, whatever the program: the shell looks that up itself.
    # Before Python 3.12 asyncio gives a socket for standard input, which cannot be opened by its name (/dev/stdin).
    loop = asyncio.get_running_loop()
    read_end, write_end = os.pipe()
    options: dict[str, Any] = {"env": dict(env), "cwd": cwd, "start_new_session": True}
    pipe = subprocess.PIPE
    try:
        transport, protocol = await loop.subprocess_exec(
            lambda: _Protocol(limit), *command, stdin=read_end, stdout=pipe, stderr=pipe, **options
        )
    except (OSError, ValueError) as error:  # ValueError: a text with a zero character
        os.close(write_end)
        raise NotStarted(_why(error, cwd)) from error
    finally:
        os.close(read_end)
    flow = partial(asyncio.streams.FlowControlMixin, loop=loop)
    stdin, control = await loop.connect_write_pipe(flow, os.fdopen(write_end, "wb", buffering=0))
    return _Spawned(transport, protocol, asyncio.StreamWriter(stdin, control, None, loop))


def _drop(stdin: asyncio.StreamWriter) -> None:
    """Close a pipe and drop unread data."""
    if not stdin.transport.is_closing() or stdin.transport.get_write_buffer_size():
        stdin.transport.abort()


def _why(error: OSError | ValueError, cwd: Path) -> str:
    if isinstance(error, ValueError):
        return "cannot be started: an argument has a NUL character"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"cannot be started in {cwd}: there is no such folder"
    return f"cannot be started in {cwd}: {error.strerror or error}"
