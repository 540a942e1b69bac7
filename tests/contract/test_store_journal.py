"""The journal: what was appended is what is read, whole batches only, and only by who holds the token."""

import asyncio
import contextlib
import resource
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import Deposed, DiskFull, NoSuchSeq, Row, SeqTaken, open_store, verify

pytestmark = pytest.mark.anyio

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
ids = st.none() | names
rows = st.builds(
    Row,
    at_ms=st.integers(0, 2**62),
    kind=names,
    body=st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode(errors="replace")),
    run_id=ids,
    task_id=ids,
    agent_id=ids,
)


def row(text: str = "{}", **ids: str) -> Row:
    return Row(1_700_000_000_000, "noted", text.encode(), **ids)


@settings(max_examples=15)
@given(batches=st.lists(st.lists(rows, max_size=6), max_size=5), memory=st.booleans())
def test_what_is_read_is_what_was_appended_byte_for_byte(batches: list[list[Row]], memory: bool) -> None:
    async def appended_and_read(folder: str) -> None:
        async with open_store(":memory:" if memory else Path(folder) / "team.db") as store:
            for batch in batches:
                await store.journal.append(store.journal.last_seq + 1, batch)
            flat = [one for batch in batches for one in batch]
            records = await store.journal.read(0)

            assert [(r.at_ms, r.kind, r.body, r.run_id, r.task_id, r.agent_id) for r in records] == [
                (r.at_ms, r.kind, r.body, r.run_id, r.task_id, r.agent_id) for r in flat
            ]
            assert [r.seq for r in records] == list(range(1, len(flat) + 1))
            assert store.journal.last_seq == len(flat)

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(appended_and_read, folder)
        assert memory or verify(Path(folder) / "team.db").checked == sum(map(len, batches))


async def test_reading_goes_on_after_a_seq_and_stops_at_the_limit(target: Path) -> None:
    async with open_store(target) as store:
        await store.journal.append(1, [row(str(n)) for n in range(1, 11)])

        assert [r.seq for r in await store.journal.read(3, limit=4)] == [4, 5, 6, 7]
        assert await store.journal.read(10) == []
        assert await store.journal.body(5) == b"5"
        with pytest.raises(NoSuchSeq) as refused:
            await store.journal.body(11)
        assert refused.value.seq == 11


@pytest.mark.parametrize("first_seq", [1, 2, 4, 0])
async def test_a_batch_that_does_not_start_at_the_end_is_refused_and_changes_nothing(
    target: Path, first_seq: int
) -> None:
    async with open_store(target) as store:
        await store.journal.append(1, [row("1"), row("2")])

        with pytest.raises(SeqTaken) as refused:
            await store.journal.append(first_seq, [row("x"), row("y")])
        assert (refused.value.expected, refused.value.last_seq) == (first_seq, 2)
        await store.journal.append(3, [row("3")])
        assert [r.body for r in await store.journal.read(0)] == [b"1", b"2", b"3"]


async def test_a_batch_with_one_bad_row_leaves_no_row(target: Path) -> None:
    async with open_store(target) as store:
        with pytest.raises(ValueError, match="NUL"):
            await store.journal.append(1, [row("1"), row("2", run_id="a\0b")])

        assert store.journal.last_seq == 0
        await store.journal.append(1, [row("1")])
        assert len(await store.journal.read(0)) == 1


async def test_batches_from_two_tasks_never_mix(target: Path) -> None:
    async with open_store(target) as store:

        async def append(name: str) -> None:
            while store.journal.last_seq < 60:
                with contextlib.suppress(SeqTaken):
                    await store.journal.append(store.journal.last_seq + 1, [row(name)] * 3)

        async with anyio.create_task_group() as group:
            group.start_soon(append, "a")
            group.start_soon(append, "b")
        bodies = [r.body for r in await store.journal.read(0)]

        assert bodies[0::3] == bodies[1::3] == bodies[2::3]


