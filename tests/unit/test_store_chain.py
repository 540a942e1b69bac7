"""The hash chain and the walk along it: any change of any record is found at that record."""

import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import NotOurFile, Row, VerifyResult, open_store, verify
from store.journals.records import anchor_of, record_hash

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3)
ids = st.none() | texts
rows = st.builds(
    Row,
    at_ms=st.integers(0, 3),
    kind=texts,
    body=st.binary(max_size=3),
    run_id=ids,
    task_id=ids,
    agent_id=ids,
)


@given(rows, rows, st.integers(1, 2), st.integers(1, 2))
def test_two_records_share_a_hash_only_when_they_are_the_same(one: Row, other: Row, seq: int, other_seq: int) -> None:
    anchor = anchor_of("f")
    same = (one, seq) == (other, other_seq)

    assert (record_hash(anchor, seq, one) == record_hash(anchor, other_seq, other)) == same
    assert len(record_hash(anchor, seq, one)) == 16
    assert record_hash(anchor_of("g"), seq, one) != record_hash(anchor, seq, one)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A file with nine records and a snapshot of the last."""
    path = tmp_path / "team.db"

    async def write() -> None:
        async with open_store(path) as store:
            await store.journal.append(1, [Row(n, "noted", b'{"n":%d}' % n, "r1") for n in range(9)])
            await store.snapshots.save(9, b"{}")

    anyio.run(write)
    return path


def tampered(path: Path, statement: str) -> VerifyResult:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(statement)
    return verify(path)


def test_a_whole_file_is_whole(written: Path) -> None:
    assert verify(written) == VerifyResult(checked=9)
    assert verify(written).ok


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET body = body || ' ' WHERE seq = 4",
        "UPDATE journal SET at_ms = at_ms + 1 WHERE seq = 4",
        "UPDATE journal SET kind = 'other' WHERE seq = 4",
        "UPDATE journal SET run_id = NULL WHERE seq = 4",
        "UPDATE journal SET agent_id = '' WHERE seq = 4",
        "UPDATE journal SET hash = zeroblob(16) WHERE seq = 4",
        "DELETE FROM journal WHERE seq = 4",
        "UPDATE journal SET seq = seq + 100 WHERE seq >= 4",
    ],
)
def test_an_edit_is_found_at_the_record_that_was_edited(written: Path, statement: str) -> None:
    found = tampered(written, statement)

    assert (found.ok, found.checked, found.bad_seq) == (False, 3, 4)
    assert found.reason


def test_rows_lost_at_the_end_are_found_by_a_snapshot_that_remembers_them(written: Path) -> None:
    found = tampered(written, "DELETE FROM journal WHERE seq > 6")

    assert (found.checked, found.bad_seq) == (6, 7)
    assert found.reason == "missing: a snapshot remembers record 9"


def test_records_of_another_file_do_not_fit(written: Path) -> None:
    found = tampered(written, "UPDATE about SET value = zeroblob(16) WHERE key = 'anchor_hash'")

    assert found.bad_seq == 1


def test_a_file_that_is_not_ours_is_not_walked(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("x" * 9_999)
    with pytest.raises(NotOurFile):
        verify(tmp_path / "notes")
