"""Engines that stand by, each a process of its own: whatever ends the one at work, one goes on, and nothing fails."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.core.commands import Command, HandOver, Submit
from engine.core.encoding.codec import encode_command
from engine.core.events import AttemptFailed, AttemptLost, EngineStarted, Event, RunFinished, StepRecorded
from engine.core.state import RunStatus
from engine.reading.folding import events_of, fold_file, pages
from store import CommandRow, InboxClient, Reader, Tail, verify
from tests.patience import PATIENCE_S

TEAM = """\
version: 1
supervisor: {name: walkers, strategy: sequential, participants: [lead], max_parallel: 12}
agents:
  - {name: lead, run: "crew_for_standby:lead", max_concurrency: 3}
  - {name: walker, run: "crew_for_standby:walk", specialties: [walk], max_concurrency: 8}
teams:
  - supervisor: {name: blockers}
    agents: [{name: blocker, run: "crew_for_standby:hold"}]
  - supervisor: {name: markers, participants: [foreman], max_parallel: 40}
    agents:
      - {name: foreman, run: "crew_for_standby:many"}
      - {name: marker, run: "crew_for_standby:mark", specialties: [mark], max_concurrency: 32}
"""
RUNS = 3


class Crew:
    """A team on a database, with the engines that a person starts on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.db = folder / "team.db"
        self._started: list[subprocess.Popen[str]] = []
        shutil.copy(Path(__file__).with_name("crew_for_standby.py"), folder)
        (folder / "team.yaml").write_text(TEAM)

    def engine(self, *words: str) -> "subprocess.Popen[str]":
        """Start an engine, and return it once it says that it works or stands by."""
        process = self.begin("engine", *words)
        self.said(process, "is at work", "stands by")
        return process

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dashboard", *words, "--db", str(self.db)],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._started.append(process)
        return process

    def said(self, process: "subprocess.Popen[str]", *any_of: str) -> str:
        """Return the next line that an engine says with one of these words in it."""
        assert process.stderr is not None
        others: list[str] = []
        for line in process.stderr:
            if any(words in line for words in any_of):
                return line
            others.append(line)
        raise AssertionError(f"it ended with {process.wait(PATIENCE_S)} without a word of {any_of}: {others}")

    def ended(self, process: "subprocess.Popen[str]") -> tuple[int, str]:
        """Return the exit status of a process and what it said last; engines log before that."""
        _, said = process.communicate(timeout=PATIENCE_S)
        return process.returncode, said

    def done(self, *words: str) -> str:
        process = self.begin(*words)
        out, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, said
        return out

    def send(self, command: Command) -> None:
        with InboxClient(self.db) as inbox:
            inbox.put(CommandRow(os.urandom(8).hex(), command.type, encode_command(command), "test", "operator", 0))

    def until(self, holds: Callable[[Event], bool], times: int = 1) -> None:
        """Return once the journal has so many events like that, from its beginning."""
        stop = threading.Event()
        late = threading.Timer(PATIENCE_S, stop.set)
        late.start()
        try:
            for batch in Tail(self.db, 0).batches(stop):
                times -= sum(holds(event) for event in events_of(batch))
                if times <= 0:
                    return
        finally:
            late.cancel()
        raise AssertionError("it did not happen in time")

    def journal(self) -> list[Event]:
        with Reader(self.db) as reader:
            return [event for page in pages(reader, 0) for event in events_of(page)]

    def finish(self) -> None:
        self.until(lambda event: isinstance(event, RunFinished), RUNS)
        assert [run.status for run in fold_file(self.db).finished] == [RunStatus.DONE] * RUNS
        assert not any(isinstance(event, AttemptFailed) for event in self.journal())
        assert verify(self.db).ok

    def paces(self) -> Counter[str]:
        """How often each step came to its end, in whatever engine."""
        lines = (self.folder / "ledger.jsonl").read_text().splitlines()
        return Counter(line.partition(",")[2] for line in lines)

    def marks(self) -> list[tuple[int, int]]:
        """Which process made each mark, and when, on the monotonic clock in nanoseconds."""
        lines = (self.folder / "marks").read_text().splitlines()
        return [(int(pid), int(at)) for pid, at in map(str.split, lines)]

    def close(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    found = Crew(tmp_path)
    yield found
    found.close()


def started_by(process: "subprocess.Popen[str]") -> Callable[[Event], bool]:
    return lambda event: isinstance(event, EngineStarted) and event.pid == process.pid


def stepped(event: Event) -> bool:
    return isinstance(event, StepRecorded)


def lines(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("quarterdeck: ")]


def test_work_goes_on_through_a_hand_over_and_a_kill_and_nothing_fails(crew: Crew) -> None:
    leader = crew.engine("--team", "team.yaml", "--trust")
    first, second = crew.engine("--standby"), crew.engine("--standby")
    for number in range(RUNS):
        crew.send(Submit(request=f"go {number}", supervisor="walkers"))
    crew.until(stepped, 20)
    crew.send(HandOver())
    crew.until(started_by(first))
    lost_by_hand_over = [event for event in crew.journal() if isinstance(event, AttemptLost)]
    twice = [name for name, times in crew.paces().items() if times > 1]

    assert crew.ended(leader)[0] == 0
    assert lost_by_hand_over
    assert twice == [], "a hand-over waits for steps to come to their end"

    crew.until(stepped, 60)
    first.kill()
    crew.until(started_by(second))
    crew.finish()
    assert [event.pid for event in crew.journal() if isinstance(event, EngineStarted)] == [
        leader.pid, first.pid, second.pid,
    ]  # fmt: skip
    nobody = crew.begin("engine", "--hand-over")
    status, said = crew.ended(nobody)
    assert status == 3
    assert len(lines(said)) == 1
    assert "no engine stands by" in said


def test_stop_ends_all_ctrl_c_one_and_nobody_leads_twice(crew: Crew) -> None:
    early = crew.engine("--standby")
    leader = crew.engine("--team", "team.yaml", "--trust")
    other = crew.engine("--standby")
    shown = crew.done("ps")
    doctor = crew.done("doctor")
    other.send_signal(signal.SIGINT)
    interrupted = crew.ended(other)
    last = crew.engine("--standby")
    handed = crew.done("engine", "--hand-over")
    stopped = crew.done("stop")

    assert f"engines {early.pid}, {other.pid} stand by" in shown
    assert f"engine {leader.pid} is at work; engines {early.pid}, {other.pid} stand by" in doctor
    assert interrupted[0] == 130
    assert interrupted[1] == f"engine {other.pid} no longer stands by (SIGINT)\n"
    assert f"engine {leader.pid} handed over to engine {early.pid}" in handed
    assert f"and so has {last.pid} that stood by" in stopped
    assert [crew.ended(process)[0] for process in (leader, early)] == [0, 0]
    assert crew.ended(last) == (0, f"the team was stopped: engine {last.pid} no longer stands by\n")


def test_a_leader_that_was_suspended_wakes_up_deposed_and_says_so(crew: Crew) -> None:
    leader = crew.engine("--team", "team.yaml", "--trust")
    standby = crew.engine("--standby", "--takeover-after", "10")
    for number in range(RUNS):
        crew.send(Submit(request=f"go {number}", supervisor="walkers"))
    crew.until(stepped, 10)
    leader.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, leader.pid, os.WSTOPPED | os.WNOWAIT)
    crew.until(started_by(standby))
    leader.send_signal(signal.SIGCONT)
    status, said = crew.ended(leader)
    crew.finish()

    assert status in (1, -signal.SIGKILL)  # stopped inside a write it kept everybody else from writing
    if status == 1:
        (line,) = lines(said)
        assert f"{leader.pid}, was deposed: engine {standby.pid} took over with token 2" in line
    assert_nothing_was_written_by(leader.pid, crew.journal())


