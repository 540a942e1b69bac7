"""A journal that ends before what was acknowledged: said by everybody, and begun on only where somebody accepts it."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from subprocess import Popen

import pytest

from dashboard.cli import main
from dashboard.engines.process import start_engine
from engine.core.commands import Ping
from engine.core.events import EngineStarted
from engine.reading.folding import events_of
from engine.supervisor.client import Client
from quarterdeck import AgentSpec, DynamicSupervisor
from store import Durability, Reader, Row, RowsLost, find_loss, open_store, verify
from store.layout.file_check import open_checked
from store.layout.files import Files
from store.layout.migrations import LIVE
from tests.patience import PATIENCE_S
from tests.runtime.shell import Run, shell_on

pytestmark = pytest.mark.anyio
Start = Callable[..., "Popen[str]"]

BATCHES = 40
WRITER = """
import sys, anyio
from store import Row, open_store

async def write(path, durability, batches):
    async with open_store(path, durability=durability) as store:
        for seq in range(1, batches + 1):
            await store.journal.append(seq, [Row(0, "noted", b'{"n":%d}' % seq)])
        print("done", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)

anyio.run(write, sys.argv[1], sys.argv[2], int(sys.argv[3]))
"""


def marked_seq(path: Path) -> int:
    """Return the seq that the live file says was acknowledged."""
    connection, _ = open_checked(Files.of(path).live, LIVE)
    with closing(connection):
        found = connection.execute("SELECT seq FROM mark").fetchone()
    return 0 if found is None else int(found[0])


def wait(holds: Callable[[], bool]) -> None:
    tick, until_s = threading.Event(), time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until_s, "it did not happen"
        tick.wait(0.01)


def tear(path: Path) -> None:
    """Cut the write-ahead log in two, as a disk that loses writes would."""
    wal = Files.of(path).wal
    os.truncate(wal, wal.stat().st_size // 2)


def torn(path: Path, started: Start, durability: Durability = "full") -> int:
    """Kill an engine after it has acknowledged its rows, cut its log, and return how many rows are left."""
    writer = started(WRITER, path, durability, BATCHES)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "done\n"
    wait(lambda: marked_seq(path) == BATCHES)
    writer.kill()
    writer.wait()
    tear(path)
    with Reader(path) as reader:
        left = reader.last_seq()
    assert 0 < left < BATCHES
    assert verify(path).ok
    return left


async def test_rows_that_were_acknowledged_and_are_gone_keep_an_engine_from_beginning(
    tmp_path: Path, started: Start
) -> None:
    path = tmp_path / "team.db"
    left = torn(path, started)
    before = {file: file.read_bytes() for file in (path, Files.of(path).wal)}

    for accepted in (0, BATCHES - left - 1):
        with pytest.raises(RowsLost, match=f"--accept-loss {BATCHES - left} --db") as lost:
            async with open_store(path, accept_loss=accepted):
                pass

    assert (lost.value.end_seq, lost.value.acknowledged_seq) == (left, BATCHES)
    assert {file: file.read_bytes() for file in before} == before


async def test_a_loss_that_was_accepted_is_not_found_again(tmp_path: Path, started: Start) -> None:
    path = tmp_path / "team.db"
    left = torn(path, started)

    async with open_store(path, accept_loss=BATCHES - left) as store:
        assert store.loss is not None
        assert (store.loss.end_seq, store.loss.acknowledged_seq) == (left, BATCHES)
        await store.journal.append(left + 1, [Row(0, "noted", b"{}")])
    async with open_store(path) as store:
        assert store.loss is None


async def test_what_normal_durability_may_lose_is_said_and_not_refused(tmp_path: Path, started: Start) -> None:
    path = tmp_path / "team.db"
    left = torn(path, started, "normal")

    async with open_store(path) as store:
        assert store.loss is not None
        assert store.loss.rows == BATCHES - left


async def test_a_journal_that_is_whole_has_lost_nothing(tmp_path: Path, started: Start) -> None:
    path = tmp_path / "team.db"
    writer = started(WRITER, path, "full", BATCHES)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "done\n"
    assert find_loss(path) is None
    writer.kill()
    writer.wait()

    assert find_loss(path) is None


async def test_an_older_copy_that_is_put_back_is_noticed_by_the_mark_of_the_newer(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await store.journal.append(1, [Row(0, "noted", b"{}")])
    older = path.read_bytes()
    async with open_store(path) as store:
        await store.journal.append(2, [Row(0, "noted", b"{}")])
    path.write_bytes(older)

    with pytest.raises(RowsLost):
        async with open_store(path):
            pass
    async with open_store(path, accept_loss=1):
        pass
    async with open_store(path) as store:
        assert store.loss is None


TEAM = "version: 1\nsupervisor: {name: chief}\nagents: [{name: ada, script: [{say: done}]}]\n"


@pytest.fixture
def torn_team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An engine that was killed after it had answered commands, with its log cut off and without its live file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    db = tmp_path / "team.db"
    engine = start_engine(db, folder=tmp_path)
    client = Client(db)
    for _ in range(BATCHES):
        assert client.perform(Ping()).status == "applied"
    engine.end()
    tear(db)
    for file in tmp_path.glob("team.db-live*"):
        file.unlink()
    return db


@pytest.fixture
def shell(torn_team: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return shell_on(torn_team, capsys)


def test_doctor_names_what_is_missing_by_the_answers_in_the_inbox_alone(torn_team: Path, shell: Run) -> None:
    loss = find_loss(torn_team)
    assert loss is not None

    status, out, _ = shell("doctor", "--verify")

    (line,) = [line for line in out.splitlines() if "(end)" in line]
    assert status == 2
    assert line.startswith("FAULT")
    assert f"{loss.rows} acknowledged events missing: it ends at {loss.end_seq}" in line
    assert f"among them the outcomes of ping x{loss.answers['ping']}" in line
    assert f"quarterdeck engine --accept-loss {loss.rows} --db {torn_team}" in line


def test_ps_says_that_what_it_shows_is_not_all_that_was_acknowledged(torn_team: Path, shell: Run) -> None:
    loss = find_loss(torn_team)
    assert loss is not None

    _, out, _ = shell("ps")

    assert f"seq {loss.end_seq}; {loss.rows} acknowledged events missing, see quarterdeck doctor" in out.splitlines()[1]


def test_an_engine_refuses_in_one_line_and_begins_once_the_loss_is_accepted(
    torn_team: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loss = find_loss(torn_team)
    assert loss is not None

    assert main(["engine", "--db", str(torn_team)]) == 2
    (said,) = [line for line in capsys.readouterr().err.splitlines() if "lost" in line]
    assert f"has lost {loss.rows} events" in said
    assert f"--accept-loss {loss.rows}" in said

    engine = start_engine(torn_team, "--accept-loss", str(loss.rows), bound=True)
    try:
        client = Client(torn_team)
        assert client.perform(Ping()).status == "applied"
        with Reader(torn_team) as reader:
            (began,) = events_of(reader.records(loss.end_seq, 1))
    finally:
        engine.end()
    assert isinstance(began, EngineStarted)
    assert began.lost == loss.rows
    assert find_loss(torn_team) is None


async def test_a_program_goes_on_with_its_file_when_it_accepts_what_is_missing(torn_team: Path) -> None:
    loss = find_loss(torn_team)
    assert loss is not None

    def team(accepted: int | None = None) -> DynamicSupervisor:
        return DynamicSupervisor(
            "team", agent_specs=[AgentSpec(name="ada", run=str)], store=torn_team, accept_loss=accepted
        )

    for accepted in (None, loss.rows - 1):
        with pytest.raises(RowsLost, match=f"in a program accept_loss={loss.rows}$"):
            await team(accepted).arun("hello")

    with pytest.raises(RowsLost):
        async with team():
            pass
    assert (await team(loss.rows).arun("hello")).status == "done"
    assert (await team().arun("hello")).status == "done"
