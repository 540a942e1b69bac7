"""Whether a file is whole: SQLite's own check, and a walk along the hash chain."""

import os
import sqlite3

from store.blocks import Recount
from store.chain import linked
from store.connection import translated
from store.errors import CorruptFile
from store.files import Files
from store.migrations.database import DATABASE
from store.recognition import open_recognised
from store.records import Record, VerifyResult
from store.statements import RECORD_COLUMNS

_PAGE = 500
_ANCHOR = """
SELECT (SELECT value FROM about WHERE key = 'anchor_seq'), (SELECT value FROM about WHERE key = 'anchor_hash')
"""
_NEXT = f"SELECT {RECORD_COLUMNS}, hash FROM journal WHERE seq > ? ORDER BY seq LIMIT {_PAGE}"


def quick_check(path: str | os.PathLike[str]) -> None:
    """Ask SQLite whether the database is well formed; seconds for a large one.

    Raises:
        CorruptFile: If it is not.
        StoreError: As `looks_like_ours`.
    """
    database = Files.of(path).database
    connection, _ = open_recognised(database, DATABASE)
    try:
        with translated(database):
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    finally:
        connection.close()
    if found != "ok":
        raise CorruptFile(database, " ".join(str(found).split()))


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
            return VerifyResult(checked, last_seq + 1, f"SQLite cannot read on: {error}")
        for *fields, stored in page:
            record = Record(*fields)
            if record.seq != last_seq + 1:
                return VerifyResult(checked, last_seq + 1, f"missing: the next record is {record.seq}")
            if (last_hash := linked(last_hash, record.seq, record)) != stored:
                return VerifyResult(checked, record.seq, "altered: its hash does not fit")
            last_seq = record.seq
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
