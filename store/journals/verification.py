"""Verifies a file: each record is unchanged, and every acknowledged row is there.

Two notes tell of acknowledged rows: the mark in the live file, at most a tenth of a second behind, and the answers in
the inbox. Neither is written before the row that it tells of is in the journal, so a journal that ends before them has
lost rows. See docs/reference/files.md.
"""

import os
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from store.errors import RowsLost, StoreError
from store.journals.blocks import Recount
from store.journals.chain import fault_of
from store.journals.records import Record, VerifyResult
from store.journals.statements import RECORD_COLUMNS
from store.layout.connection import SQLITE_ERRORS, Durability, connect, translated
from store.layout.file_check import open_recognised
from store.layout.files import Files
from store.layout.migrations import DATABASE, INBOX, LIVE, Kind
from store.layout.sidecar_files import about_of

_END = "SELECT ifnull(max(seq), (SELECT value FROM about WHERE key = 'anchor_seq')) FROM journal"
_ANSWERED_AFTER = "SELECT kind, seq FROM commands WHERE seq > ? ORDER BY seq"
_FORGET_AFTER = "UPDATE commands SET seq = NULL WHERE seq > ?"


@dataclass(frozen=True, slots=True)
class Loss:
    """Rows that were acknowledged and are not in the journal."""

    end_seq: int
    """The last row that is there."""
    acknowledged_seq: int
    """The last that is known to have been there."""
    durability: Durability | None
    """What was promised of them; None where that is not known."""
    answers: dict[str, int] = field(default_factory=dict)
    """Commands whose outcomes are among them, counted by kind."""

    @property
    def rows(self) -> int:
        """How many are missing, at least."""
        return self.acknowledged_seq - self.end_seq


def find_loss(path: Path) -> Loss | None:
    """Return what the journal at `path` has lost; None where nothing is known to be missing. Nothing is written.

    Raises:
        StoreError: If the database cannot be read.
    """
    files = Files.of(path)
    connection, _ = open_recognised(files.database, DATABASE)
    try:
        with translated(files.database):
            file_id = about_of(connection)["file_id"]
            # Before the journal's end is read: an engine at work writes both, the journal first.
            marks = _rows(files.live, LIVE, file_id, "SELECT seq, durability FROM mark")
            answered = _rows(files.inbox, INBOX, file_id, _ANSWERED_AFTER, _end_seq(connection))
            end_seq = _end_seq(connection)
    finally:
        connection.close()
    answers = [(kind, seq) for kind, seq in answered if seq > end_seq]
    acknowledged_seq = max([seq for seq, _ in marks] + [seq for _, seq in answers], default=0)
    if acknowledged_seq <= end_seq:
        return None
    durability = marks[0][1] if marks else None
    return Loss(end_seq, acknowledged_seq, durability, dict(Counter(kind for kind, _ in answers)))


def accepted_loss(path: Path, durability: Durability, most: int) -> Loss | None:
    """Return what the journal at `path` has lost, where an engine may begin all the same.

    Args:
        durability: What is promised now, for where it is not known what was.
        most: How many rows may be missing that were acknowledged as `full`; of `normal` any may.

    Raises:
        RowsLost: If more are missing.
    """
    loss = find_loss(path)
    if loss is not None and (loss.durability or durability) == "full" and loss.rows > most:
        raise RowsLost(path, loss.end_seq, loss.acknowledged_seq)
    return loss


def forget_answers(files: Files, end_seq: int) -> None:
    """Let outcomes in the inbox refer to no row after `end_seq`: from now on other rows will stand there."""
    with translated(files.inbox, disposable=True):
        connection = connect(files.inbox, mode="rw")
        try:
            connection.execute(_FORGET_AFTER, (end_seq,))
        finally:
            connection.close()


def _end_seq(connection: sqlite3.Connection) -> int:
    return int(connection.execute(_END).fetchone()[0])


def _rows(path: Path, kind: Kind, file_id: object, sql: str, *parameters: object) -> list[Any]:
    """Return rows of a file beside the database; none where it is missing, damaged, older or another database's."""
    try:
        connection, _ = open_recognised(path, kind)
    except (StoreError, OSError):
        return []
    try:
        return connection.execute(sql, parameters).fetchall() if about_of(connection).get("file_id") == file_id else []
    except SQLITE_ERRORS:
        return []
    finally:
        connection.close()


_PAGE = 500
_ANCHOR = """
SELECT (SELECT value FROM about WHERE key = 'anchor_seq'), (SELECT value FROM about WHERE key = 'anchor_hash')
"""
_NEXT = f"SELECT {RECORD_COLUMNS}, hash FROM journal WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"


def verify(path: str | os.PathLike[str]) -> VerifyResult:
    """Walk the hash chain from the first record to the last; 5 µs a record.

    Rows that are missing at the end are only noticed where a later snapshot remembers them.

    Raises:
        StoreError: As `looks_like_ours`; damage inside the journal is part of the result instead.
    """
    database = Files.of(path).database
    connection, _ = open_recognised(database, DATABASE)
    try:
        with translated(database):
            seq, tied_to = connection.execute(_ANCHOR).fetchone()
            return _walk(connection, int(seq), bytes(tied_to))
    finally:
        connection.close()


def _walk(connection: sqlite3.Connection, last_seq: int, last_hash: bytes) -> VerifyResult:
    checked, recount = 0, Recount(connection)
    while True:
        try:
            page = connection.execute(_NEXT, (last_seq,)).fetchall()
        except sqlite3.DatabaseError as error:
            return VerifyResult(checked, last_seq + 1, f"SQLite cannot read further: {error}")
        for *fields, stored in page:
            record = Record(*fields)
            if (fault := fault_of(last_hash, last_seq, record, stored)) is not None:
                return VerifyResult(checked, *fault)
            last_seq, last_hash = record.seq, stored
            checked += 1
            if recount.differs(record):
                return VerifyResult(checked, record.seq, "the summary of the block that it ends is another one")
        if len(page) < _PAGE:
            return _end(connection, checked, last_seq)


def _end(connection: sqlite3.Connection, checked: int, last_seq: int) -> VerifyResult:
    (remembered,) = connection.execute("SELECT ifnull(max(seq), 0) FROM snapshots").fetchone()
    if remembered > last_seq:
        return VerifyResult(checked, last_seq + 1, f"missing: a snapshot remembers record {remembered}")
    return VerifyResult(checked)
