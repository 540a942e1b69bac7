"""Checks that a file is a Quarterdeck file before anything is written to it.

First the application id in the header, then every table, index, trigger and view against the expected schema, so that a
foreign trigger never runs.
"""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from store.errors import CorruptFile, NewerFile, NoPermission, NotOurFile, OlderFile, ReadOnlyFolder
from store.layout.connection import SQLITE_ERRORS, closed_on_error, connect, to_store_error, translate_errors
from store.layout.files import (
    Files,
    check_readable,
    check_single_name,
    check_writable_folder,
    exists,
    file_size,
    is_writable,
)
from store.layout.filesystem import check_local
from store.layout.migrations import DATABASE, Kind, expected_schema, read_schema, read_version

_CANNOT_SHARE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""Error codes of SQLite when it cannot create the shared-memory file that readers of a WAL need."""

_FAULT = """
SELECT CASE
    WHEN (SELECT typeof(value) FROM about WHERE key = 'file_id') IS NOT 'text' THEN 'it has no id'
    WHEN (SELECT typeof(value) FROM about WHERE key = 'anchor_seq') IS NOT 'integer'
      OR (SELECT typeof(value) || length(value) FROM about WHERE key = 'anchor_hash') IS NOT 'blob16'
        THEN 'the start of its journal is not known'
    WHEN (SELECT count(*) FROM lease WHERE typeof(token) = 'integer' AND typeof(pid) IN ('integer', 'null')
             AND typeof(started) IN ('text', 'null') AND typeof(boot_id) IN ('text', 'null')
             AND typeof(host) IN ('text', 'null') AND typeof(since_ms) IN ('integer', 'null')
             AND typeof(ended_ms) IN ('integer', 'null')) <> 1
        THEN 'it does not say which engine holds it'
    WHEN (SELECT typeof(hash) || length(hash) || typeof(at_ms) || (seq BETWEEN 1 AND 1 << 53)
            FROM journal ORDER BY seq DESC LIMIT 1) <> 'blob16integer1'
        THEN 'its newest record is altered'
END
"""
"""Returns the first fault in the rows that opening relies on, or NULL."""


def check_database(path: str | os.PathLike[str]) -> None:
    """Check that a Quarterdeck database exists at `path`; nothing is written.

    Raises:
        MissingFile, MissingFolder, NoPermission: If it cannot be reached.
        NotOurFile, NewerFile, CorruptFile: If the file is not a usable database.
        SecondName: If it has another name, a hard link.
        ReadOnlyFolder: If it has a write-ahead log, which can only be read in a writable folder.
    """
    open_checked(Files.of(path).database, DATABASE)[0].close()


def check_place(path: str | os.PathLike[str]) -> None:
    """Check that an engine can open or create the database at `path`; nothing is written.

    Raises:
        UnusablePath, MissingFolder, ReadOnlyFolder, NoPermission, NetworkFileSystem: If files cannot be created there.
        NotOurFile, NewerFile, CorruptFile: If an existing file is not a usable database.
    """
    files = Files.of(path)
    check_writable_folder(files.database.parent)
    check_local(files.database.parent)
    for sidecar in (files.lock, files.inbox, files.live):
        exists(sidecar, disposable=True)
    if exists(files.database) and file_size(files.database) > 0:
        open_checked(files.database, DATABASE)[0].close()
        if not is_writable(files.database):
            raise NoPermission(files.database)


def open_checked(path: Path, kind: Kind) -> tuple[sqlite3.Connection, bool]:
    """Open a Quarterdeck file for reading.

    Returns:
        The connection, and True if it reads the main file alone because it cannot be written (`immutable`).

    Raises:
        StoreError: As `check_database`.
    """
    _check_header(path, kind)
    if kind is DATABASE:
        check_single_name(path)
    connection, immutable = _open(path, kind)
    with closed_on_error(connection), translate_errors(path, disposable=kind.disposable):
        _check_schema(connection, path, kind)
        if kind is DATABASE and (fault := connection.execute(_FAULT).fetchone()[0]) is not None:
            raise CorruptFile(path, fault)
    return connection, immutable


def _check_header(path: Path, kind: Kind) -> None:
    """Check the header, without locks and without the write-ahead log.

    A file whose engine was killed during a checkpoint looks corrupt without its log: it passes here, and is checked
    again with the log.

    Raises:
        StoreError: As `check_database`.
    """
    if file_size(path, disposable=kind.disposable) == 0:
        raise NotOurFile(path, "is empty", disposable=kind.disposable)
    check_readable(path)
    try:
        with closing(connect(path, mode="ro", immutable=True)) as connection:
            (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    except SQLITE_ERRORS as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code & 0xFF == sqlite3.SQLITE_CORRUPT:
            return
        if code == sqlite3.SQLITE_NOTADB:
            raise NotOurFile(path, "is not a database", disposable=kind.disposable) from error
        raise to_store_error(error, path, disposable=kind.disposable) from error
    _check_application_id(application_id, path, kind)


def _open(path: Path, kind: Kind) -> tuple[sqlite3.Connection, bool]:
    try:
        with closed_on_error(connect(path, mode="ro")) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return connection, False
    except SQLITE_ERRORS as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _CANNOT_SHARE:
            raise to_store_error(error, path, disposable=kind.disposable) from error
        files = Files(path)
        for sidecar in (files.wal, files.wal_index):
            if exists(sidecar):
                check_readable(sidecar)
        if exists(files.wal) and file_size(files.wal) > 0:
            raise ReadOnlyFolder(path.parent) from error
    with translate_errors(path, disposable=kind.disposable):
        return connect(path, mode="ro", immutable=True), True


def _check_application_id(application_id: int, path: Path, kind: Kind) -> None:
    if application_id != kind.application_id:
        raise NotOurFile(path, "is another program's database", disposable=kind.disposable)


def _check_schema(connection: sqlite3.Connection, path: Path, kind: Kind) -> None:
    _check_application_id(connection.execute("PRAGMA application_id").fetchone()[0], path, kind)
    version = read_version(connection)
    if version > kind.newest:
        raise NewerFile(path, version, kind.newest)
    if version < 1:
        raise NotOurFile(path, "has no version of its layout", disposable=kind.disposable)
    if version < kind.oldest:
        raise OlderFile(path, version, kind.oldest)
    schema, expected = read_schema(connection), expected_schema(kind, version)
    if foreign_entries := schema - expected:
        entry_type, name, _ = min(foreign_entries)
        raise NotOurFile(path, f"holds a foreign {entry_type} {name!r}", disposable=kind.disposable)
    if missing_entries := expected - schema:
        entry_type, name, _ = min(missing_entries)
        raise CorruptFile(path, f"its {entry_type} {name!r} is gone", disposable=kind.disposable)
