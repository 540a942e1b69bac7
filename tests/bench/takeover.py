"""How long a team is without an engine when another stands by, each beside the time the system takes to pass a lock on.

The clock runs until the one that takes over says that it takes commands; on the floor, until a bare process says that
it has the lock.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from engine.core.commands import HandOver
from engine.core.encoding.codec import encode_command
from store import CommandRow, InboxClient, Reader, open_store
from tests.bench.measure import Series
from tests.bench.processes import environment
from tests.bench.report import Row

LIMIT_S = 3.0
_FLOOR = "a process blocked on flock says that it has it, after kill -9 of the one that held it"
_BARE = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
print("waits", flush=True)
fcntl.flock(lock, fcntl.LOCK_EX)
print("has it", flush=True)
sys.stdin.read()
"""


def rows(quick: bool) -> Iterable[Row]:
    """Measure, with a leader and one that stands by for each round."""
    rounds = 3 if quick else 10
    with environment() as variables, tempfile.TemporaryDirectory() as folder:
        floor = Series()
        for _ in range(rounds):
            floor.add(_passed_on(Path(folder) / "lock"), 0.0)
        with _pair(Path(folder) / "team.db", variables) as pair:
            pair.kill()
            killed, hung, handed = Series(), Series(), Series()
            for _ in range(rounds):
                killed.add(pair.kill(), 0.0)
                handed.add(pair.hand_over(), 0.0)
            for _ in range(max(2, rounds // 3)):
                hung.add(pair.suspend(), 0.0)
    yield Row(what="takeover after kill -9", took=killed, floor=floor, floor_is=_FLOOR, budget=100.0)
    yield Row(what="hand-over, from the command on", took=handed, floor=floor, floor_is=_FLOOR, budget=300.0)
    yield Row(
        what="takeover of a hung leader, after its limit", took=hung, floor=floor, floor_is=_FLOOR, budget=2_000.0
    )


class _Pair:
    """An engine at work and one that stands by, on one database."""

    def __init__(self, db: Path, variables: dict[str, str]) -> None:
        self._db = db
        self._variables = variables
        self._leader = self._started("engine", "--db", str(db))
        _heard(self._leader, "engine")
        self._standby = self._standing_by()

    def close(self) -> None:
        for process in (self._leader, self._standby):
            _end(process)

    def kill(self) -> float:
        """Return how long it takes, in seconds."""
        began_s = time.perf_counter()
        self._leader.kill()
        return self._after(began_s)

    def hand_over(self) -> float:
        began_s = time.perf_counter()
        with InboxClient(self._db) as inbox:
            row = CommandRow(str(began_s), "hand_over", encode_command(HandOver()), "bench", "operator", 0)
            inbox.put(row)
        return self._after(began_s)

    def suspend(self) -> float:
        """Count from the moment at which nothing was heard of it for `LIMIT_S`."""
        self._leader.send_signal(signal.SIGSTOP)
        with Reader(self._db) as reader:
            engine = reader.engine()
        assert engine is not None
        assert engine.heartbeat_age_ms is not None
        return self._after(time.perf_counter() - engine.heartbeat_age_ms / 1000 + LIMIT_S)

    def _after(self, began_s: float) -> float:
        _heard(self._standby, "engine")
        took_s = time.perf_counter() - began_s
        _end(self._leader)
        self._leader, self._standby = self._standby, self._standing_by()
        return took_s

    def _standing_by(self) -> "subprocess.Popen[str]":
        process = self._started("engine", "--standby", "--takeover-after", str(LIMIT_S), "--db", str(self._db))
        _heard(process, "standby")
        # Let the leader's heart beat and the standby settle, as in a team that runs.
        time.sleep(1.5)
        return process

    def _started(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "dashboard", "--json", *words],
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )


@contextmanager
def _pair(db: Path, variables: dict[str, str]) -> Iterator[_Pair]:
    anyio.run(_made, db)
    pair = _Pair(db, variables)
    try:
        yield pair
    finally:
        pair.close()


async def _made(db: Path) -> None:
    async with open_store(db):
        pass


def _heard(process: "subprocess.Popen[str]", kind: str) -> None:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert json.loads(line)["kind"] == kind


def _passed_on(lock: Path) -> float:
    """Return how long a bare lock takes from a process that is killed to one that waits, in seconds."""
    processes: list[subprocess.Popen[str]] = []
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", _BARE, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        process.stdout.readline()
        if not processes:
            process.stdout.readline()
        processes.append(process)
    first, second = processes
    time.sleep(0.05)
    began_s = time.perf_counter()
    first.kill()
    assert second.stdout is not None
    second.stdout.readline()
    took_s = time.perf_counter() - began_s
    for process in processes:
        _end(process)
    return took_s


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()
