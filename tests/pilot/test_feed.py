"""What the dashboard says about its file: newer, damaged, replaced, gone."""

import sqlite3
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import pytest

from dashboard.app.app import QuarterdeckApp
from dashboard.reading.feed import MAX_EARLIER_BYTES, MAX_PAGE_BYTES, Feed, entries_before
from dashboard.views.words.names import Names
from engine.core.commands import Pause
from engine.core.encoding.codec import encode_state
from engine.core.state import State
from engine.host.batch import row_of
from store import Reader, Record, Row, open_store
from tests.bench.histories import mapped, succeed
from tests.patience import PATIENCE_S
from tests.pilot.engines import until
from tests.pilot.hand import Hand, Ordering
from tests.pilot.scene import NOW_MS, StillFeed, audit, write, written
from tests.world import World, agent, team_world


def advanced(feed: Feed, until: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < deadline, feed.trouble
        feed.advance()
        time.sleep(0.01)


def emptied(folder: Path) -> None:
    for path in [*folder.iterdir()]:
        path.unlink()


def with_snapshot(path: Path, work: World) -> Feed:
    """Return a feed that has read a file whose snapshot is its newest event."""

    async def write() -> None:
        async with open_store(path) as store:
            await store.journal.append(1, [row_of(event) for event in work.journal])
            await store.snapshots.save(work.state.seq, encode_state(work.state))

    anyio.run(write)
    feed = Feed(path)
    feed.start()
    advanced(feed, lambda: feed.state.seq == work.state.seq and len(feed.recent) > 0)
    feed.stop()
    return feed


@pytest.fixture
def work() -> World:
    return audit()


def test_reading_gives_way_to_a_key_and_goes_on_though_keys_never_end(tmp_path: Path, work: World) -> None:
    feed, asked = Feed(written(tmp_path / "team.db", work)), list[str]()

    def is_answering() -> bool:
        asked.append(threading.current_thread().name)
        return True

    feed.is_answering = is_answering
    feed.start()
    advanced(feed, lambda: feed.state.seq == work.state.seq and feed.has_polled)
    feed.stop()

    assert {"feed-follow", "feed-poll"} <= {*asked}


def test_a_feed_folds_to_the_state_that_was_decided_on(tmp_path: Path, work: World) -> None:
    feed = Feed(written(tmp_path / "team.db", work))
    feed.start()
    advanced(feed, lambda: feed.state.seq == work.state.seq)
    feed.stop()

    assert encode_state(feed.state) == encode_state(work.state)
    assert feed.trouble is None
    assert [entry.seq for entry in feed.recent] == list(range(1, work.state.seq + 1))


@pytest.mark.anyio
async def test_an_action_says_that_a_file_is_still_read_rather_than_that_nothing_is_there(
    tmp_path: Path, work: World
) -> None:
    db = await anyio.to_thread.run_sync(written, tmp_path / "team.db", work)
    feed = StillFeed(db, work)
    feed.state = State()
    app = Ordering(db, feed=feed, clock=lambda: NOW_MS)
    async with app.run_test() as pilot:
        hand = Hand(app, pilot, work, [NOW_MS])
        for key in ("N", "h"):
            await hand.press(key)
            assert hand.said.startswith("the file is still being read"), key


def test_nothing_of_long_ago_is_shown_while_a_file_is_opened(tmp_path: Path, work: World) -> None:
    feed = Feed(written(tmp_path / "team.db", work))
    app = QuarterdeckApp(feed.path, feed=feed)
    assert (app.view.situation.opening, len(app.view.state.agents)) == (True, 0)
    feed.start()
    seen = []

    def opened() -> bool:
        view = app._make_view()
        seen.append((view.situation.opening, view.state.seq))
        return not view.situation.opening

    advanced(feed, opened)
    feed.stop()

    assert {seq for opening, seq in seen if opening} <= {0}
    assert seen[-1] == (False, work.state.seq)


def test_a_feed_begins_at_the_newest_snapshot_and_knows_what_came_just_before(tmp_path: Path, work: World) -> None:
    feed = with_snapshot(tmp_path / "team.db", work)

    assert encode_state(feed.state) == encode_state(work.state)
    assert [one.seq for one in feed.recent] == list(range(1, work.state.seq + 1))


def test_events_before_the_snapshot_are_read_up_to_a_number_of_bytes(tmp_path: Path) -> None:
    history = mapped(tasks=9_000)
    work = history.world
    for key in islice(history.workers(), 20):
        succeed(work, key)
    rows = [row_of(event) for event in work.journal]
    large = next(seq for seq, row in enumerate(rows, 1) if len(row.body) > MAX_EARLIER_BYTES)

    feed = with_snapshot(tmp_path / "team.db", work)

    assert [one.seq for one in feed.recent] == list(range(large + 1, len(rows) + 1))


class Counting(Reader):
    """A reader that knows how many bytes of bodies it had in memory at once."""

    most_bytes = 0

    def records_before(self, seq: int, limit: int = 500, **conditions: Any) -> list[Record]:
        found = super().records_before(seq, limit, **conditions)
        self.most_bytes = max(self.most_bytes, sum(len(one.body) for one in found))
        return found


def test_events_that_are_read_a_few_at_a_time_are_those_that_are_read_at_once(tmp_path: Path) -> None:
    history = mapped(tasks=300)
    for key in islice(history.workers(), 150):
        succeed(history.world, key)
    path, ends = tmp_path / "team.db", ("attempt_started", "attempt_done")
    with_snapshot(path, history.world)

    with Reader(path) as reader:
        last = reader.last_seq()
        for most, after_seq, kinds in ((10_000, 0, ends), (250, 0, ends), (200, 0, None), (10_000, last - 30, ends)):
            found = entries_before(reader, last + 1, most, Names(), after_seq=after_seq, kinds=kinds)
            records = reader.records_before(last + 1, most, after_seq=after_seq, kinds=kinds)
            assert [one.seq for one in found] == [one.seq for one in records]
            assert len(found) > 0


def test_a_few_large_events_are_in_memory_at_once(tmp_path: Path) -> None:
    history = mapped(tasks=60)
    for key in islice(history.workers(), 60):
        history.world.succeed(key, "x" * 1_000_000)
    with_snapshot(tmp_path / "team.db", history.world)

    with Counting(tmp_path / "team.db") as reader:
        assert isinstance(reader, Counting)
        found = entries_before(reader, reader.last_seq() + 1, 1_000, Names(), kinds=("attempt_done",))

    assert len(found) == 60
    assert reader.most_bytes <= MAX_PAGE_BYTES + 1_000_000


def test_a_slice_of_time_folds_only_a_part(tmp_path: Path, work: World) -> None:
    feed = Feed(written(tmp_path / "team.db", work))
    feed.start()
    advanced(feed, lambda: feed.file_seq)

    assert feed.advance(0.0) is False

    feed.stop()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (Row(1, "agent_painted", b"{}"), "does not know; update quarterdeck"),
        (Row(1, "task_failed", b'{"type": "task_failed"}'), "the journal cannot be folded at seq 76"),
        (
            Row(1, "retry_due", b'{"type": "retry_due", "at_ms": 1, "run_id": "r9", "task_id": "t999"}'),
            "the journal cannot be folded at seq 76",
        ),
    ],
)
def test_what_cannot_be_folded_is_one_clear_line(tmp_path: Path, work: World, row: Row, said: str) -> None:
    db = written(tmp_path / "team.db", work)

    async def write() -> None:
        async with open_store(db) as store:
            await store.journal.append(work.state.seq + 1, [row])

    anyio.run(write)
    feed = Feed(db)
    feed.start()
    advanced(feed, lambda: feed.trouble)
    feed.stop()

    assert said in (feed.trouble or "")
    assert "\n" not in (feed.trouble or "")


