"""Terminals: programs that the engine runs for an ACP agent, each after approval, until the session ends."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from engine.children.child import Child
from engine.children.tail import signal_name
from engine.errors import EngineError
from engine.runtimes.programs.external_programs import Programs

MAX_OUTPUT_BYTES = 1_000_000
"""Limit on kept output, from the end; the agent may ask for less."""
MAX_TERMINALS = 20


class NoTerminal(EngineError):
    """A terminal does not exist, or there are too many."""


@dataclass(slots=True)
class Terminal:
    """One terminal."""

    program: Child
    most_bytes: int
    output: bytes = b""
    truncated: bool = False
    is_read: anyio.Event = field(default_factory=anyio.Event)

    def add(self, chunk: bytes) -> None:
        """Append output, dropping the beginning beyond the limit."""
        output = self.output + chunk
        self.truncated = self.truncated or len(output) > self.most_bytes
        self.output = output[-self.most_bytes :] if self.most_bytes else b""

    @property
    def exit_status(self) -> tuple[int | None, str | None] | None:
        """Exit code and signal; None while it runs."""
        code = self.program.returncode
        if code is None:
            return None
        return (code, None) if code >= 0 else (None, signal_name(-code))


class Terminals:
    """The programs of one session.

    Args:
        programs: Starts them.
        env: Environment variables, to which the agent's are added.
        group: Task group for reading their output.
    """

    def __init__(self, programs: Programs, env: Mapping[str, str], group: TaskGroup) -> None:
        self._programs = programs
        self._env = dict(env)
        self._group = group
        self._terminals: dict[str, Terminal] = {}
        self._numbers = itertools.count(1)

    async def create(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], most_bytes: int | None) -> str:
        """Start a program, and return the name of its terminal.

        Raises:
            NoTerminal: If there are too many.
            NotStarted: If it cannot be started.
        """
        if len(self._terminals) >= MAX_TERMINALS:
            raise NoTerminal(f"there are {MAX_TERMINALS} terminals; release one first")
        program = await self._programs.start(argv, env={**self._env, **env}, cwd=cwd)
        program.close_input()
        terminal = Terminal(program, min(MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES if most_bytes is None else most_bytes))
        name = f"terminal-{next(self._numbers)}"
        self._terminals[name] = terminal
        program.on_errors = terminal.add
        self._group.start_soon(_read, terminal)
        return name

    def at(self, name: str) -> Terminal:
        """Return a terminal.

        Raises:
            NoTerminal: If there is none of that name.
        """
        if name not in self._terminals:
            raise NoTerminal(f"there is no terminal {name!r:.60}")
        return self._terminals[name]

    async def wait_for_exit(self, name: str) -> tuple[int | None, str | None]:
        """Wait until a program has exited and its output is read; return its exit status."""
        terminal = self.at(name)
        await terminal.program.exited.wait()
        with anyio.move_on_after(1.0):  # a process that left the group may hold its pipes
            await terminal.is_read.wait()
            await terminal.program.errors_ended.wait()
        return terminal.exit_status or (None, None)

    async def kill(self, name: str) -> None:
        """End a program; its output stays."""
        terminal = self.at(name)
        await terminal.program.end()

    async def release(self, name: str) -> None:
        """End a program and forget it."""
        await self.kill(name)
        self._terminals.pop(name, None)  # missing if the agent releases it twice concurrently

    async def close(self) -> None:
        """End all programs."""
        for name in list(self._terminals):
            await self.release(name)


async def _read(terminal: Terminal) -> None:
    while chunk := await terminal.program.read():
        terminal.add(chunk)
    terminal.is_read.set()
