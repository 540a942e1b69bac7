"""Programs that never outlive the engine: agents that are programs, and tool servers.

Every external program is started here. Its group is killed when the program ends, when its user releases it, and when
the engine dies. For the last case one watcher serves all programs: a shell (0.3 MB) that reads the groups from a pipe,
and kills them at its end, which the system signals when the engine is gone. A program waits for a line before it
begins, sent after the watcher knows its group, so none runs unwatched (1 ms). A program that leaves its session
(`setsid`) escapes. See docs/reference/programs.md.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from engine.children.child import EXIT_TIMEOUT_S, Child, start_child
from engine.errors import EngineError

MAX_LINE_BYTES = 1_000_000
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


class Programs:
    """The programs of one engine."""

    def __init__(self) -> None:
        self._watcher: Child | None = None
        self._programs: dict[int, Child] = {}
        self._starting = anyio.Lock()

    async def start(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, line_bytes: int = MAX_LINE_BYTES
    ) -> Child:
        """Start a program with pipes for standard input, output and error.

        Args:
            argv: The program, searched in PATH of `env`, and its arguments, which no shell interprets.
            env: Its whole environment.
            cwd: Its working folder.
            line_bytes: Longest line that `Child.line` returns.

        Raises:
            NotStarted: If it cannot be started.
        """
        with anyio.CancelScope(shield=True):  # a half-started program would be orphaned
            async with self._starting:
                # The shell looks the program up, so the loop is blocked for only 1 ms, until /bin/sh is executed.
                command = ["/bin/sh", "-c", GATE, "program", *argv]
                try:
                    await self._watch()
                    program = await start_child(command, env=env, cwd=cwd, line_bytes=line_bytes)
                except (OSError, ValueError) as error:
                    raise NotStarted(_describe_start_failure(error, cwd)) from error
                self._programs[program.pid] = program
                self._notify_watcher(f"+ {program.pid}\n")
                program.on_exit = self._forget_program
                if program.exited.is_set():  # it exited before `on_exit` was set, so the watcher was not told
                    self._forget_program(program.pid)
        program.stdin.write(b"\n")
        return program

    def _forget_program(self, pid: int) -> None:
        del self._programs[pid]
        self._notify_watcher(f"- {pid}\n")

    async def close(self) -> None:
        """End every program, and the watcher."""
        for program in list(self._programs.values()):
            await program.end()
        if self._watcher is not None:
            await self._watcher.end(EXIT_TIMEOUT_S)
            self._watcher = None

    async def _watch(self) -> None:
        """Start the watcher, or replace one that was killed and tell it all running groups."""
        if self._watcher is not None:
            if not self._watcher.exited.is_set():
                return
            await self._watcher.end()
        env = {"PATH": os.environ.get("PATH", os.defpath)}
        self._watcher = await start_child(["/bin/sh", "-c", WATCH, "watcher"], env=env, cwd=Path("/"))
        for pid in self._programs:
            self._notify_watcher(f"+ {pid}\n")

    def _notify_watcher(self, line: str) -> None:
        # A write into a pipe with room completes before it returns, and its data outlives this process.
        if self._watcher is not None and not self._watcher.exited.is_set():
            self._watcher.stdin.write(line.encode())


def _describe_start_failure(error: OSError | ValueError, cwd: Path) -> str:
    if isinstance(error, ValueError):
        return "cannot be started: an argument has a NUL character"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"cannot be started in {cwd}: there is no such folder"
    return f"cannot be started in {cwd}: {error.strerror or error}"
