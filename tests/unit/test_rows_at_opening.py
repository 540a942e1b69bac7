"""The rows that opening a database relies on: of each column, a value of any other type is damage."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from store import CorruptFile, Reader, Row, open_store

HOLDER = "it does not say which engine holds it"
START = "the start of its journal is not known"
NEWEST = "its newest record is altered"
LEASE = {
    "token": "text", "pid": "text", "started": "blob", "boot_id": "blob", "host": "blob", "since_ms": "text",
    "ended_ms": "text",
}  # fmt: skip
"""A type that each column of the lease may not have."""
ODD = {"text": "'many'", "blob": "x'00'"}
DAMAGE = {
    "DELETE FROM about WHERE key = 'file_id'": "it has no id",
    "UPDATE about SET value = 7 WHERE key = 'file_id'": "it has no id",
    "DELETE FROM about WHERE key = 'anchor_seq'": START,
    "UPDATE about SET value = 'first' WHERE key = 'anchor_seq'": START,
    "UPDATE about SET value = zeroblob(15) WHERE key = 'anchor_hash'": START,
    "UPDATE about SET value = '0123456789abcdef' WHERE key = 'anchor_hash'": START,
    "DELETE FROM lease": HOLDER,
    **{f"UPDATE lease SET {column} = {ODD[odd]}": HOLDER for column, odd in LEASE.items()},
    "UPDATE journal SET hash = zeroblob(15) WHERE seq = 3": NEWEST,
    "UPDATE journal SET hash = '0123456789abcdef' WHERE seq = 3": NEWEST,
    "UPDATE journal SET at_ms = 'then' WHERE seq = 3": NEWEST,
    "UPDATE journal SET seq = (1 << 53) + 1 WHERE seq = 3": NEWEST,
    "UPDATE journal SET seq = -seq": NEWEST,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the content of a file with three records."""
    path = tmp_path_factory.mktemp("rows") / "team.db"

    async def write() -> None:
        async with open_store(path) as store:
            await store.journal.append(1, [Row(n, "noted", b"{}") for n in range(3)])

    anyio.run(write)
    return path.read_bytes()


def test_every_column_of_the_lease_is_looked_at(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    path.write_bytes(written)
    with closing(sqlite3.connect(path)) as connection:
        columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(lease)")}

    assert LEASE.keys() == columns - {"one"}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_whose_rows_are_damaged_is_refused_before_anything_is_read(
    written: bytes, tmp_path: Path, damage: str
) -> None:
    path = tmp_path / "team.db"
    path.write_bytes(written)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        assert connection.execute(damage).rowcount >= 1

    with pytest.raises(CorruptFile) as fault:
        Reader(path)
    assert f"({DAMAGE[damage]})" in str(fault.value)


def test_an_older_record_is_no_matter_of_opening(written: bytes, tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    path.write_bytes(written)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE journal SET hash = x'00' WHERE seq < 3")

    with Reader(path) as reader:
        assert reader.record(3).at_ms == 2
