"""Several engines on one database, one at work and the others standing by, with one more for each that ends."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from engine.core.commands import Command
from engine.core.encoding.codec import encode_command
from engine.core.events import EngineStarted, Event
from engine.reading.folding import events_of
from store import CommandOutcome, CommandRow, EngineInfo, InboxClient, Reader, Tail
from store.leadership.standbys import standbys
from tests.chaos.voyage import CREW, SENDER
from tests.patience import PATIENCE_S

SIZE = 3
LIMIT_S = 3
"""After how long the others take over from one that is not heard of."""


class Fleet:
    """Engines that a test kills, suspends and wakes; `crewed` keeps their number up."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(CREW, folder, dirs_exist_ok=True)
        self.folder = folder
        self.db = folder / "team.db"
        self.sent: list[str] = []
        """Ids of the commands that were put into the inbox, in order."""
        self.ends: list[tuple[int, int]] = []
        """Process and exit status of each engine that has ended."""
        self._engines: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._engines.values():
            process.kill()
            process.wait()
        if error is not None:
            error.add_note(f"the log of the engines:\n{self.log[-6000:]}")

    @property
    def log(self) -> str:
        """What the engines said."""
        return (self.folder / "engine.log").read_text()

    # Engines

    def launch(self) -> None:
        """Start the first engine with the team, and the others beside it."""
        self._start("--team", str(self.folder / "team.yaml"), "--trust")
        self.until(lambda event: event.type == "team_loaded", 0)
        self.crew()

    def crew(self) -> None:
        """Start one for each that has ended, and return once all of them are there."""
        self._take_down()
        while len(self._engines) < SIZE:
            self._start("--standby", "--takeover-after", str(LIMIT_S))
        self.wait(lambda: len(self.waiting()) >= SIZE - 1)

    def leader(self) -> EngineInfo:
        """Return the engine at work."""
        found: list[EngineInfo] = []

        def look() -> bool:
            with Reader(self.db) as reader:
                engine = reader.engine()
            if engine is not None and engine.alive and engine.pid in self._engines:
                found.append(engine)
            return bool(found)

        self.wait(look)
        return found[0]

    def waiting(self) -> list[int]:
        """Return the processes that stand by."""
        return [each.pid for each in standbys(self.db) if each.pid in self._engines]

    def signal(self, pid: int, number: signal.Signals) -> None:
        """Send a signal to an engine; a stop has happened when this returns."""
        self._engines[pid].send_signal(number)
        if number is signal.SIGSTOP:
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)

    def ended(self, pid: int) -> int:
        """Wait for the end of an engine, and return its exit status."""
        status = self._engines.pop(pid).wait(PATIENCE_S)
        self.ends.append((pid, status))
        return status

    def is_there(self, pid: int) -> bool:
        """Return True while an engine has not ended."""
        return pid in self._engines and self._engines[pid].poll() is None

    def stop(self) -> None:
        """End the one at work and, by that, all."""
        subprocess.run([*_PROGRAM, "stop", "--db", str(self.db)], check=True, capture_output=True, cwd=self.folder)
        for pid in list(self._engines):
            assert self.ended(pid) == 0

    def _start(self, *words: str) -> None:
        with (self.folder / "engine.log").open("ab") as log:
            process = subprocess.Popen(
                [*_PROGRAM, "engine", "--db", str(self.db), *words], cwd=self.folder, stdout=log, stderr=log
            )
        self._engines[process.pid] = process

    def _take_down(self) -> None:
        for pid in [pid for pid, process in self._engines.items() if process.poll() is not None]:
            self.ended(pid)

    # Watching

    def seq(self) -> int:
        """Return the end of the journal."""
        with Reader(self.db) as reader:
            return reader.last_seq()

    def until(self, holds: Callable[[Event], bool], after_seq: int) -> None:
        """Return once there is an event like that after a seq."""
        stop = threading.Event()
        late = threading.Timer(PATIENCE_S, stop.set)
        late.start()
        try:
            self.wait(self.db.exists)
            for batch in Tail(self.db, after_seq).batches(stop):
                if any(holds(event) for event in events_of(batch)):
                    return
        finally:
            late.cancel()
        raise AssertionError(f"it did not happen within {PATIENCE_S:.0f} s")

    def until_another_leads(self, before: EngineInfo, after_seq: int) -> None:
        """Return once a later engine is at work."""
        self.until(lambda event: isinstance(event, EngineStarted) and event.token > before.token, after_seq)

    def wait(self, holds: Callable[[], bool]) -> None:
        """Return once something holds that nothing tells of."""
        deadline, tick = time.monotonic() + PATIENCE_S, threading.Event()
        while not holds():
            assert time.monotonic() < deadline, f"it did not happen within {PATIENCE_S:.0f} s"
            tick.wait(0.01)

    # Commands

    def send(self, command: Command) -> str:
        """Put a command into the inbox; on disk when this returns."""
        command_id = uuid.uuid4().hex
        with InboxClient(self.db) as inbox:
            inbox.put(CommandRow(command_id, command.type, encode_command(command), SENDER, "operator", 0))
        self.sent.append(command_id)
        return command_id

    def outcome(self, command_id: str) -> CommandOutcome | None:
        """Return what the inbox says became of a command."""
        with InboxClient(self.db) as inbox:
            return inbox.outcome(command_id)

    def answered(self) -> None:
        """Wait until every command has its outcome."""
        for command_id in self.sent:
            self.wait(lambda: (found := self.outcome(command_id)) is not None and found.state != "pending")  # noqa: B023


_PROGRAM = (sys.executable, "-P", "-m", "dashboard")
