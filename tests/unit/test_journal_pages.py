"""Pages of the journal that are read along the chain: whole where it is whole, and never past a change of it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import CorruptFile, Reader, Record, Row, open_store, verify
from tests.depth import examples

ROWS = 8
EDITS = {
    "UPDATE journal SET body = body || ' ' WHERE seq = :seq": "altered: its hash does not fit",
    "UPDATE journal SET at_ms = 'then' WHERE seq = :seq": "altered: its hash does not fit",
    "UPDATE journal SET kind = 'no' || char(0) || 'ted' WHERE seq = :seq": "altered: its hash does not fit",
    "UPDATE journal SET hash = zeroblob(16) WHERE seq = :seq": "altered: its hash does not fit",
    "DELETE FROM journal WHERE seq = :seq": "missing: the next record is {next}",
}
"""Changes of a file, and what is wrong with the record then."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the content of a file with some records."""
    path = tmp_path_factory.mktemp("pages") / "team.db"

    async def write() -> None:
        async with open_store(path) as store:
            rows = [Row(n, "noted", b'{"n":%d}' % n, "r1", None, "a1") for n in range(ROWS)]
            await store.journal.append(1, rows)

    anyio.run(write)
    return path.read_bytes()


def read(path: Path, after: int, limit: int) -> list[Record]:
    with Reader(path) as reader:
        return reader.linked_records(after, limit)


@settings(max_examples=examples(10))
@given(after=st.integers(0, ROWS), limit=st.integers(1, ROWS + 1))
def test_a_page_is_the_records_after_a_seq_up_to_its_limit(
    written: bytes, tmp_path_factory: pytest.TempPathFactory, after: int, limit: int
) -> None:
    path = tmp_path_factory.mktemp("whole") / "team.db"
    path.write_bytes(written)
    with Reader(path) as reader:
        assert reader.linked_records(after, limit) == reader.records(after, limit)


@pytest.mark.parametrize("edit", EDITS)
def test_a_changed_record_is_named_by_each_page_that_would_hold_it_and_by_the_whole_walk(
    written: bytes, tmp_path: Path, edit: str
) -> None:
    path, seq = tmp_path / "team.db", ROWS // 2
    path.write_bytes(written)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(edit, {"seq": seq})
    fault = EDITS[edit].format(next=seq + 1)

    assert (verify(path).bad_seq, verify(path).reason) == (seq, fault)
    for after in range(seq):
        assert [record.seq for record in read(path, after, seq - 1 - after)] == [*range(after + 1, seq)]
        with pytest.raises(CorruptFile) as damage:
            read(path, after, ROWS)
        assert f"(event {seq} is {fault})" in str(damage.value)


@pytest.mark.parametrize("after", range(1, ROWS))
def test_a_page_whose_beginning_is_missing_is_refused(written: bytes, tmp_path: Path, after: int) -> None:
    path = tmp_path / "team.db"
    path.write_bytes(written)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM journal WHERE seq = ?", [after])

    with pytest.raises(CorruptFile, match=f"event {after} is missing"):
        read(path, after, ROWS)


@pytest.mark.parametrize("stored", ["7", "'0123456789abcdef'", "zeroblob(16)"])
def test_a_page_behind_a_record_whose_hash_is_damaged_is_refused(written: bytes, tmp_path: Path, stored: str) -> None:
    path = tmp_path / "team.db"
    path.write_bytes(written)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE journal SET hash = {stored} WHERE seq = 3")

    with pytest.raises(CorruptFile, match="event 4 is altered"):
        read(path, 3, ROWS)
