"""Archives that orders name: read and checked beside the loop, then taken in piece by piece, between other messages."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import anyio

from engine.core.commands import ImportState, Order
from engine.core.importing import part_from
from engine.core.signals import ArchiveChecked, PartRead, Signal, StateReady, StateUnusable
from engine.core.state import State
from engine.runtimes.threads import Threads
from engine.runtimes.values import one_line

Pieces: TypeAlias = Iterator[dict[str, Any]]
"""What an archive holds, its parts, and the rest, as `engine.archive.cutting` makes them."""


class Importer(Protocol):
    """Opens an archive."""

    def __call__(self, path: Path, sha256: str, *, at_work: bool) -> AbstractContextManager[Pieces]:
        """Return the pieces of the archive at a path, whose file must have this hash.

        Entering and each step block, and raise with one line when the archive is not to be used.
        """


class Imports:
    """Takes in one archive after the other.

    Args:
        importer: Opens an archive.
        threads: Where that blocks.
        granted: Returns which references may be imported here, each with the hash of its code; blocks.
        state: Returns the state of the moment.
        tell: Puts a signal through the core, and returns once what follows is on disk or the engine has ended.
    """

    def __init__(
        self,
        importer: Importer,
        threads: Threads,
        *,
        granted: Callable[[list[str]], dict[str, str]],
        state: Callable[[], State],
        tell: Callable[[Signal], Awaitable[None]],
    ) -> None:
        self._importer = importer
        self._threads = threads
        self._granted = granted
        self._state = state
        self._tell = tell
        self._turn = anyio.Lock()

    async def take_in(self, order: Order, command: ImportState) -> None:
        """Take in the archive that an order names, or say why not."""
        async with self._turn:
            try:
                await self._threads.run(partial(part_from, {}, []))  # makes what reads parts: 50 ms, once
                with ExitStack() as stack:
                    archive = self._importer(Path(command.path), command.sha256, at_work=bool(self._state().minted))
                    pieces = await self._threads.run(archive.__enter__)
                    stack.push(archive)
                    await self._take(order, command, pieces)
            except Exception as error:  # an archive is hostile: whatever reading it runs into is a refusal
                reason = one_line(error)
                await self._tell(StateUnusable(order_id=order.id, sender=order.sender, role=order.role, reason=reason))

    async def _take(self, order: Order, command: ImportState, pieces: Pieces) -> None:
        while (piece := await self._threads.run(partial(next, pieces, None))) is not None:
            await self._tell(await self._signal(order, command, piece))
            incoming = self._state().incoming
            if incoming is None or incoming.command_id != order.id:
                return  # it is all there, or was refused

    async def _signal(self, order: Order, command: ImportState, piece: dict[str, Any]) -> Signal:
        """Return what a piece of an archive is to the core."""
        who: dict[str, Any] = {"order_id": order.id, "sender": order.sender, "role": order.role}
        if "state" in piece:
            return PartRead(**who, state=piece["state"], texts=piece["texts"])
        what: dict[str, Any] = {"path": command.path, "sha256": command.sha256}
        if "rest" in piece:
            return StateReady(**who, **what, paused=command.paused, state=piece["rest"], texts=[])
        held = {name: piece[name] for name in ("counts", "last", "references")}
        granted = await self._threads.run(partial(self._granted, piece["references"]))
        return ArchiveChecked(**who, **what, **held, granted=granted)