def test_a_file_that_is_replaced_is_said(tmp_path: Path, work: World) -> None:
    db = written(tmp_path / "team.db", work)
    feed = Feed(db)
    feed.start()
    advanced(feed, lambda: feed.state.seq == work.state.seq)
    db.rename(tmp_path / "old.db")
    written(db, audit())
    advanced(feed, lambda: feed.trouble)
    feed.stop()

    assert "was replaced by another file" in (feed.trouble or "") or "deleted or moved away" in (feed.trouble or "")


def test_a_file_that_lost_events_is_said(tmp_path: Path, work: World) -> None:
    feed = Feed(written(tmp_path / "team.db", work))
    feed.start()
    advanced(feed, lambda: feed.state.seq == work.state.seq and feed.has_polled)
    with sqlite3.connect(feed.path) as other:
        other.execute("DELETE FROM journal WHERE seq > 5")
    other.close()
    advanced(feed, lambda: feed.trouble)
    feed.stop()

    assert f"has lost events that were read from it, event {work.state.seq} among them" in (feed.trouble or "")
    assert "open it again; the screen shows an earlier state" in (feed.trouble or "")


def test_a_file_that_is_deleted_is_said_and_its_last_state_stays(tmp_path: Path, work: World) -> None:
    db = written(tmp_path / "team.db", work)
    feed = Feed(db)
    feed.start()
    advanced(feed, lambda: feed.state.seq == work.state.seq)
    emptied(tmp_path)
    advanced(feed, lambda: feed.trouble)
    feed.stop()

    assert "was deleted or moved away" in (feed.trouble or "")
    assert feed.state.agents


