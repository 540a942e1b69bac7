"""Snapshots: they come back as they were saved, old ones thin out, bad ones are passed over."""

import sqlite3
from pathlib import Path

import pytest

from store import Reader, Row, open_store
from store.journals.snapshots import MAX_GAP_EVENTS, RECENT_SNAPSHOTS
from store.layout.opening import Store

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


def seqs_of(path: Path) -> list[int]:
    with Reader(path) as reader:
        found, at_seq = [], reader.last_seq()
        while one := reader.snapshot(at_seq):
            found.append(one[0])
            at_seq = one[0] - 1
    return found[::-1]


async def test_the_last_three_are_kept_and_older_ones_where_the_gap_would_be_wide(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await grown(store, 16_500)
        for seq in range(1_500, 16_501, 1_500):
            await store.snapshots.save(seq, b"state")
        kept = seqs_of(path)

    assert RECENT_SNAPSHOTS == 3
    assert kept == [4_500, 9_000, 13_500, 15_000, 16_500]
    assert all(after - before <= MAX_GAP_EVENTS for before, after in zip([0, *kept], kept, strict=False))


async def test_none_is_dropped_of_those_that_an_engine_saves_every_5_000_events(tmp_path: Path) -> None:
    path, saved = tmp_path / "team.db", [5_020, 10_050, 11_000, 16_010, 21_100, 26_200, 31_200]
    async with open_store(path) as store:
        await grown(store, saved[-1])
        for seq in saved:
            await store.snapshots.save(seq, b"state")

        assert seqs_of(path) == saved


async def test_a_reader_that_has_something_as_good_is_given_newer_snapshots_only(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await grown(store, 9)
        await store.snapshots.save(4, b"four")
    with Reader(path) as reader:
        assert reader.snapshot(7, after_seq=3) == (4, b"four")
        assert reader.snapshot(7, after_seq=4) is None


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
