"""The file of the catalogue, `catalogue.db`: its place, its tables, and who may have written it.

Readers open it for each question and close it again, so that they survive its deletion, damage and replacement.
"""

import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection

from engine.errors import CatalogueError
from engine.platform.folders import CATALOGUE_FILE, data_folder
from store.errors import MissingFile, MissingFolder, StoreError, format_path
from store.layout.connection import translate_errors
from store.layout.file_check import open_checked
from store.layout.files import Files, exists, file_size
from store.layout.migrations import Kind

VARIABLE = "QUARTERDECK_CATALOGUE"
"""Environment variable with another path."""

_VERSION_1 = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID",
    """CREATE TABLE packs (
        number INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        version TEXT NOT NULL,
        author TEXT NOT NULL,
        licence TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        key TEXT NOT NULL,
        source TEXT NOT NULL,
        mcp TEXT NOT NULL
    )""",
    "CREATE INDEX packs_by_name ON packs (name)",
    # Rows never change except for the last three columns. `claims` and `texts` are the stems in the index: removing a
    # row from the index needs them, and a later stemmer could make others.
    """CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        name TEXT NOT NULL,
        pack INTEGER NOT NULL REFERENCES packs (number),
        revision INTEGER NOT NULL,
        hash TEXT NOT NULL,
        spec TEXT NOT NULL,
        claims TEXT NOT NULL,
        texts TEXT NOT NULL,
        added_by TEXT NOT NULL,
        added_ms INTEGER NOT NULL,
        approved_by TEXT,
        approved_ms INTEGER,
        removed_ms INTEGER,
        UNIQUE (id, revision)
    )""",
    "CREATE INDEX entries_by_name ON entries (name) WHERE removed_ms IS NULL",
    "CREATE INDEX entries_by_pack ON entries (pack) WHERE removed_ms IS NULL",
    # Current revisions only.
    """CREATE VIRTUAL TABLE words USING fts5 (
        claims, texts, content='entries', content_rowid='number', tokenize='unicode61'
    )""",
    # How many revisions have a stem; counting the rows of a frequent one would take longer than the search.
    "CREATE TABLE stems (stem TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE keys (name TEXT PRIMARY KEY, key TEXT NOT NULL, added_ms INTEGER NOT NULL) WITHOUT ROWID",
)

CATALOGUE = Kind("catalogue", 0x51444331, (_VERSION_1,), disposable=False)


def catalogue_path(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of the user's catalogue, resolved: `path`, that of the variable, or the default.

    Raises:
        NoHome: If the default is needed and the user has no home folder.
        CatalogueError: If it cannot be the path of a database.
    """
    chosen_path = Path(path or os.environ.get(VARIABLE) or data_folder() / CATALOGUE_FILE)
    with suppress(RuntimeError):  # the home of an unknown user
        chosen_path = chosen_path.expanduser()
    with catalogue_errors(chosen_path):
        return Files.of(chosen_path).database


@contextmanager
def catalogue_errors(path: Path) -> Iterator[None]:
    """Translate errors about the file, all to one line."""
    try:
        with translate_errors(path):
            yield
    except StoreError as error:
        raise CatalogueError(f"the catalogue cannot be used: {error}") from error
    except UnicodeEncodeError as error:  # bytes of a command line that are no text
        raise CatalogueError(f"{error.object!a:.100} is not text in UTF-8; write it otherwise") from error
    except OSError as error:
        fault = f"{format_path(Path(error.filename or path))} ({error.strerror})"
        raise CatalogueError(f"the catalogue cannot be used: {fault}; choose another path") from error


@contextmanager
def reading(path: Path | None) -> Iterator[Connection | None]:
    """Open a catalogue for one question; None if there is none, or an empty file.

    Raises:
        CatalogueError: If it cannot be used.
    """
    if path is None:
        yield None
        return
    with catalogue_errors(path):
        connection = _open(path)
        if connection is None:
            yield None
            return
        with closing(connection):
            # One state for several statements, while a writer goes on.
            connection.execute("BEGIN")
            yield connection


def _open(path: Path) -> Connection | None:
    try:
        if not has_content(path):
            return None
        check_owner(path)
        return open_checked(path, CATALOGUE)[0]
    except (FileNotFoundError, MissingFile, MissingFolder):  # also where it was deleted a moment ago
        return None


def has_content(path: Path) -> bool:
    """Return False for a missing or empty file, which counts as an empty catalogue."""
    return exists(path) and file_size(path) > 0


def check_owner(path: Path) -> None:
    """Refuse a file that another user could have written, as with the list of trusted files.

    Raises:
        CatalogueError: If the file belongs to another user, or others can write it.
        OSError: If there is none.
    """
    status = path.stat()
    if status.st_uid not in (os.geteuid(), 0):
        raise CatalogueError(f"{format_path(path)} belongs to another user, so it is not used; choose another path")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        advice = f"after a look: chmod 600 {shlex.quote(str(path))}"
        raise CatalogueError(f"{format_path(path)} can be written by others, so it is not used; {advice}")
