"""Snapshots: they come back as they were saved, old ones thin out, bad ones are passed over."""

import sqlite3
from pathlib import Path

import pytest

from store import Reader, Row, open_store
from store.opening import Store
from store.snapshots import LAST_KEPT, ONE_PER_EVENTS

pytestmark = pytest.mark.anyio


async def grown(store: Store, last_seq: int) -> None:
    row = Row(0, "noted", b"{}")
    while missing := last_seq - store.journal.last_seq:
        await store.journal.append(store.journal.last_seq + 1, [row] * min(missing, 10_000))


async def test_the_newest_snapshot_at_or_before_a_seq_comes_back_as_it_was_saved(target: Path) -> None:
    async with open_store(target) as store:
        assert await store.snapshots.latest() is None
        await grown(store, 9)
        await store.snapshots.save(4, b"four" * 1_000)
        await store.snapshots.save(8, b"")

        assert await store.snapshots.latest() == (8, b"")
        assert await store.snapshots.latest(at_seq=7) == (4, b"four" * 1_000)
        assert await store.snapshots.latest(at_seq=4) == (4, b"four" * 1_000)
        assert await store.snapshots.latest(at_seq=3) is None


async def test_a_snapshot_of_what_is_not_in_the_journal_is_refused(target: Path) -> None:
    async with open_store(target) as store:
        await grown(store, 3)
        with pytest.raises(ValueError, match="does not reach"):
            await store.snapshots.save(4, b"{}")

        assert await store.snapshots.latest() is None


async def test_the_last_three_are_kept_and_the_first_of_each_20_000_events(target: Path) -> None:
    async with open_store(target) as store:
        await grown(store, ONE_PER_EVENTS + 3_000)
        for seq in (5_000, 10_000, 15_000, 20_000, 21_000, 22_000, 23_000):
            await store.snapshots.save(seq, str(seq).encode())
        kept = []
        at_seq: int | None = None
        while found := await store.snapshots.latest(at_seq):
            kept.append(found[0])
            at_seq = found[0] - 1

    assert LAST_KEPT == 3
    assert kept == [23_000, 22_000, 21_000, 20_000, 5_000]


async def test_a_damaged_snapshot_is_passed_over_for_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await grown(store, 3)
        for seq in (1, 2, 3):
            await store.snapshots.save(seq, str(seq).encode())
        damage(path, "UPDATE snapshots SET body = x'00' WHERE seq = 3")
        damage(path, "UPDATE snapshots SET body = substr(body, 1, length(body) - 2) WHERE seq = 2")

        assert await store.snapshots.latest() == (1, b"1")
        with Reader(path) as reader:
            assert reader.snapshot() == (1, b"1")
            assert reader.snapshot(at_seq=0) is None


def damage(path: Path, statement: str) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(statement)
    other.close()