def test_a_leader_that_wakes_up_deposed_begins_nothing_more(crew: Crew) -> None:
    leader = crew.engine("--team", "team.yaml", "--trust")
    standby = crew.engine("--standby", "--takeover-after", "10")
    crew.send(Submit(request="go", supervisor="markers"))
    crew.until(lambda event: event.type == "attempt_done", 200)
    leader.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, leader.pid, os.WSTOPPED | os.WNOWAIT)
    crew.said(standby, "took over")
    woken_ns = time.monotonic_ns()
    leader.send_signal(signal.SIGCONT)
    crew.ended(leader)

    late = [at for pid, at in crew.marks() if pid == leader.pid and at > woken_ns]
    assert len(late) <= 1, "one may have been past its check"


def test_a_leader_whose_loop_is_blocked_is_deposed_and_its_process_ends(crew: Crew) -> None:
    leader = crew.engine("--team", "team.yaml", "--trust")
    crew.send(Submit(request="go", supervisor="blockers"))
    crew.until(lambda event: event.type == "attempt_started")
    standby = crew.engine("--standby", "--takeover-after", "10")
    said = crew.said(standby, "took over")
    status, last = crew.ended(leader)
    (crew.folder / "go on").touch()
    crew.until(lambda event: isinstance(event, RunFinished))

    assert f"took over from engine {leader.pid}" in said
    assert status == 1
    assert f"engine {standby.pid} took over" in "".join(lines(last))


def test_an_engine_whose_database_is_deleted_ends_with_one_line(crew: Crew) -> None:
    leader = crew.engine("--team", "team.yaml", "--trust")
    for file in sorted(crew.folder.glob("team.db*")):  # as a shell does; the engine may miss any file after it first
        file.unlink(missing_ok=True)  # the engine, which closes its files meanwhile, takes their logs away
    status, said = crew.ended(leader)

    assert status == 2
    (line,) = lines(said)
    assert "team.db was deleted or moved away under its engine" in line


def test_an_engine_whose_inbox_is_deleted_says_which_file_it_misses(crew: Crew) -> None:
    leader = crew.engine("--team", "team.yaml", "--trust")
    for file in crew.folder.glob("team.db-inbox*"):
        file.unlink(missing_ok=True)
    status, said = crew.ended(leader)

    assert status == 2
    assert "team.db-inbox was deleted or moved away" in lines(said)[-1]


def assert_nothing_was_written_by(pid: int, journal: list[Any]) -> None:
    """Of what an engine does there is one start, and each start ends what the one before was at."""
    starts = [place for place, event in enumerate(journal) if isinstance(event, EngineStarted)]
    assert sum(journal[place].pid == pid for place in starts) == 1
    done = Counter((event.task_id, event.key) for event in journal if isinstance(event, StepRecorded))
    assert set(done.values()) == {1}