async def test_cancelling_an_append_leaves_the_end_of_the_journal_known(target: Path) -> None:
    async with open_store(target) as store:
        for n in range(20):
            with anyio.move_on_after(n * 0.0001):
                await store.journal.append(store.journal.last_seq + 1, [row(str(n))] * 5)
        await store.journal.append(store.journal.last_seq + 1, [row("last")])

        assert store.journal.last_seq == (await store.journal.read(0))[-1].seq
        assert (store.journal.last_seq - 1) % 5 == 0


async def test_an_append_that_is_torn_from_its_loop_is_found_again_by_the_next_one(target: Path) -> None:
    async with open_store(target) as store:
        torn = asyncio.ensure_future(store.journal.append(1, [row("1")]))
        await anyio.lowlevel.checkpoint()
        torn.cancel()
        await asyncio.wait([torn])
        assert torn.cancelled()

        with pytest.raises(SeqTaken) as refused:
            await store.journal.append(1, [row("again")])
        assert refused.value.last_seq == store.journal.last_seq == 1
        await store.journal.append(2, [row("2")])
        assert [r.body for r in await store.journal.read(0)] == [b"1", b"2"]


async def test_a_raised_token_refuses_the_next_append_inside_the_statement(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db") as store:
        await store.journal.append(1, [row("1")])
        raise_token(tmp_path / "team.db")

        with pytest.raises(Deposed) as refused:
            await store.journal.append(2, [row("2")])
        with pytest.raises(Deposed):
            await store.snapshots.save(1, b"{}")
        with pytest.raises(Deposed):
            await store.journal.append(2, [row("2")])
        assert (refused.value.token, refused.value.newer_token) == (1, 2)
        assert [r.body for r in await store.journal.read(0)] == [b"1"]
        assert await store.snapshots.latest() is None


async def test_rows_that_another_writer_added_are_never_written_over(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db") as store:
        await store.journal.append(1, [row("1")])
        with sqlite3.connect(tmp_path / "team.db") as other:
            other.execute("INSERT INTO journal (seq, at_ms, kind, body, hash) VALUES (2, 0, 'k', 'theirs', x'00')")
        other.close()

        with pytest.raises(SeqTaken) as refused:
            await store.journal.append(2, [row("ours")])
        assert refused.value.last_seq == 2
        assert await store.journal.body(2) == b"theirs"


async def test_a_full_disk_loses_nothing_and_the_same_batch_goes_in_once_there_is_room(tmp_path: Path) -> None:
    batch = [row("x" * 20_000)] * 4
    async with open_store(tmp_path / "team.db") as store:
        await store.journal.append(1, [row("first")])
        with files_limited_to(60_000), pytest.raises(DiskFull) as refused:
            await store.journal.append(2, batch)
        assert store.journal.last_seq == 1
        await store.journal.append(2, batch)

    assert refused.value.path == tmp_path / "team.db"
    assert verify(tmp_path / "team.db").checked == 5


async def test_opening_again_goes_on_where_the_journal_ended_with_a_higher_token(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db") as store:
        await store.journal.append(1, [row("1")])
        first = store.file_id, store.token
    async with open_store(tmp_path / "team.db", durability="normal") as store:
        await store.journal.append(2, [row("2")])

        assert (store.file_id, store.token) == (first[0], first[1] + 1)
        assert [r.body for r in await store.journal.read(0)] == [b"1", b"2"]
    assert verify(tmp_path / "team.db").ok


async def test_the_engine_checkpoints_and_nobody_else_does(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db", durability="normal") as store:
        for _ in range(60):
            await store.journal.append(store.journal.last_seq + 1, [row("x" * 4_000)] * 50)

        assert (tmp_path / "team.db-wal").stat().st_size < 8 * 1024 * 1024
        assert (tmp_path / "team.db").stat().st_size > 4 * 1024 * 1024
    with sqlite3.connect(tmp_path / "team.db") as plain:
        assert plain.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    plain.close()


def raise_token(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("UPDATE lease SET token = token + 1")
    other.close()


@contextmanager
def files_limited_to(size_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
