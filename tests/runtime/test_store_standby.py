"""Standing by on a store: who leads next, who sees it, and how an engine learns that the store is another's."""

import gc
import os
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from subprocess import Popen

import anyio
import anyio.to_thread
import pytest

from store import (
    CommandRow,
    Deposed,
    FileLost,
    InboxClient,
    NotItsTurn,
    Reader,
    Row,
    Store,
    StoreBusy,
    open_store,
    stand_by,
    verify,
)
from store.layout.files import Files, create_temporary
from store.leadership.lock import acquire
from store.leadership.standby import LeadershipClaim
from store.leadership.standbys import standbys
from tests.patience import PATIENCE_S
from tests.runtime.engines import soon

pytestmark = pytest.mark.anyio


async def written(store: Store, count: int = 1) -> None:
    await store.journal.append(store.journal.last_seq + 1, [Row(0, "noted", b"{}")] * count)


def deposing(path: Path, token: int) -> LeadershipClaim:
    """Return what a standby has that found the engine with `token` silent for too long."""
    files = Files.of(path)
    brought = create_temporary(files.lock)
    return LeadershipClaim(acquire(brought, path), files.lock, deposed_token=token, replacement=brought)


def beside(path: Path, pattern: str) -> list[Path]:
    return sorted(path.parent.glob(pattern))


async def lost(store: Store) -> Exception | None:
    assert await anyio.to_thread.run_sync(store.lease.wait_until_lost, PATIENCE_S)
    return store.lease.loss


async def test_a_claim_comes_at_once_where_nobody_holds_the_store_and_when_its_holder_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await written(store)
    with anyio.fail_after(PATIENCE_S):
        async with stand_by(path) as first, stand_by(path) as second:
            claim = await first.wait_to_lead()
            async with anyio.create_task_group() as group:
                claims: list[LeadershipClaim] = []

                async def wait() -> None:
                    claims.append(await second.wait_to_lead())

                async with open_store(path, claim=claim) as store:
                    group.start_soon(wait)
                    await written(store)
                    with pytest.raises(StoreBusy):
                        async with open_store(path):
                            pass
                    assert claims == []
            async with open_store(path, claim=claims[0]) as store:
                assert (store.token, store.journal.last_seq) == (3, 2)


async def test_a_standby_waits_for_a_database_that_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    with anyio.fail_after(PATIENCE_S):
        async with stand_by(path) as standby:
            # An engine that dies in its own start leaves a lock file, or an empty one of the database, and no more.
            acquire(Files.of(path).lock, path).release()
            path.touch()
            with anyio.move_on_after(0.05) as early:
                await standby.wait_to_lead()
            async with open_store(path):
                pass
            claim = await standby.wait_to_lead()
            async with open_store(path, claim=claim) as store:
                assert store.token == 2

    assert early.cancelled_caught


async def test_of_two_that_take_over_from_an_engine_that_hangs_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as still:
        await written(still)
        winner, loser = deposing(path, still.token), deposing(path, still.token)
        async with open_store(path, claim=winner) as store:
            with pytest.raises(NotItsTurn):
                async with open_store(path, claim=loser):
                    pass
            with pytest.raises(Deposed):
                await written(still)
            await written(store)
            with pytest.raises(StoreBusy):
                async with open_store(path):
                    pass
            assert isinstance(await lost(still), Deposed)

    assert verify(path).checked == 2
    assert beside(path, "team.db-lock?*") == []


SUSPENDED_INSIDE_A_WRITE = """
import os, signal, sqlite3, sys, anyio
from store import open_store

async def lead(path, file):
    async with open_store(path):
        writer = sqlite3.connect(file, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        os.kill(os.getpid(), signal.SIGSTOP)

anyio.run(lead, sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize("file", ["", "-inbox", "-live"])
async def test_a_leader_suspended_inside_a_write_to_any_file_keeps_nobody_out_of_it(
    tmp_path: Path, started: Callable[..., "Popen[str]"], file: str
) -> None:
    path = tmp_path / "team.db"
    leader = started(SUSPENDED_INSIDE_A_WRITE, path, f"{path}{file}")
    await anyio.to_thread.run_sync(os.waitid, os.P_PID, leader.pid, os.WSTOPPED | os.WNOWAIT)
    async with open_store(path, claim=deposing(path, 1)) as store:
        await written(store)
        with InboxClient(path) as inbox:
            inbox.put(CommandRow("c1", "k", b"{}", "s", "r", 0))
        with Reader(path) as reader:
            assert await soon(partial(beating_token, reader)) == 2

    assert leader.wait() == -signal.SIGKILL


async def beating_token(reader: Reader) -> int | None:
    engine = reader.engine()
    return None if engine is None or engine.heartbeat_age_ms is None else engine.token


async def test_a_lock_that_was_put_out_of_place_gives_no_claim(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path):
        pass
    files = Files.of(path)
    orphaned = LeadershipClaim(acquire(files.lock, path), files.lock)
    files.lock.unlink()
    async with open_store(path) as store:
        with pytest.raises(NotItsTurn):
            async with open_store(path, claim=orphaned):
                pass
        await written(store)

        assert store.token == 2


async def test_a_claim_is_given_up_when_who_has_it_is_cancelled_before_it_opens_the_store(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        claim = deposing(path, store.token)
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with open_store(path, claim=claim):
            pass

    assert not claim.lock.is_in_place(claim.replacement or path)
    assert beside(path, "*-new-*") == []


async def test_who_stands_by_is_seen_until_it_does_no_more(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    left_over = tmp_path / "team.db-standby-00000000"
    left_over.write_text("1 2 3 x\n")
    async with stand_by(path), stand_by(path):
        seen = standbys(path)
        async with open_store(path):
            pass
        with Reader(path) as reader:
            waiting = reader.standbys()

    assert len(waiting) == 2
    assert [each.pid for each in seen] == [os.getpid()] * 2
    assert not any(each.hung for each in seen)
    assert standbys(path) == []
    assert beside(path, "*standby*") == []


async def test_an_engine_with_nothing_to_write_learns_that_another_took_over(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as idle:
        (tmp_path / "team.db-lock").unlink()
        async with open_store(path):
            found = await lost(idle)

    assert isinstance(found, Deposed)
    assert (found.token, found.newer_token) == (1, 2)


async def test_an_engine_learns_that_its_file_is_gone_and_harms_none_that_stands_there_now(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as old:
        await written(old)
        for file in beside(path, "team.db*"):
            file.unlink()
        found = await lost(old)
        new = open_store(path)
        store = await new.__aenter__()
        await written(store, 5)
    with Reader(path) as reader:
        kept = reader.last_seq()
    await new.__aexit__(None, None, None)

    assert isinstance(found, FileLost)
    assert kept == 5
    assert verify(path).checked == 5


async def test_an_engine_that_lost_its_file_and_is_gone_leaves_the_log_of_the_next_one_alone(tmp_path: Path) -> None:
    path = tmp_path / "team.db"

    async def replaced() -> None:
        async with open_store(path) as old:
            await written(old)
            for file in beside(path, "team.db*"):
                file.unlink()
            assert isinstance(await lost(old), FileLost)
            await stack.enter_async_context(open_store(path))
            await soon(anyio.Path(f"{path}-live-wal").exists)

    async with AsyncExitStack() as stack:
        await replaced()
        gc.collect()

        assert await anyio.Path(f"{path}-live-wal").exists()
