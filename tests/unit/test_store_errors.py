"""What SQLite's errors mean, and how every error of the store reads."""

import errno
import inspect
import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from store import errors
from store.errors import (
    CorruptFile,
    DiskFailed,
    DiskFull,
    NotOurFile,
    ReadOnlyFolder,
    SecondName,
    StoreBusy,
    StoreError,
)
from store.layout.connection import to_store_error, translate_errors
from store.layout.files import check_single_name, translate_os_errors

NASTY = Path("/tmp/a\nb\x1b[2J.db")
VALUES = {"path": NASTY, "found": "is odd", "filesystem": "nfs", "pid": 7, "since_ms": 8}


def every_error() -> list[type[StoreError]]:
    found = [each for _, each in inspect.getmembers(errors, inspect.isclass)]
    return [each for each in found if issubclass(each, StoreError) and each not in (StoreError, errors.PathError)]


@pytest.mark.parametrize("error", every_error())
def test_a_message_is_one_line_that_says_what_to_do_next(error: type[StoreError]) -> None:
    names = [name for name in inspect.signature(error.__init__).parameters if name not in ("self", "disposable")]
    made = error(*[VALUES.get(name, 3) for name in names])

    assert str(made).isprintable()
    assert ":" in str(made)
    for name in names:
        assert hasattr(made, name)


def test_a_database_that_may_not_grow_is_a_full_disk() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA max_page_count = 2")
        with pytest.raises(DiskFull), translate_errors(Path("/x/team.db")):
            connection.execute("INSERT INTO t VALUES (zeroblob(100000))")


def test_what_is_nobodys_decision_is_a_plain_store_error_with_the_cause() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        with pytest.raises(StoreError, match="no such table") as said, translate_errors(None):
            connection.execute("SELECT * FROM t")
        assert type(said.value) is StoreError
        assert isinstance(said.value.__cause__, sqlite3.OperationalError)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (sqlite3.SQLITE_FULL, DiskFull),
        (sqlite3.SQLITE_IOERR_WRITE, DiskFailed),
        (sqlite3.SQLITE_CORRUPT_INDEX, CorruptFile),
        (sqlite3.SQLITE_NOTADB, CorruptFile),
        (sqlite3.SQLITE_BUSY_RECOVERY, StoreBusy),
        (sqlite3.SQLITE_LOCKED_SHAREDCACHE, StoreBusy),
        (sqlite3.SQLITE_READONLY_DIRECTORY, ReadOnlyFolder),
        (sqlite3.SQLITE_IOERR_READ, StoreError),
    ],
)
def test_each_code_of_sqlite_leads_to_one_decision(code: int, expected: type[StoreError]) -> None:
    error = sqlite3.OperationalError("it says")
    error.sqlite_errorcode = code

    assert type(to_store_error(error, Path("/x/team.db"))) is expected


@pytest.mark.parametrize("name", [name for name in dir(sqlite3) if name.startswith("SQLITE_IOERR")])
def test_each_error_of_a_disk_is_said_to_be_one(name: str, tmp_path: Path) -> None:
    error = sqlite3.OperationalError("it says")
    error.sqlite_errorcode = getattr(sqlite3, name)
    path = tmp_path / "team.db"
    path.touch()

    assert "the disk reports an I/O error" in str(to_store_error(error, path))


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_FSTAT, sqlite3.SQLITE_CANTOPEN])
def test_a_file_that_is_gone_is_said_to_be_however_sqlite_finds_out(code: int, tmp_path: Path) -> None:
    error = sqlite3.OperationalError("it says")
    error.sqlite_errorcode = code
    there, gone = tmp_path / "there.db", tmp_path / "gone.db"
    there.touch()

    assert "it says" in str(to_store_error(error, there))
    assert str(to_store_error(error, gone)) == f"{gone} was deleted or moved away while it was open: start again"


def test_a_file_that_went_away_while_it_was_opened_has_no_other_name(tmp_path: Path) -> None:
    check_single_name(tmp_path / "gone.db")

    named = tmp_path / "team.db"
    named.touch()
    check_single_name(named)
    (tmp_path / "twin.db").hardlink_to(named)
    with pytest.raises(SecondName):
        check_single_name(named)


def test_what_may_be_deleted_is_said_to_be() -> None:
    assert "delete it" in str(NotOurFile(Path("/x/team.db-live"), "is odd", disposable=True))
    assert "delete" not in str(NotOurFile(Path("/x/team.db"), "is odd"))
    assert "delete it" in str(CorruptFile(Path("/x/team.db-live"), "torn", disposable=True))
    assert "delete" not in str(CorruptFile(Path("/x/team.db"), "torn"))


@pytest.mark.parametrize("longest", ["team.db", "team.db-wal"])
def test_a_write_that_failed_is_a_full_disk_where_no_file_as_long_can_be_made(tmp_path: Path, longest: str) -> None:
    for name in ("team.db", "team.db-wal"):
        (tmp_path / name).write_bytes(b"x" * (400_000 if name == longest else 10))
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    kinds = []
    for limit in (400_000, 500_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            kinds.append(type(to_store_error(error, tmp_path / "team.db")))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert kinds == [DiskFull, DiskFailed]
    assert type(to_store_error(error, None)) is DiskFull
    assert sorted(path.name for path in tmp_path.iterdir()) == ["team.db", "team.db-wal"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        *((number, DiskFull) for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)),
        (errno.EIO, DiskFailed),
        *((number, ReadOnlyFolder) for number in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT)),
        *((number, StoreError) for number in (errno.EMFILE, errno.ENAMETOOLONG)),
    ],
)
def test_each_error_of_making_a_file_leads_to_one_decision(number: int, expected: type[StoreError]) -> None:
    with pytest.raises(StoreError) as fault, translate_os_errors(Path("/x/team.db")):
        raise OSError(number, "it says")

    assert type(fault.value) is expected
