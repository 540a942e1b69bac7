"""Readers: every page is what the filters say, nothing is held, and a dead or guarded file can still be read."""

import json
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import (
    EngineInfo,
    InboxClient,
    NoPermission,
    NoSuchSeq,
    NotOurFile,
    Reader,
    ReadOnlyFolder,
    ReadRowsLost,
    Record,
    Row,
    Tail,
    open_store,
)
from store.journals.records import record_hash
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

KINDS = ["task_assigned", "task_failed", "noted"]
BODIES = ['{"text":"100% sure"}', '{"text":"Under_score"}', '{"text":"quote \\"this\\" é"}', "{}"]


def varied(n: int) -> Row:
    return Row(
        n,
        KINDS[n % 3],
        BODIES[n % 4].encode(),
        None if n % 5 == 0 else f"r{n % 2}",
        None if n % 7 == 0 else f"t{n % 4}",
        f"a{n % 3}",
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with 60 varied records and no engine."""
    path = tmp_path_factory.mktemp("filled") / "team.db"

    async def fill() -> None:
        async with open_store(path) as store:
            await store.journal.append(1, [varied(n) for n in range(1, 61)])

    anyio.run(fill)
    return path


def wanted(record: Record, filters: dict[str, object]) -> bool:
    def meets(name: str, value: Any) -> bool:
        if name == "kinds":
            return record.kind in value
        if name == "contains":
            return value.lower() in json.loads(record.body).get("text", "").lower()
        if name == "value":
            return value.lower() in [str(one).lower() for one in json.loads(record.body).values()]
        return bool(getattr(record, name) == value)

    return all(meets(name, value) for name, value in filters.items() if value is not None)


filters = st.fixed_dictionaries(
    {},
    optional={
        "kinds": st.none() | st.lists(st.sampled_from([*KINDS, "else"])),
        "run_id": st.sampled_from([None, "r0", "r1", "none"]),
        "task_id": st.sampled_from([None, "t0", "t3"]),
        "agent_id": st.sampled_from([None, "a0", "a2"]),
        "value": st.sampled_from([None, *(json.loads(body).get("text") for body in BODIES), "nowhere", "s"]),
        "contains": st.sampled_from([None, "%", "_", "SURE", '"this" é', "nowhere", "\\", "'"]),
    },
)


@given(filters, st.integers(0, 65), st.integers(1, 70))
def test_a_page_holds_the_nearest_records_that_meet_every_condition(
    filled: Path, filters: dict[str, object], seq: int, limit: int
) -> None:
    with Reader(filled) as reader:
        every = reader.records(0)
        after = [r for r in every if r.seq > seq and wanted(r, filters)]
        before = [r for r in every if r.seq < seq and wanted(r, filters)]

        assert reader.records(seq, limit, **filters) == after[:limit]  # type: ignore[arg-type]
        assert reader.records_before(seq, limit, **filters) == before[-limit:]  # type: ignore[arg-type]
        later = [r for r in before if r.seq > seq // 2]
        assert reader.records_before(seq, limit, after_seq=seq // 2, **filters) == later[-limit:]  # type: ignore[arg-type]


@given(
    st.sets(st.sampled_from([*KINDS, "else"])), st.sets(st.sampled_from(KINDS)), st.integers(0, 65), st.integers(1, 70)
)
def test_outlines_are_records_without_most_bodies(
    filled: Path, kinds: set[str], bodied: set[str], seq: int, limit: int
) -> None:
    with Reader(filled) as reader:
        after = reader.records(seq, limit, kinds=sorted(kinds))

        found = reader.outlines(seq, limit, kinds=kinds, bodies_of=bodied)

        assert found == [replace(one, body=one.body if one.kind in bodied else b"") for one in after]


def test_single_records_and_bodies_are_found_by_seq(filled: Path) -> None:
    with Reader(filled) as reader:
        assert (reader.first_seq(), reader.last_seq()) == (1, 60)
        assert reader.record(7).body == varied(7).body
        assert reader.bodies([3, 61, 4]) == {3: varied(3).body, 4: varied(4).body}
        with pytest.raises(NoSuchSeq):
            reader.record(61)
        assert reader.size_bytes() >= filled.stat().st_size


def test_the_page_of_a_run_is_read_by_its_index_in_order(filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as plain:
        plan = plain.execute(
            "EXPLAIN QUERY PLAN SELECT * FROM journal WHERE seq > 5 AND run_id = 'r1' ORDER BY seq LIMIT 9"
        ).fetchall()

    assert len(plan) == 1
    assert "journal_run" in plan[0][3]


async def test_changed_tells_of_every_commit_once(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db") as store:
        with Reader(tmp_path / "team.db") as reader:
            assert not reader.has_changed()
            await store.journal.append(1, [varied(1)])

            assert reader.has_changed()
            assert not reader.has_changed()
            assert reader.last_seq() == 1


async def test_a_reader_outlives_the_engine_and_sees_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await store.journal.append(1, [varied(1)])
        reader = Reader(path)
    with reader:
        ended = reader.engine()
        async with open_store(path) as store:
            await store.journal.append(2, [varied(2)])
            running = reader.engine()

            assert reader.has_changed()
            assert [r.seq for r in reader.records(0)] == [1, 2]
    assert isinstance(ended, EngineInfo)
    assert isinstance(running, EngineInfo)
    assert (ended.alive, ended.token, ended.ended_ms is None) == (False, 1, False)
    assert (running.alive, running.token, running.pid, running.ended_ms) == (True, 2, os.getpid(), None)


async def test_live_text_and_the_turn_of_the_loop_reach_readers(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        tomorrow_ms = time.time_ns() // 1_000_000 + 86_400_000
        store.lease.tick(tomorrow_ms)
        store.live.put("task-1", "thinking")
        store.live.put("task-2", "é" * 10_000)
        with Reader(path) as reader:
            with anyio.fail_after(PATIENCE_S):
                while len(seen := await anyio.to_thread.run_sync(reader.live)) < 2:
                    store.live.put("task-1", "thinking more")
                while (engine := await anyio.to_thread.run_sync(reader.engine)) is None or engine.heard_ms is None:
                    await anyio.lowlevel.checkpoint()
            assert seen["task-1"].startswith("thinking")
            assert engine.heartbeat_age_ms is not None
            assert engine.heartbeat_age_ms < 3_000
            assert not engine.hung
            assert engine.heard_ms >= tomorrow_ms
            assert abs(engine.ahead_ms - 86_400_000) < 10_000
            store.live.put("task-1", "")
            with anyio.fail_after(PATIENCE_S):
                while "task-1" in await anyio.to_thread.run_sync(reader.live):
                    await anyio.lowlevel.checkpoint()
            assert store.live.texts() == {"task-2": "é" * 10_000}
    with Reader(path) as reader:
        ended = reader.engine()
    assert ended is not None
    assert ended.heard_ms is not None
    assert ended.heard_ms >= tomorrow_ms


async def test_text_of_an_engine_that_ended_is_gone_for_the_next(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        store.live.put("task-1", "half a sent")
    with Reader(path) as reader:
        assert reader.live() == {"task-1": "half a sent"}
        async with open_store(path) as store:
            store.live.put("task-9", "new")
            with anyio.fail_after(PATIENCE_S):
                while "task-9" not in (seen := await anyio.to_thread.run_sync(reader.live)):
                    await anyio.lowlevel.checkpoint()

    assert seen == {"task-9": "new"}


def test_a_tail_stops_when_it_is_told(filled: Path) -> None:
    stop, tail = threading.Event(), Tail(filled, 50)
    seen = []
    for batch in tail.batches(stop, limit=4):
        seen += [r.seq for r in batch]
        if len(seen) == 10:
            stop.set()

    assert seen == list(range(51, 61))
    assert tail.after_seq == 60


@pytest.mark.parametrize("after", [[], ["another", "and one more"]])
async def test_a_tail_says_that_what_it_handed_out_is_lost_also_where_other_rows_stand_there(
    after: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await store.journal.append(1, [varied(n) for n in range(1, 5)])
    batches = Tail(path, 0).batches(threading.Event())
    assert [record.seq for record in next(batches)] == [1, 2, 3, 4]
    with closing(sqlite3.connect(path)) as other:
        other.execute("DELETE FROM journal WHERE seq > 3")
        for seq, kind in enumerate(after, 4):
            row = (seq, seq, kind, record_hash(b"", seq, Row(seq, kind, b"{}")))
            other.execute("INSERT INTO journal (seq, at_ms, kind, body, hash) VALUES (?, ?, ?, '{}', ?)", row)
        other.commit()

    with pytest.raises(ReadRowsLost, match="event 4 among them"):
        next(batches)
    with pytest.raises(ReadRowsLost, match="event 99 among them"):
        next(Tail(path, 99).batches(threading.Event()))


async def test_no_reader_keeps_the_log_from_being_taken_in(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path, durability="normal") as store:
        with Reader(path) as reader:
            for _ in range(40):
                await store.journal.append(store.journal.last_seq + 1, [Row(0, "k", b"x" * 4_000)] * 50)
                assert reader.records_before(store.journal.last_seq + 1, 5)

        assert (tmp_path / "team.db-wal").stat().st_size < 8 * 1024 * 1024


@pytest.fixture
def anybodys() -> Iterator[Path]:
    """A folder that every user may enter and write, wherever the tests run."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)
        Path(folder).chmod(0o777)


@contextmanager
def plain_user() -> Iterator[None]:
    """Act as somebody whom file modes stop, also where the tests run as root."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def guard(path: Path, *, also: Collection[str] = ()) -> None:
    """Leave of a store the database (and what is named), and let nobody write there."""
    for each in path.parent.iterdir():
        if each != path and each.name not in also:
            each.unlink()
        else:
            each.chmod(0o444)
    path.parent.chmod(0o555)


def close_to_writers(folder: Path) -> None:
    folder.chmod(0o755)


def unguard(path: Path) -> None:
    path.parent.chmod(0o777)
    path.chmod(0o644)


async def test_a_dead_file_in_a_read_only_folder_can_be_read_but_not_run(anybodys: Path) -> None:
    path = anybodys / "team.db"
    async with open_store(path) as store:
        await store.journal.append(1, [varied(1)])
    guard(path)
    with plain_user():
        with Reader(path) as reader:
            assert reader.last_seq() == 1
            assert not reader.has_changed()
            engine = reader.engine()
        with pytest.raises(ReadOnlyFolder) as refused:
            async with open_store(path):
                pass

    assert engine is not None
    assert not engine.alive
    assert refused.value.path == anybodys


async def test_a_reader_of_a_dead_file_notices_that_an_engine_came(anybodys: Path) -> None:
    path = anybodys / "team.db"
    async with open_store(path):
        pass
    guard(path)
    with plain_user():
        reader = Reader(path)
    with reader:
        unguard(path)
        async with open_store(path) as store:
            await store.journal.append(1, [varied(1)])

            assert reader.has_changed()
            assert reader.last_seq() == 1


async def test_a_log_that_cannot_be_shared_is_said_and_not_ignored(anybodys: Path) -> None:
    path = anybodys / "team.db"
    async with open_store(path) as store:
        await store.journal.append(1, [varied(1)])
        log = (anybodys / "team.db-wal").read_bytes()
    (anybodys / "team.db-wal").write_bytes(log)
    guard(path, also=["team.db-wal"])

    with plain_user(), pytest.raises(ReadOnlyFolder):
        Reader(path)


async def test_a_log_that_may_not_be_read_is_named(anybodys: Path) -> None:
    path, log = anybodys / "team.db", anybodys / "team.db-wal"
    async with open_store(path) as store:
        await store.journal.append(1, [varied(1)])
        path.chmod(0o644)
        log.chmod(0o000)

        with plain_user(), pytest.raises(NoPermission) as refused:
            Reader(path)

    assert refused.value.path == log


async def test_modes_are_the_roles(anybodys: Path) -> None:
    path = anybodys / "team.db"
    async with open_store(path):
        pass
    for each in (path, anybodys / "team.db-inbox"):
        each.chmod(0o000)  # the tests own the files: mode 0600 would let them read
    with plain_user():
        with pytest.raises(NoPermission) as refused:
            Reader(path)
        assert refused.value.path == path
        with pytest.raises(NoPermission):
            async with open_store(path):
                pass
    path.chmod(0o644)
    with plain_user(), Reader(path) as reader, InboxClient(path) as client:
        assert reader.last_seq() == 0
        with pytest.raises(NoPermission) as refused:
            client.pending()
    assert refused.value.path == anybodys / "team.db-inbox"


async def test_a_viewer_who_may_only_read_follows_a_running_engine(anybodys: Path) -> None:
    path = anybodys / "team.db"
    async with open_store(path):
        pass
    path.chmod(0o644)
    async with open_store(path) as store:
        await store.journal.append(1, [varied(1)])
        close_to_writers(anybodys)
        with plain_user(), Reader(path) as reader:
            assert reader.last_seq() == 1
            await store.journal.append(2, [varied(2)])
            assert reader.has_changed()
            assert reader.last_seq() == 2
            engine = reader.engine()

    assert engine is not None
    assert (engine.alive, engine.pid) == (True, os.getpid())


async def test_a_folder_that_may_not_be_entered_is_said(anybodys: Path) -> None:
    (anybodys / "closed").mkdir(mode=0o000)
    with plain_user():
        for attempt in (Reader, InboxClient):
            with pytest.raises(NoPermission):
                attempt(anybodys / "closed" / "team.db")
        with pytest.raises(NoPermission):
            async with open_store(anybodys / "closed" / "team.db"):
                pass


def test_a_path_that_the_system_makes_up_is_refused() -> None:
    with pytest.raises(NotOurFile):
        Reader("/dev/null")
