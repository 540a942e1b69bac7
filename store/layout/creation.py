"""Creates a database from a journal: built whole under a temporary name, synced, then renamed."""

import secrets
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from store.errors import LeftoverWal, NameTaken
from store.journals.journal import append_records
from store.journals.records import Row, anchor_of
from store.layout.connection import connect, translate_errors
from store.layout.file_check import check_place
from store.layout.files import Files, exists, file_size
from store.layout.migrations import DATABASE
from store.layout.sidecar_files import create_file, read_about
from store.leadership.lease import RELEASE_LEASE, raise_token
from store.leadership.process import this_process
from store.wall_clock import wall_ms


def check_free(path: str | Path) -> None:
    """Check that a new database can be created at `path`.

    Raises:
        NameTaken: If the name is in use.
        LeftoverWal: If the write-ahead log of a removed database is beside it.
        MissingFolder, ReadOnlyFolder, NetworkFileSystem, NotOurFile, UnusablePath: If it cannot be created there.
    """
    files = Files.of(path)
    if exists(files.database):
        raise NameTaken(files.database)
    check_place(files.database)
    for leftover in (files.wal, files.database.with_name(files.database.name + "-journal")):
        if exists(leftover) and file_size(leftover) > 0:
            raise LeftoverWal(leftover)


def create_database(path: str | Path, rows: Sequence[Row]) -> None:
    """Create a database whose journal begins with `rows`, all or nothing; blocks.

    Raises:
        NameTaken, LeftoverWal, MissingFolder, ReadOnlyFolder, NetworkFileSystem: As `check_free`.
        DiskFull: If there is no room.
    """
    check_free(path)
    database, file_id = Files.of(path).database, secrets.token_hex(16)
    about: dict[str, object] = {"file_id": file_id, "anchor_seq": 0, "anchor_hash": anchor_of(file_id)}
    create_file(database, DATABASE, about, fill=partial(_fill, rows=rows, anchor=anchor_of(file_id)))
    with translate_errors(database), closing(connect(database, mode="ro")) as connection:
        if read_about(connection).get("file_id") != file_id:  # another process was first
            raise NameTaken(database)


def _fill(connection: sqlite3.Connection, *, rows: Sequence[Row], anchor: bytes) -> None:
    now_ms = wall_ms()
    token = raise_token(connection, this_process(), now_ms)
    append_records(connection, rows, anchor, token=token)
    connection.execute(RELEASE_LEASE, (now_ms, token))
