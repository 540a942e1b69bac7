"""The clients' side of the inbox: queues commands from any process; needs no engine."""

import os
import sqlite3
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from store.errors import InboxBusy, StoreBusy
from store.journals.reader import Reader
from store.journals.records import CommandOutcome, CommandRow
from store.journals.statements import COMMAND_OUTCOME, parse_command, pending_commands, put_commands
from store.layout.connection import SEND_TIMEOUT_S, retry_while_busy, translate_errors
from store.layout.files import Files, check_writable_folder, exists
from store.layout.migrations import INBOX
from store.layout.sidecar_files import create_file, open_inbox
from store.leadership.lock import identity

T = TypeVar("T")

_MAX_BATCH_COMMANDS = 1_000
"""Commands per statement."""


class InboxClient:
    """Queue commands for the engine of a database, and read their outcomes; for one thread at a time."""

    def __init__(self, path: str | os.PathLike[str], *, timeout_s: float = SEND_TIMEOUT_S) -> None:
        """Check the database at `path`; the first `put` creates its inbox.

        Args:
            path: The database, not the inbox.
            timeout_s: How long to try while another client writes, in seconds.

        Raises:
            StoreError: As `Reader`, if there is no Quarterdeck database.
        """
        self._files = Files.of(path)
        self._timeout_s = timeout_s
        with Reader(self._files.database) as reader:
            self._file_id = reader.file_id
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the file; a second call does nothing."""
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
            StoreBusy: If another client has held the inbox for `timeout_s`.
            NoPermission, ReadOnlyFolder: If this user may not give commands.
            NotOurFile, CorruptFile, NewerFile: If the file in place of the inbox cannot be used.
            DiskFull: If there is no room.
        """
        if not exists(self._files.inbox, disposable=True):
            check_writable_folder(self._files.inbox.parent)
            create_file(self._files.inbox, INBOX, {"file_id": self._file_id})
        for start in range(0, len(commands), _MAX_BATCH_COMMANDS):
            statement = put_commands(commands[start : start + _MAX_BATCH_COMMANDS])
            self._execute(lambda connection, statement=statement: connection.execute(*statement))  # type: ignore[misc]

    def outcome(self, id: str) -> CommandOutcome | None:
        """Return the outcome of a command; None if the id is unknown, or its outcome was deleted as an old one."""
        if not exists(self._files.inbox, disposable=True):
            return None
        row = self._execute(lambda connection: connection.execute(COMMAND_OUTCOME, (id,)).fetchone())
        return CommandOutcome(*row) if row else None

    def pending(self, limit: int = 500) -> list[CommandRow]:
        """Commands that wait for an engine, oldest first, at most `limit`."""
        if not exists(self._files.inbox, disposable=True):
            return []
        rows = self._execute(lambda connection: connection.execute(*pending_commands(limit=limit)).fetchall())
        return [row for row in map(parse_command, rows) if row is not None]

    def _execute(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            with translate_errors(self._files.inbox, disposable=True):
                return retry_while_busy(lambda: work(self._connect()), limit_s=self._timeout_s)
        except StoreBusy as busy:
            raise InboxBusy(busy.path, self._timeout_s) from busy

    def _connect(self) -> sqlite3.Connection:
        # The inbox may have been deleted and created again: a command in a deleted file reaches no engine.
        file_identity = identity(self._files.inbox)
        if file_identity != self._identity:
            self.close()
        if self._connection is None:
            self._connection, self._identity = open_inbox(self._files, self._file_id), file_identity
        return self._connection
