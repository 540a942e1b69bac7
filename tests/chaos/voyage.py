"""A real run of real engine processes on one database, watched and torn apart from outside.

`Voyage` starts engines as a person would, follows the journal with `Tail` and never asks an engine anything. After the
end of each engine it takes down what the journal had by then, and checks that none of it is done again.
"""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from engine.archive import plan_import
from engine.core.commands import Command, ImportState, Resume, Submit
from engine.core.encoding.codec import encode_command
from engine.core.events import CommandApplied, CommandRefused, EngineStarted, Event, RunFinished
from engine.core.records.values import TextRef
from engine.core.state import State, Team
from engine.reading.folding import events_of, fold_file, pages
from engine.reading.texts import walk
from engine.trusted_code.trust import grant, user_list
from store import CommandOutcome, CommandRow, InboxClient, Reader, Tail
from tests.chaos.ledger import done_again, ended_twice, finished_in, lines_of, unrecorded
from tests.patience import PATIENCE_S

SENDER = "chaos"
CREW = Path(__file__).with_name("crew")
PAUSABLE = ("r1", "chief", "survey", "counter-a", "scales", "drill-2")
"""What a test may pause; `finish` lets go on all of it."""
QUIET_S = 0.3
"""How long nothing is journaled before a team counts as waiting for its operator."""


class Voyage:
    """One database with the engines that come and go on it."""

    def __init__(self, folder: Path, *, finished: Collection[str] = (), piece_s: float = 0.004) -> None:
        """Put the crew into a folder.

        Args:
            folder: Made if it is missing.
            finished: What is finished before, of a run that comes from elsewhere.
            piece_s: How long the crew takes for a piece of work.
        """
        shutil.copytree(CREW, folder, dirs_exist_ok=True)
        self.folder = folder
        self.db = folder / "team.db"
        self.journal: list[Event] = []
        """What was seen of the journal so far."""
        self.sent: list[str] = []
        """Ids of the commands that were put into the inbox, in order."""
        self._environment = os.environ | {"CHAOS_PIECE_S": str(piece_s)}
        self._engine: subprocess.Popen[bytes] | None = None
        self._lived_from = 0
        self._finished = set(finished)
        self._deadline = time.monotonic() + PATIENCE_S

    def __enter__(self) -> "Voyage":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._engine is not None:
            self._engine.kill()
            self._engine.wait()
        if error is not None:
            error.add_note(f"the log of the engines:\n{self.log[-4000:]}")

    @property
    def log(self) -> str:
        """What the engines said."""
        log = self.folder / "engine.log"
        return log.read_text() if log.exists() else ""

    @property
    def pid(self) -> int:
        """The engine at work."""
        assert self._engine is not None
        return self._engine.pid

    # Engines

    def start(self, *arguments: str) -> None:
        """Start an engine, and do not wait for it."""
        command = [sys.executable, "-P", "-m", "dashboard", "engine", "--db", str(self.db), *arguments]
        self._lived_from = len(lines_of(self._ledger))
        with (self.folder / "engine.log").open("ab") as log:
            self._engine = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self._environment,
                stdout=log,
                stderr=log,
                pass_fds=_passed(arguments),
            )

    def launch(self, *, empty: bool = False) -> None:
        """Start the first engine, with the team or `empty`, and return once it is up."""
        team = () if empty else ("--team", str(self.folder / "team.yaml"), "--trust")
        ready, told = os.pipe()
        try:
            self.start(*team, "--ready-fd", str(told))
        finally:
            os.close(told)
        with os.fdopen(ready, "rb") as pipe:
            assert pipe.read().endswith(b"up\n")  # before that, a dot each second that it computes

    def end(self, how: signal.Signals) -> int:
        """End the engine by a signal, and take down what is finished; returns its exit status."""
        assert self._engine is not None
        self._engine.send_signal(how)
        return self.ended()

    def ended(self) -> int:
        """Wait until the engine has ended, and take down what is finished; returns its exit status."""
        assert self._engine is not None
        status = self._engine.wait(self._left_s)
        self._engine = None
        self._take_down()
        return status

    def _take_down(self) -> None:
        """Check the life of the engine that has ended.

        Nothing was done twice in it, or done before it; and what anybody was told to be so is in the journal.
        """
        lived = lines_of(self._ledger)[self._lived_from :]
        journal = self.read()
        assert done_again(lived, self._finished) == [], "what the journal had as finished was done again"
        assert ended_twice(lived) == [], "something was finished twice by one engine"
        self._finished |= finished_in(journal)
        assert unrecorded(lived, self._finished) == [], "an agent was told that a step is recorded"
        answers = dict(answers_in(journal))
        for command_id in self.sent:
            outcome = self.outcome(command_id)
            if outcome is not None and outcome.state != "pending":
                assert answers.get(command_id) == outcome.state, "an acknowledged command is not in the journal"

    def read(self) -> list[Event]:
        """Return the whole journal."""
        with Reader(self.db) as reader:
            return [event for page in pages(reader, 0) for event in events_of(page)]

    @property
    def _ledger(self) -> Path:
        return self.folder / "ledger.jsonl"

    # Commands

    def send(self, command: Command) -> str:
        """Put a command into the inbox, whether or not an engine is there; on disk when this returns."""
        command_id = f"{len(self.sent)}-{uuid.uuid4().hex}"
        row = CommandRow(command_id, command.type, encode_command(command), SENDER, "operator", 0)
        with InboxClient(self.db) as inbox:
            inbox.put(row)
        self.sent.append(command_id)
        return command_id

    def outcome(self, command_id: str) -> CommandOutcome | None:
        """Return what the inbox says became of a command."""
        with InboxClient(self.db) as inbox:
            return inbox.outcome(command_id)

    def acknowledged(self, command_id: str) -> None:
        """Return the moment the inbox has the outcome of a command."""
        with InboxClient(self.db) as inbox:
            while (outcome := inbox.outcome(command_id)) is None or outcome.state == "pending":
                assert self._left_s > 0

    def submit(self) -> None:
        """Give the crew its one request."""
        self.send(Submit(request="go", supervisor="chief"))

    # Watching

    @contextmanager
    def watched(self) -> Iterator["Watch"]:
        """Follow the journal in a thread."""
        watch = Watch(self)
        thread = threading.Thread(target=watch.follow)
        thread.start()
        try:
            yield watch
        finally:
            watch.stop.set()
            thread.join()

    @property
    def _left_s(self) -> float:
        left_s = self._deadline - time.monotonic()
        assert left_s > 0, "the run hangs"
        return left_s

    def finish(self) -> None:
        """Let go on whatever is paused, and wait for the end of the run."""
        for target in PAUSABLE:
            self.send(Resume(target=target))
        with self.watched() as watch:
            while not watch.over:
                watch.until(watch.seq + 1)

    def answered(self) -> None:
        """Wait until every command has its answer."""
        with self.watched() as watch:
            while len(answers_in(self.journal)) < len(self.sent):
                watch.until(watch.seq + 1)

    def ended_as(self) -> dict[str, object]:
        """Return what the one finished run came to, without what depends on time."""
        (summary,) = fold_file(self.db).finished
        output: object = summary.output
        if isinstance(output, TextRef):
            with Reader(self.db) as reader:
                output = walk(json.loads(reader.record(output.seq).body), output.path)
        return {
            "status": summary.status,
            "output": output,
            "error": summary.error,
            "tasks": (summary.tasks, summary.done, summary.failed),
        }


