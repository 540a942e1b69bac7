"""Imports untrusted archives, in pieces between other messages.

A large archive, and any archive for a team at work, is read in a child process, so that a hostile or damaged one cannot
cost the engine memory or time.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import msgspec
from msgspec import Raw
from typing_extensions import override

from engine.archive.container import unpacked_bytes
from engine.archive.cutting import ArchivePart, Piece, Refusal, Rest, pieces
from engine.archive.reading import Contents, read_archive
from engine.core.commands import ImportState, Order
from engine.core.documents.importing import part_from
from engine.core.signals import ArchiveChecked, PartRead, Signal, StateReady, StateUnusable
from engine.errors import ImportRefused
from engine.runtimes.attempts.services import Services
from engine.runtimes.values import one_line

READ_HERE_BYTES = 1_000_000
"""Archives up to this unpacked size are read in the engine, if the database contains no team."""
_POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Allowance:
    """Resource limits of the child process."""

    memory_bytes: int = 1_000_000_000
    cpu_s: int = 60
    longest_s: float = 300.0
    """Time limit in seconds of real time, generous for a machine under load."""


DEFAULT_ALLOWANCE = Allowance()


@contextmanager
def open_pieces(
    path: Path, sha256: str | None, *, at_work: bool, allowance: Allowance = DEFAULT_ALLOWANCE
) -> Iterator[Iterator[Piece]]:
    """Yield the pieces of an archive, as `cutting.pieces` does; each step blocks.

    Args:
        sha256: Hash of the whole file, if it was inspected before.
        at_work: Whether the database contains a team.
        allowance: Resource limits of the child.

    Raises:
        ImportRefused: From the first step, if the archive is refused; one line.
    """
    if not at_work and unpacked_bytes(path) <= READ_HERE_BYTES:
        yield pieces(read_archive(path, sha256), at_work=False)
        return
    program = [sys.executable, "-P", "-m", "engine.archive.child", str(allowance.memory_bytes), str(allowance.cpu_s)]
    with subprocess.Popen(
        [*program, str(path.absolute()), sha256 or "", "yes" if at_work else "no"],
        stdin=subprocess.PIPE,  # closed by the system when this process is gone, also after `kill -9`
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        try:
            yield _read_pieces(path, child, allowance)
        finally:
            child.kill()


def _read_pieces(path: Path, child: "subprocess.Popen[bytes]", allowance: Allowance) -> Iterator[Piece]:
    assert child.stdout is not None
    watch = _Watch(child, allowance)
    watch.start()
    read = msgspec.json.Decoder(Piece)
    for line in child.stdout:
        piece = read.decode(line)
        if isinstance(piece, Refusal):
            raise ImportRefused(None, piece.reason)
        yield piece
        if isinstance(piece, Rest):
            return
    raise ImportRefused(path, watch.reason or _why_ended(child.wait(), allowance))


def _why_ended(code: int, allowance: Allowance) -> str:
    if code == -signal.SIGXCPU:
        return f"needs more than {allowance.cpu_s} s of work to be read"
    return f"needs more than {allowance.memory_bytes / 1e6:,.0f} MB of memory to be read"


class _Watch(threading.Thread):
    """Kills a child that exceeds a limit which the system does not enforce."""

    def __init__(self, child: "subprocess.Popen[bytes]", allowance: Allowance) -> None:
        super().__init__(name="archive-watch", daemon=True)
        self.reason: str | None = None
        self._child = child
        self._allowance = allowance

    @override
    def run(self) -> None:
        """Watch until the child has ended."""
        until_s = time.monotonic() + self._allowance.longest_s
        while self._child.poll() is None:
            if time.monotonic() > until_s:
                self.reason = f"was not read within {self._allowance.longest_s:g} s"
            elif rss_bytes(self._child.pid) > self._allowance.memory_bytes:
                self.reason = _why_ended(0, self._allowance)
            if self.reason is not None:
                self._child.kill()
                return
            time.sleep(_POLL_S)


def rss_bytes(pid: int) -> int:
    """Return the resident memory of a process; 0 if there is none or it is unknown."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        completed = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return int(completed.stdout.strip() or 0) * 1024


class Imports:
    """Imports one archive at a time.

    Args:
        granted: Returns those of some references that are trusted, with the hashes of their code; blocks.
        tell: Sends a signal to the core, and returns once its events are on disk or the engine has ended.
    """

    def __init__(
        self,
        services: Services,
        *,
        granted: Callable[[list[str]], dict[str, str]],
        tell: Callable[[Signal], Awaitable[None]],
    ) -> None:
        self._services = services
        self._granted = granted
        self._tell = tell
        self._lock = anyio.Lock()

    async def import_archive(self, order: Order, command: ImportState) -> None:
        """Import the archive of an order, or refuse it."""
        async with self._lock:
            try:
                # Builds the decoder of parts (50 ms, once) in a thread: the first part must not stall the loop.
                await self._services.threads.run(partial(part_from, Raw(b"{}"), []))
                with ExitStack() as stack:
                    archive = open_pieces(Path(command.path), command.sha256, at_work=bool(self._services.state.minted))
                    pieces = await self._services.threads.run(archive.__enter__)
                    stack.push(archive)
                    await self._import_pieces(order, command, pieces)
            except Exception as error:  # an archive is untrusted: any exception while reading it is a refusal
                reason = one_line(error)
                await self._tell(StateUnusable(order_id=order.id, sender=order.sender, role=order.role, reason=reason))

    async def _import_pieces(self, order: Order, command: ImportState, pieces: Iterator[Piece]) -> None:
        while (piece := await self._services.threads.run(partial(next, pieces, None))) is not None:
            await self._tell(await self._signal(order, command, piece))
            incoming = self._services.state.incoming
            if incoming is None or incoming.command_id != order.id:
                return  # complete, or refused by the core

    async def _signal(self, order: Order, command: ImportState, piece: Piece) -> Signal:
        """Return the signal for a piece of an archive."""
        order_fields: dict[str, Any] = {"order_id": order.id, "sender": order.sender, "role": order.role}
        archive_fields: dict[str, Any] = {"path": command.path, "sha256": command.sha256}
        if isinstance(piece, Contents):
            granted = await self._services.threads.run(partial(self._granted, piece.references))
            return ArchiveChecked(
                **order_fields,
                **archive_fields,
                counts=piece.counts,
                last=piece.last,
                references=piece.references,
                granted=granted,
            )
        if isinstance(piece, ArchivePart):
            return PartRead(**order_fields, state=piece.state, texts=piece.texts)
        assert isinstance(piece, Rest)
        return StateReady(**order_fields, **archive_fields, paused=command.paused, state=piece.state, texts=[])
