"""What is opened to be compared: a database, an archive, or neither; and never in the way of who reads the file."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from engine.archive import export_archive
from engine.errors import ImportRefused
from engine.history.moments import compare_moments, open_moment
from store import NotOurFile, Reader
from tests.databases import busy_world, write_database

WRITE_AND_LEAVE = """
import sqlite3, sys
writer = sqlite3.connect(sys.argv[1])
writer.execute("PRAGMA user_version").fetchone()
writer.close()
"""
"""As the last one who has the file open, SQLite takes in the write-ahead log and removes it."""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return write_database(tmp_path / "team.db", busy_world().journal)


def in_wal(database: Path) -> sqlite3.Connection:
    """Make the file one with a log, as an engine at work has it."""
    writer = sqlite3.connect(database)
    assert writer.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    writer.execute("PRAGMA wal_checkpoint").fetchall()
    return writer


def test_a_database_and_its_archive_are_the_same_team(database: Path, tmp_path: Path) -> None:
    archive = export_archive(database, tmp_path / "team.zip").path

    with open_moment(database) as one, open_moment(archive) as other:
        assert one.state.tasks.keys() == other.state.tasks.keys()
        assert other.file_id is None
        assert other.seq == one.seq > 0
        assert one.state.trusted
        assert compare_moments(one, other) == []
        assert compare_moments(other, one) == []


def test_of_an_archive_no_other_moment_can_be_had(database: Path, tmp_path: Path) -> None:
    archive = export_archive(database, tmp_path / "team.zip").path

    with pytest.raises(ImportRefused, match="leave out what follows @"), open_moment(archive, lambda _reader: 3):
        pass


def test_who_reads_the_file_in_this_process_keeps_its_locks(database: Path) -> None:
    in_wal(database).close()
    with Reader(database) as reader:
        reader.last_seq()

        with open_moment(database):
            pass

        subprocess.run([sys.executable, "-c", WRITE_AND_LEAVE, database], check=True)
        assert database.with_name("team.db-wal").exists()


def test_a_pipe_and_a_device_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for path, reason in ((tmp_path / "pipe", "is a pipe"), (Path("/dev/zero"), "is a device")):
        with pytest.raises(NotOurFile, match=reason), open_moment(path):
            pass
