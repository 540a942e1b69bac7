"""Summaries of blocks: they are what a recount of the events gives, and no page misses a record because of them."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import Reader, Record, Row, SeqTaken, open_store, verify
from store.journals.records import BlockSummary
from store.layout.migrations import BLOCK

pytestmark = pytest.mark.anyio

EVENTS = 5 * BLOCK + 250
RARE = {1_000: "swapped", 1_001: "switched", 4_200: "swapped", EVENTS: "failed"}
BATCHES = (1, 998, 1, 1, 2_600, 999, 650)


def kind_of(seq: int) -> str:
    return RARE.get(seq, ("begun", "done", "noted")[seq % 3])


async def append(path: Path, batches: tuple[int, ...]) -> None:
    """Write events in batches of these sizes."""
    async with open_store(path) as store:
        for size in batches:
            first = store.journal.last_seq + 1
            rows = [Row(1_000 + seq // 7, kind_of(seq), b"{}", None, None, None) for seq in range(first, first + size)]
            await store.journal.append(first, rows)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose blocks were filled by batches of many sizes."""
    path = tmp_path_factory.mktemp("blocks") / "team.db"
    anyio.run(append, path, BATCHES)
    return path


def recounted(records: list[Record]) -> list[BlockSummary]:
    """Return the summaries that records give."""
    blocks: dict[int, list[Record]] = {}
    for record in records:
        blocks.setdefault((record.seq - 1) // BLOCK, []).append(record)
    return [
        BlockSummary(number, dict(Counter(one.kind for one in found)), found[0].at_ms, found[-1].at_ms)
        for number, found in blocks.items()
    ]


def test_the_fixture_fills_its_blocks() -> None:
    assert sum(BATCHES) == EVENTS


def test_summaries_are_those_of_a_recount(filled: Path) -> None:
    with Reader(filled) as reader:
        every = recounted(reader.records(0, EVENTS))

        assert reader.blocks() == every
        assert [reader.blocks(first) for first in (0, 2, 5, 6)] == [every, every[2:], every[5:], []]


@pytest.mark.parametrize("events", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1])
async def test_a_block_is_summed_up_once_its_last_event_is_there(events: int, tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await append(path, (events,))

    with Reader(path) as reader, closing(sqlite3.connect(path)) as connection:
        assert reader.blocks() == recounted(reader.records(0, EVENTS))
        assert connection.execute("SELECT count(DISTINCT block) FROM blocks").fetchone() == (events // BLOCK,)


async def test_a_batch_that_is_refused_leaves_no_summary(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        with pytest.raises(SeqTaken):
            await store.journal.append(2, [Row(1, "noted", b"{}", None, None, None)] * BLOCK)

    with Reader(path) as reader:
        assert reader.blocks() == []


@given(
    st.sets(st.sampled_from(["swapped", "switched", "failed", "begun", "never"])),
    st.integers(0, EVENTS + 5),
    st.integers(1, 40),
)
def test_a_page_of_some_kinds_is_that_of_a_walk(filled: Path, kinds: set[str], seq: int, limit: int) -> None:
    with Reader(filled) as reader:
        seqs = [one for one in range(1, EVENTS + 1) if kind_of(one) in kinds]

        after = [record.seq for record in reader.records(seq, limit, kinds=kinds)]
        before = [record.seq for record in reader.records_before(seq, limit, kinds=kinds)]

    assert after == [one for one in seqs if one > seq][:limit]
    assert before == [one for one in seqs if one < seq][-limit:]


async def test_a_summary_that_was_altered_is_found(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await append(path, (BLOCK,))
    assert verify(path).ok
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE blocks SET count = count + 1 WHERE kind = 'noted'")
        connection.commit()

    result = verify(path)

    assert (result.bad_seq, result.ok) == (BLOCK, False)
