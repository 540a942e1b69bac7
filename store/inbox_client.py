"""The clients' side of the inbox: queues commands from any process; needs no engine."""

import os
import sqlite3
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from store.errors import InboxBusy, StoreBusy
from store.journals.reader import Reader
from store.journals.records import CommandOutcome, CommandRow
from store.journals.statements import COMMAND_OUTCOME, command_of, pending_commands, put_commands
from store.layout.connection import SEND_PATIENCE_S, patiently, translated
from store.layout.files import Files, check_writable_folder, exists
from store.layout.migrations import INBOX
from store.layout.sidecar_files import create_file, open_inbox
from store.leadership.lock import identity

T = TypeVar("T")

_AT_ONCE = 1_000
"""Most commands of one statement."""


class InboxClient:
    """Write commands beside one database, and ask what became of them; for one thread at a time."""

    def __init__(self, path: str | os.PathLike[str], *, patience_s: float = SEND_PATIENCE_S) -> None:
        """Look at the database at `path`; its inbox is made by the first `put`.

        Args:
            path: The database, not the inbox.
            patience_s: How long to try while another client writes, in seconds.

        Raises:
            StoreError: As `Reader`, if there is no Quarterdeck database.
        """
        self._files = Files.of(path)
        self._patience_s = patience_s
        with Reader(self._files.database) as reader:
            self._file_id = reader.file_id
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def close(self) -> None:
        """Let go of the file; a second call changes nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> "InboxClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def put(self, *commands: CommandRow) -> None:
        """Queue commands in their order, on disk when this returns; a second one with the same id changes nothing.

        Raises:
            StoreBusy: If another client has held the inbox for `patience_s`.
            NoPermission, ReadOnlyFolder: If this user may not give commands.
            NotOurFile, CorruptFile, NewerFile: If something else stands where the inbox belongs.
            DiskFull: If there is no room.
        """
        if not exists(self._files.inbox, disposable=True):
            check_writable_folder(self._files.inbox.parent)
            create_file(self._files.inbox, INBOX, {"file_id": self._file_id})
        for start in range(0, len(commands), _AT_ONCE):
            statement = put_commands(commands[start : start + _AT_ONCE])
            self._do(lambda connection, statement=statement: connection.execute(*statement))  # type: ignore[misc]

    def outcome(self, id: str) -> CommandOutcome | None:
        """What became of a command; None if there was none with this id (or long ago)."""
        if not exists(self._files.inbox, disposable=True):
            return None
        found = self._do(lambda connection: connection.execute(COMMAND_OUTCOME, (id,)).fetchone())
        return CommandOutcome(*found) if found else None

    def pending(self, limit: int = 500) -> list[CommandRow]:
        """Commands that wait for an engine, oldest first, at most `limit`."""
        if not exists(self._files.inbox, disposable=True):
            return []
        found = self._do(lambda connection: connection.execute(*pending_commands(limit=limit)).fetchall())
        return [row for row in map(command_of, found) if row is not None]

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with translated(self._files.inbox, disposable=True):
                return patiently(lambda: work(self._opened()), limit_s=self._patience_s)
        except StoreBusy as busy:
            raise InboxBusy(busy.path, self._patience_s) from busy

    def _opened(self) -> sqlite3.Connection:
        # The inbox may have been deleted and made again: what is written into a deleted file reaches no engine.
        now = identity(self._files.inbox)
        if now != self._identity:
            self.close()
        if self._connection is None:
            self._connection, self._identity = open_inbox(self._files, self._file_id), now
        return self._connection
