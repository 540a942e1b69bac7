"""Checks that a file is a Quarterdeck file before anything is written to it.

First the application id in the header, then every table, index, trigger and view against the expected schema, so that a
foreign trigger never runs.
"""

import os
import sqlite3
from pathlib import Path

from store.errors import CorruptFile, NewerFile, NoPermission, NotOurFile, OlderFile, ReadOnlyFolder
from store.layout.connection import SQLITE_ERRORS, connect, store_error, translated
from store.layout.files import (
    Files,
    check_readable,
    check_single_name,
    check_writable_folder,
    exists,
    file_size,
    is_writable,
)
from store.layout.filesystem import refuse_network
from store.layout.migrations import DATABASE, Kind, schema_in, schema_of, version_of

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
"""What is wrong with the rows that opening relies on."""


def looks_like_ours(path: str | os.PathLike[str]) -> None:
    """Check that a Quarterdeck database exists at `path`; nothing is written.

    Raises:
        MissingFile, MissingFolder, NoPermission: If it cannot be reached.
        NotOurFile, NewerFile, CorruptFile: What it is instead.
        SecondName: If it has another name, a hard link.
        ReadOnlyFolder: If its write-ahead log can only be read in a folder that can be written.
    """
    open_recognised(Files.of(path).database, DATABASE)[0].close()


def check_place(path: str | os.PathLike[str]) -> None:
    """Check that an engine can open the database at `path`, or make it there; nothing is written.

    Raises:
        UnusablePath, MissingFolder, ReadOnlyFolder, NoPermission, NetworkFileSystem: If files cannot stand there.
        NotOurFile, NewerFile, CorruptFile: If something else stands there.
    """
    files = Files.of(path)
    check_writable_folder(files.database.parent)
    refuse_network(files.database.parent)
    for beside in (files.lock, files.inbox, files.live):
        exists(beside, disposable=True)
    if exists(files.database) and file_size(files.database) > 0:
        open_recognised(files.database, DATABASE)[0].close()
        if not is_writable(files.database):
            raise NoPermission(files.database)


def open_recognised(path: Path, kind: Kind) -> tuple[sqlite3.Connection, bool]:
    """Open a Quarterdeck file for reading.

    Returns:
        The connection, and True if it reads the main file alone because it cannot be written (`immutable`).

    Raises:
        StoreError: As `looks_like_ours`.
    """
    _check_header(path, kind)
    if kind is DATABASE:
        check_single_name(path)
    connection, immutable = _open(path, kind)
    try:
        with translated(path, disposable=kind.disposable):
            _check_schema(connection, path, kind)
            if kind is DATABASE and (fault := connection.execute(_FAULT).fetchone()[0]) is not None:
                raise CorruptFile(path, fault)
    except BaseException:
        connection.close()
        raise
    return connection, immutable


def _check_header(path: Path, kind: Kind) -> None:
    """Check what the first page says, without locks and without a look at the write-ahead log.

    A file whose log was being taken in when its engine was killed looks torn without that log: it passes
    here, and is judged with its log.

    Raises:
        StoreError: As `looks_like_ours`.
    """
    if file_size(path, disposable=kind.disposable) == 0:
        raise NotOurFile(path, "is empty", disposable=kind.disposable)
    check_readable(path)
    try:
        connection = connect(path, mode="ro", immutable=True)
        try:
            (found,) = connection.execute("PRAGMA application_id").fetchone()
        finally:
            connection.close()
    except SQLITE_ERRORS as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if code & 0xFF == sqlite3.SQLITE_CORRUPT:
            return
        if code == sqlite3.SQLITE_NOTADB:
            raise NotOurFile(path, "is not a database", disposable=kind.disposable) from error
        raise store_error(error, path, disposable=kind.disposable) from error
    _check_number(found, path, kind)


def _open(path: Path, kind: Kind) -> tuple[sqlite3.Connection, bool]:
    try:
        connection = connect(path, mode="ro")
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection, False
    except SQLITE_ERRORS as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _CANNOT_SHARE:
            raise store_error(error, path, disposable=kind.disposable) from error
        files = Files(path)
        for shared in (files.wal, files.wal_index):
            if exists(shared):
                check_readable(shared)
        if exists(files.wal) and file_size(files.wal) > 0:
            raise ReadOnlyFolder(path.parent) from error
    with translated(path, disposable=kind.disposable):
        return connect(path, mode="ro", immutable=True), True


def _check_number(found: int, path: Path, kind: Kind) -> None:
    if found != kind.application_id:
        raise NotOurFile(path, "is another program's database", disposable=kind.disposable)


def _check_schema(connection: sqlite3.Connection, path: Path, kind: Kind) -> None:
    _check_number(connection.execute("PRAGMA application_id").fetchone()[0], path, kind)
    version = version_of(connection)
    if version > kind.newest:
        raise NewerFile(path, version, kind.newest)
    if version < 1:
        raise NotOurFile(path, "has no version of its layout", disposable=kind.disposable)
    if version < kind.oldest:
        raise OlderFile(path, version, kind.oldest)
    found, expected = schema_in(connection), schema_of(kind, version)
    if added := found - expected:
        what, name, _ = min(added)
        raise NotOurFile(path, f"holds a foreign {what} {name!r}", disposable=kind.disposable)
    if missing := expected - found:
        what, name, _ = min(missing)
        raise CorruptFile(path, f"its {what} {name!r} is gone", disposable=kind.disposable)
