"""Verifies a file: each record is unchanged, and every acknowledged row is there.

Two other files record acknowledged rows: the mark in the live file, at most a tenth of a second behind, and the
outcomes in the inbox. Both are written after the row is in the journal, so a journal that ends before them has lost
rows. See docs/reference/files.md.
"""

import os
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from store.errors import RowsLost, StoreError
from store.journals.blocks import Recount
from store.journals.chain import find_fault
from store.journals.records import Record, VerifyResult
from store.journals.statements import RECORD_COLUMNS
from store.layout.connection import SQLITE_ERRORS, Durability, connect, translate_errors
from store.layout.file_check import open_checked
from store.layout.files import Files
from store.layout.migrations import DATABASE, INBOX, LIVE, Kind
from store.layout.sidecar_files import read_about

_END = "SELECT ifnull(max(seq), (SELECT value FROM about WHERE key = 'anchor_seq')) FROM journal"
_OUTCOMES_AFTER = "SELECT kind, seq FROM commands WHERE seq > ? ORDER BY seq"
_FORGET_AFTER = "UPDATE commands SET seq = NULL WHERE seq > ?"


@dataclass(frozen=True, slots=True)
class Loss:
    """Rows that were acknowledged and are not in the journal."""

    end_seq: int
    """Seq of the last row in the journal."""
    acknowledged_seq: int
    """Seq of the last acknowledged row."""
    durability: Durability | None
    """Durability with which they were acknowledged; None if unknown."""
    answers: dict[str, int] = field(default_factory=dict)
    """Commands whose outcomes are among them, counted by kind."""

    @property
    def rows(self) -> int:
        """Smallest possible number of missing rows."""
        return self.acknowledged_seq - self.end_seq


def find_loss(path: Path) -> Loss | None:
    """Return the acknowledged rows that the journal has lost, or None; reads only; raises StoreError if it cannot."""
    files = Files.of(path)
    with closing(open_checked(files.database, DATABASE)[0]) as connection, translate_errors(files.database):
        file_id = read_about(connection)["file_id"]
        # Read before the journal's end, because a running engine writes the journal first.
        marks = _rows(files.live, LIVE, file_id, "SELECT seq, durability FROM mark")
        outcomes = _rows(files.inbox, INBOX, file_id, _OUTCOMES_AFTER, _end_seq(connection))
        end_seq = _end_seq(connection)
    answers = [(kind, seq) for kind, seq in outcomes if seq > end_seq]
    acknowledged_seq = max([seq for seq, _ in marks] + [seq for _, seq in answers], default=0)
    if acknowledged_seq <= end_seq:
        return None
    durability = marks[0][1] if marks else None
    return Loss(end_seq, acknowledged_seq, durability, dict(Counter(kind for kind, _ in answers)))


def check_loss(path: Path, durability: Durability, max_rows: int) -> Loss | None:
    """Return the acknowledged rows that the journal has lost, if an engine may start without them.

    Args:
        durability: Assumed durability of the missing rows if it is unknown.
        max_rows: How many rows acknowledged as `full` may be missing; any number of `normal` ones may.

    Raises:
        RowsLost: If more are missing.
    """
    loss = find_loss(path)
    if loss is not None and (loss.durability or durability) == "full" and loss.rows > max_rows:
        raise RowsLost(path, loss.end_seq, loss.acknowledged_seq)
    return loss


def forget_answers(files: Files, end_seq: int) -> None:
    """Clear the seqs after `end_seq` from outcomes in the inbox, because new rows will get these seqs."""
    with translate_errors(files.inbox, disposable=True), closing(connect(files.inbox, mode="rw")) as connection:
        connection.execute(_FORGET_AFTER, (end_seq,))


def last_heartbeat_ms(files: Files, file_id: str, token: int) -> int | None:
    """Return the clock of the engine with `token` at its last heartbeat, in UTC milliseconds; None without one."""
    rows = _rows(files.live, LIVE, file_id, "SELECT at_ms FROM heartbeat WHERE token = ?", token)
    return rows[0][0] if rows else None


def _end_seq(connection: sqlite3.Connection) -> int:
    return int(connection.execute(_END).fetchone()[0])


def _rows(path: Path, kind: Kind, file_id: object, sql: str, *parameters: object) -> list[Any]:
    """Return rows of a sidecar file; none if it is missing, damaged, too old or belongs to another database."""
    try:
        with closing(open_checked(path, kind)[0]) as connection:
            is_ours = read_about(connection).get("file_id") == file_id
            return connection.execute(sql, parameters).fetchall() if is_ours else []
    except (StoreError, OSError, *SQLITE_ERRORS):
        return []


_PAGE = 500
_ANCHOR = """
SELECT (SELECT value FROM about WHERE key = 'anchor_seq'), (SELECT value FROM about WHERE key = 'anchor_hash')
"""
_NEXT = f"SELECT {RECORD_COLUMNS}, hash FROM journal WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"


def verify(path: str | os.PathLike[str]) -> VerifyResult:
    """Walk the hash chain from the first record to the last; 5 µs a record.

    Rows missing at the end are only detected if there is a snapshot of a later record.

    Raises:
        StoreError: As `check_database`; damage inside the journal is part of the result instead.
    """
    database = Files.of(path).database
    with closing(open_checked(database, DATABASE)[0]) as connection, translate_errors(database):
        seq, anchor_hash = connection.execute(_ANCHOR).fetchone()
        return _check_chain(connection, int(seq), bytes(anchor_hash))


def _check_chain(connection: sqlite3.Connection, last_seq: int, last_hash: bytes) -> VerifyResult:
    checked = 0
    recount = Recount(connection)
    while True:
        try:
            page = connection.execute(_NEXT, (last_seq,)).fetchall()
        except sqlite3.DatabaseError as error:
            return VerifyResult(checked, last_seq + 1, f"SQLite cannot read further: {error}")
        for *fields, stored_hash in page:
            record = Record(*fields)
            if (fault := find_fault(last_hash, last_seq, record, stored_hash)) is not None:
                return VerifyResult(checked, *fault)
            last_seq, last_hash = record.seq, stored_hash
            checked += 1
            if recount.differs(record):
                return VerifyResult(checked, record.seq, "the summary of the block that it ends is another one")
        if len(page) < _PAGE:
            return _check_end(connection, checked, last_seq)


def _check_end(connection: sqlite3.Connection, checked: int, last_seq: int) -> VerifyResult:
    (snapshot_seq,) = connection.execute("SELECT ifnull(max(seq), 0) FROM snapshots").fetchone()
    if snapshot_seq > last_seq:
        return VerifyResult(checked, last_seq + 1, f"missing: a snapshot remembers record {snapshot_seq}")
    return VerifyResult(checked)