@pytest.fixture
def app(messages_stay: None, tmp_path: Path, work: World) -> QuarterdeckApp:
    return QuarterdeckApp(written(tmp_path / "team.db", work))


@pytest.mark.anyio
async def test_no_engine_is_started_on_a_file_that_is_gone(app: QuarterdeckApp) -> None:
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.feed.has_polled)
        app.path.unlink()
        await until(pilot, lambda: app.view.situation.trouble)
        await pilot.press("E")
        await pilot.pause()

        assert not app.screen.is_modal
        assert app.messages.current is not None
        assert "was deleted or moved away" in app.messages.current.text


@pytest.mark.anyio
async def test_nothing_is_changed_in_a_file_that_lost_events(app: QuarterdeckApp, work: World) -> None:
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.feed.state.seq == work.state.seq and app.feed.has_polled)
        with sqlite3.connect(app.path) as other:
            other.execute("DELETE FROM journal WHERE seq > 5")
        other.close()
        await until(pilot, lambda: app.view.situation.trouble)
        await pilot.press("z")
        await pilot.pause()

        assert app.messages.current is not None
        assert app.messages.current.text.startswith("refused: ")
        assert "has lost events that were read from it" in app.messages.current.text


@pytest.mark.anyio
async def test_what_the_banner_says_of_the_file_is_not_repeated_by_each_read(app: QuarterdeckApp) -> None:
    failed: list[str] = []
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.feed.has_polled)
        app.path.unlink()
        await until(pilot, lambda: app.view.situation.trouble)
        app.messages.say("answered")
        app.background.read(
            lambda reader: reader.last_seq(), lambda _: None, on_failure=lambda: failed.append("failed")
        )
        await until(pilot, lambda: failed)

        assert app.messages.current is not None
        assert app.messages.current.text == "answered"


def test_an_engine_that_ended_is_known(tmp_path: Path, work: World) -> None:
    feed = Feed(written(tmp_path / "team.db", work))
    feed.start()
    advanced(feed, lambda: feed.has_polled)
    feed.stop()

    assert feed.engine is not None
    assert not feed.engine.alive


def test_a_reader_never_writes(tmp_path: Path, work: World) -> None:
    db = written(tmp_path / "team.db", work)
    with sqlite3.connect(db) as connection:
        before = connection.total_changes, connection.execute("SELECT count(*) FROM journal").fetchone()
    connection.close()
    feed = Feed(db)
    feed.start()
    advanced(feed, lambda: feed.state.seq == work.state.seq)
    feed.stop()

    with sqlite3.connect(db) as connection:
        assert (connection.total_changes, connection.execute("SELECT count(*) FROM journal").fetchone()) == before
    connection.close()


@pytest.mark.anyio
async def test_another_team_that_took_the_place_of_the_file_is_neither_shown_nor_changed(
    app: QuarterdeckApp, tmp_path: Path
) -> None:
    async with app.run_test() as pilot:
        await until(pilot, lambda: app.feed.has_polled and app.view.state.agents)
        emptied(tmp_path)
        await write(app.path, team_world(agent("ada")))
        await until(pilot, lambda: app.view.situation.trouble)
        app.commands.send(Pause(target="@a1"))
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: app.past.playback.trouble)
        app.flush()

        assert len(app.view.state.agents) > 1
        assert app.messages.current is not None
        assert app.messages.current.text.startswith("refused: the file was ")
        inbox = tmp_path / "team.db-inbox"
        with sqlite3.connect(f"file:{inbox}?mode=ro", uri=True) as commands:
            assert commands.execute("SELECT count(*) FROM commands").fetchone() == (0,)
        commands.close()