def trusted_import(archive: Path, db: Path) -> ImportState:
    """Return the command that imports an archive, all of its code trusted."""
    plan = plan_import(archive, db)
    allowed = user_list()
    assert allowed is not None
    team = State(team=Team(path=str(db.with_name("team.yaml")), folder=str(db.parent), sha256="", seq=1))
    grant(allowed, plan.references, team, db=db, path=archive, sha256=plan.sha256)
    return ImportState(path=str(archive), sha256=plan.sha256)


def answers_in(journal: Iterable[Event]) -> list[tuple[str, str]]:
    """Return the ids of the commands that came through the inbox, in order, each with what became of it."""
    return [
        (event.command_id, "applied" if isinstance(event, CommandApplied) else "refused")
        for event in journal
        if isinstance(event, CommandApplied | CommandRefused) and event.sender == SENDER
    ]


def _passed(arguments: tuple[str, ...]) -> tuple[int, ...]:
    return (int(arguments[-1]),) if "--ready-fd" in arguments else ()


class Watch:
    """The journal as it grows."""

    def __init__(self, voyage: Voyage) -> None:
        self.stop = threading.Event()
        self.seq = len(voyage.journal)
        self._voyage = voyage
        self._batches: queue.SimpleQueue[list[Event]] = queue.SimpleQueue()

    def follow(self) -> None:
        """Hand over what is appended; in a thread."""
        for batch in Tail(self._voyage.db, self.seq).batches(self.stop):
            self._batches.put(events_of(batch))

    @property
    def over(self) -> bool:
        """The run is finished, and every command has its answer."""
        journal = self._voyage.journal
        return any(isinstance(event, RunFinished) for event in journal) and len(answers_in(journal)) >= len(
            self._voyage.sent
        )

    def until(self, seq: int) -> None:
        """Return once the journal has `seq`, or a team that is up has come to rest, or works too slowly to tell."""
        while self.seq < seq:
            if not self._grows() and self._is_up:
                return

    def reached(self, seq: int) -> None:
        """Return once the journal has `seq`, of a team that does not wait for its operator before."""
        while self.seq < seq:
            self._grows()

    def _grows(self) -> bool:
        """Take down what is journaled next; False where that is nothing for a while."""
        assert self._voyage._left_s > 0
        try:
            events = self._batches.get(timeout=QUIET_S)
        except queue.Empty:
            return False
        self._voyage.journal += events
        self.seq += len(events)
        return True

    @property
    def _is_up(self) -> bool:
        started = [event.pid for event in self._voyage.journal if isinstance(event, EngineStarted)]
        return self._voyage.pid in started
