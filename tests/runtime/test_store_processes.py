"""Several processes on one store: one engine at a time, whole batches after a kill, and a tail that keeps up."""

import fcntl
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import Popen

import anyio
import anyio.to_thread
import pytest

from store import CommandRow, EngineInfo, Reader, Row, StoreBusy, Tail, open_store, verify
from store.leadership.lock import acquire
from tests.patience import PATIENCE_S
from tests.runtime.engines import soon

pytestmark = pytest.mark.anyio
Start = Callable[..., "Popen[str]"]

WRITER = """
import sys, anyio
from store import Row, open_store

async def write(path, batches):
    async with open_store(path) as store:
        print(store.token, flush=True)
        while batches:
            batches -= 1
            first = store.journal.last_seq + 1
            await store.journal.append(first, [Row(0, "noted", b'{"n":%d}' % n) for n in range(first, first + 7)])
        print("done", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)

anyio.run(write, sys.argv[1], int(sys.argv[2]))
"""

CLIENT = """
import sys
from store import CommandRow, InboxClient

with InboxClient(sys.argv[1]) as client:
    for n in range(5):
        client.put(CommandRow(f"c{n}", "k", b"{}", "s", "r", n))
assert not {"anyio", "asyncio", "aiosqlite"} & set(sys.modules)
"""


def said(process: "Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def stop(process: "Popen[str]") -> None:
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


async def test_after_kill_9_there_are_only_whole_batches_and_the_next_engine_goes_on(
    tmp_path: Path, started: Start
) -> None:
    path = tmp_path / "team.db"
    last_seq = 0
    for round in range(1, 4):
        writer = started(WRITER, path, 1_000_000)
        assert said(writer) == str(round)
        with Reader(path) as reader:
            while reader.last_seq() < last_seq + 7 * round:
                assert writer.poll() is None
            writer.kill()
            writer.wait()

            assert reader.last_seq() % 7 == 0
            engine = reader.engine()
            assert engine is not None
            assert (engine.pid, engine.alive, engine.ended_ms) == (writer.pid, False, None)
        # A commit that the kill cut short of its acknowledgement may be seen only once the log is recovered.
        walked = verify(path)
        last_seq = walked.checked
        assert walked.ok
        assert last_seq % 7 == 0
    async with open_store(path) as store:
        assert store.token == 4
        await store.journal.append(last_seq + 1, [Row(0, "noted", b"{}")])
    assert verify(path).ok


async def test_an_engine_in_another_process_is_named_with_its_pid(tmp_path: Path, started: Start) -> None:
    holder = started(WRITER, tmp_path / "team.db", 0)
    assert said(holder) == "1"
    with pytest.raises(StoreBusy) as busy:
        async with open_store(tmp_path / "team.db"):
            pass
    with pytest.raises(StoreBusy):
        async with open_store(tmp_path / "team.db", takeover=True):
            pass
    assert busy.value.pid == holder.pid
    holder.communicate("")

    async with open_store(tmp_path / "team.db") as store:
        assert store.token == 2


async def test_takeover_ends_an_engine_that_stands_still_and_no_other(tmp_path: Path, started: Start) -> None:
    path = tmp_path / "team.db"
    holder = started(WRITER, path, 1)
    assert (said(holder), said(holder)) == ("1", "done")
    with Reader(path) as reader:

        async def seen(holds: Callable[[EngineInfo], bool]) -> EngineInfo | None:
            engine = await anyio.to_thread.run_sync(reader.engine)
            return engine if engine is not None and holds(engine) else None

        await soon(lambda: seen(lambda engine: engine.heartbeat_age_ms is not None))
        stop(holder)
        engine = await soon(lambda: seen(lambda engine: engine.hung))
        assert engine is not None
        assert engine.alive
    async with open_store(path, takeover=True) as store:
        assert store.token == 2
        await store.journal.append(8, [Row(0, "noted", b"{}")])

    assert holder.wait() == -signal.SIGKILL
    assert verify(path).checked == 8


async def test_a_tail_in_one_process_sees_every_record_of_another_in_order(tmp_path: Path, started: Start) -> None:
    path = tmp_path / "team.db"
    async with open_store(path):
        pass
    never, seen = threading.Event(), list[int]()

    def follow() -> None:
        for batch in Tail(path, 0).batches(never, limit=50):
            seen.extend(record.seq for record in batch)
            if len(seen) >= 700:
                return

    started(WRITER, path, 100)
    with anyio.fail_after(PATIENCE_S):
        await anyio.to_thread.run_sync(follow)

    assert seen == list(range(1, 701))


async def test_commands_of_another_process_wake_the_engine(tmp_path: Path, started: Start) -> None:
    async with open_store(tmp_path / "team.db") as store, store.inbox.arrivals() as arrivals:
        client = started(CLIENT, tmp_path / "team.db")
        with anyio.fail_after(PATIENCE_S):
            while len(pending := await store.inbox.pending()) < 5:
                await arrivals
        assert pending == [CommandRow(f"c{n}", "k", b"{}", "s", "r", n) for n in range(5)]
        assert await anyio.to_thread.run_sync(client.wait) == 0


KILLED_WHILE_IT_STARTED_A_CHILD = """
import os, signal, sys
from pathlib import Path
from store.leadership.lock import acquire

acquire(Path(sys.argv[1]), Path(sys.argv[2]))
if os.fork():
    os.kill(os.getpid(), signal.SIGKILL)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_lock_that_is_left_over_from_a_killed_engine_is_waited_for(tmp_path: Path, started: Start) -> None:
    lock, path = tmp_path / "team.db-lock", tmp_path / "team.db"
    killed = started(KILLED_WHILE_IT_STARTED_A_CHILD, lock, path)
    assert killed.stdout is not None
    assert killed.stdin is not None
    assert killed.stdout.readline() == "held\n"
    killed.wait()
    with ThreadPoolExecutor() as threads:
        taken = threads.submit(acquire, lock, path, timeout_s=0.0)
        with pytest.raises(TimeoutError):
            taken.result(0.5)
        killed.stdin.close()

        taken.result(PATIENCE_S).release()


def test_a_lock_that_readers_look_at_is_waited_for(tmp_path: Path) -> None:
    lock, path = tmp_path / "team.db-lock", tmp_path / "team.db"
    acquire(lock, path).release()
    looking = os.open(lock, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    with ThreadPoolExecutor() as threads:
        taken = threads.submit(acquire, lock, path, timeout_s=0.0)
        with pytest.raises(TimeoutError):
            taken.result(0.5)
        os.close(looking)

        taken.result(PATIENCE_S).release()
