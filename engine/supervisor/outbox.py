"""Commands on their way into a team's inbox: those that come while others are written go together."""

from pathlib import Path

import anyio
import anyio.to_thread

from engine.runtimes.slot import Slot
from store import CommandRow, InboxClient, StoreError


class Outbox:
    """Writes commands into the inbox beside one file; for one loop at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: dict[str, tuple[CommandRow, Slot[None]]] = {}
        self._turn = anyio.Lock()

    async def put(self, command: CommandRow) -> None:
        """Return once the command is on disk; one that is cancelled before its turn is not sent.

        Raises:
            StoreError: If it cannot be written.
        """
        slot: Slot[None] = Slot()
        self._waiting[command.id] = command, slot
        try:
            async with self._turn:
                if not slot.done:
                    await self._write()
        finally:
            self._waiting.pop(command.id, None)
        await slot.wait()

    async def _write(self) -> None:
        """Write all that waits, in one go."""
        sent, self._waiting = list(self._waiting.values()), {}
        with anyio.CancelScope(shield=True):
            try:
                await anyio.to_thread.run_sync(_put, self._path, [command for command, _ in sent])
            except StoreError as error:
                for _, slot in sent:
                    slot.fail(error)
        for _, slot in sent:
            slot.put(None)


def _put(path: Path, commands: list[CommandRow]) -> None:
    with InboxClient(path) as inbox:
        inbox.put(*commands)
