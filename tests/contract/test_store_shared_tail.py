"""One thread follows a file for all of a process: each follower gets every record once and in order."""

import queue
import sqlite3
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import FileLost, Following, HashedRow, ReadRowsLost, Record, Row, follow, open_store
from tests.patience import PATIENCE_S


class Listener:
    """Takes what a tail tells, and passes it to the thread of the test."""

    def __init__(self, path: Path, after_seq: int, *, mark: HashedRow | None = None) -> None:
        self.room = True
        self.broken = False
        self.records: list[Record] = []
        self.threads: set[threading.Thread] = set()
        self._levels: queue.Queue[int] = queue.Queue()
        self._ends: queue.Queue[Exception | None] = queue.Queue()
        self.following: Following = follow(path, after_seq, self, mark=mark)

    def has_room(self) -> bool:
        return self.room

    def take(self, records: list[Record]) -> None:
        self.threads.add(threading.current_thread())
        if self.broken:
            raise LookupError("a follower of its own")
        self.records += records

    def reach(self, ticket: int) -> None:
        self._levels.put(ticket)

    def end(self, error: Exception | None) -> None:
        self._ends.put(error)

    async def seqs(self) -> list[int]:
        """Return what it has of all that stands in the file now."""
        ticket = self.following.request_ticket()
        assert ticket is not None
        assert await anyio.to_thread.run_sync(self._levels.get, True, PATIENCE_S) == ticket
        return [record.seq for record in self.records]

    async def ended(self) -> Exception | None:
        return await anyio.to_thread.run_sync(self._ends.get, True, PATIENCE_S)


def rows(count: int) -> list[Row]:
    return [Row(0, "noted", b"{}") for _ in range(count)]


@settings(max_examples=10)
@given(st.lists(st.tuples(st.integers(0, 700), st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_every_follower_gets_every_record_once_and_in_order(steps: list[tuple[int, bool, bool]]) -> None:
    """Each step appends records; a follower joins before some, and the oldest leaves after some."""

    async def main(path: Path) -> None:
        here: list[tuple[int, Listener]] = []
        async with open_store(path) as store:
            for count, joins, leaves in steps:
                if joins or not here:
                    after_seq = store.journal.last_seq // 2
                    here.append((after_seq, Listener(path, after_seq)))
                await store.journal.append(store.journal.last_seq + 1, rows(count))
                if leaves:
                    here.pop(0)[1].following.leave()
                for after_seq, listener in here:
                    assert await listener.seqs() == list(range(after_seq + 1, store.journal.last_seq + 1))
        for _, listener in here:
            listener.following.leave()
        # Its thread closes the file when nobody is left: until then the folder cannot be removed reliably.
        for thread in [one for one in threading.enumerate() if one.name == "follow team.db"]:
            await anyio.to_thread.run_sync(thread.join, PATIENCE_S)
            assert not thread.is_alive()

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, Path(folder) / "team.db")


@pytest.mark.anyio
async def test_all_who_follow_a_file_share_one_thread(tmp_path: Path) -> None:
    path, link = tmp_path / "team.db", tmp_path / "link.db"
    async with open_store(path) as store:
        link.symlink_to(path)
        listeners = [Listener(path, 0), Listener(path, 0), Listener(link, 0)]
        await store.journal.append(1, rows(3))
        assert [await one.seqs() for one in listeners] == [[1, 2, 3]] * 3
        for one in listeners:
            one.following.leave()

    assert len({thread for one in listeners for thread in one.threads}) == 1


@pytest.mark.anyio
async def test_a_follower_without_room_holds_nobody_up_and_gets_the_rest_later(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        slow, quick = Listener(path, 0), Listener(path, 0)
        slow.room = False
        await store.journal.append(1, rows(3))
        assert await quick.seqs() == [1, 2, 3]
        assert slow.records == []
        slow.room = True
        assert await slow.seqs() == [1, 2, 3]
        slow.following.leave()
        quick.following.leave()


@pytest.mark.anyio
async def test_a_follower_that_raises_ends_alone(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        broken, sound = Listener(path, 0), Listener(path, 0)
        broken.broken = True
        await store.journal.append(1, rows(1))

        assert isinstance(await broken.ended(), LookupError)
        assert await sound.seqs() == [1]
        sound.following.leave()


@pytest.mark.anyio
async def test_following_ends_when_no_engine_holds_the_file_after_all_was_handed_over(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await store.journal.append(1, rows(3))
    listener = Listener(path, 0)

    assert await listener.ended() is None
    assert [record.seq for record in listener.records] == [1, 2, 3]
    assert listener.following.request_ticket() is None


@pytest.mark.anyio
async def test_following_ends_with_what_became_of_a_file_that_was_replaced(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path):
        listener = Listener(path, 0)
        await listener.seqs()
        path.rename(tmp_path / "elsewhere.db")
        error = await listener.ended()
        (tmp_path / "elsewhere.db").rename(path)

    assert isinstance(error, FileLost)


@pytest.mark.anyio
async def test_who_follows_again_is_told_of_lost_rows_that_others_have_replaced_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await store.journal.append(1, rows(3))
        listener = Listener(path, 0)
        assert await listener.seqs() == [1, 2, 3]
        listener.following.leave()
        mark = listener.following.mark
    with closing(sqlite3.connect(path)) as other:
        other.execute("DELETE FROM journal WHERE seq > 2")
        other.commit()
    async with open_store(path, accept_loss=1) as store:
        await store.journal.append(3, [Row(1, "another", b"{}") for _ in range(3)])
        new = Listener(path, 0)
        assert await new.seqs() == [1, 2, 3, 4, 5]
        late = Listener(path, 3, mark=mark)  # while nothing happens in the file

        assert isinstance(await late.ended(), ReadRowsLost)
        assert late.following.request_ticket() is None
        assert late.records == []


@pytest.mark.anyio
async def test_following_ends_when_the_file_has_lost_what_was_handed_over(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await store.journal.append(1, rows(3))
        listener = Listener(path, 0)
        assert await listener.seqs() == [1, 2, 3]
        with closing(sqlite3.connect(path)) as other:
            other.execute("DELETE FROM journal WHERE seq = 3")
            other.commit()
        error = await listener.ended()
        late = Listener(path, 3)

        assert isinstance(error, ReadRowsLost)
        assert isinstance(await late.ended(), ReadRowsLost)
