"""An engine under steady load, with a backlog, readers and changes, and what its processes hold meanwhile.

What is measured is taken from outside, by the system's own figures. Linux only.
"""

import itertools
import os
import pty
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from engine.archive import export_archive
from engine.core.commands import Cancel, Command, RemoveMember, Submit, SwapAgent
from engine.core.encoding.codec import encode_command
from engine.core.events import CommandRefused, RunFinished
from engine.core.specs.spec import AgentSpec
from engine.reading.folding import events_of, fold_file
from store import CommandRow, InboxClient, Reader, Tail
from tests.chaos.voyage import trusted_import
from tests.patience import PATIENCE_S

CREW = Path(__file__).with_name("soak_crew")
BACKLOG = 100
"""Requests that are open at a time."""
WARM_RUNS = 6_000
"""After so many runs the state and all caches are full, and the allocator has met the highest peaks.

Those are snapshots, exports and imports that fall together. It keeps such pages: an engine steps up by some 3 MB in its
first minutes and stays there.
"""
LOOK_S = 1.0
CHANGE_S = 2.0
"""How often something is changed, exported or imported."""
SCREENS = b"1234567"
_PROGRAM = (sys.executable, "-P", "-m", "dashboard")


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process holds at a moment."""

    memory_mb: float
    handles: int
    threads: int


@dataclass(slots=True)
class Watched:
    """A process, and what it held since it began."""

    name: str
    process: "subprocess.Popen[bytes]"
    samples: list[Sample] = field(default_factory=list)

    def look(self) -> None:
        """Take a sample."""
        proc = Path(f"/proc/{self.process.pid}")
        pages = int((proc / "statm").read_text().split()[1])
        self.samples.append(
            Sample(
                memory_mb=pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
                handles=len(list((proc / "fd").iterdir())),
                threads=len(list((proc / "task").iterdir())),
            )
        )


class Soak:
    """The processes, and what is done to them."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(CREW, folder, dirs_exist_ok=True)
        self.folder = folder
        self.db = folder / "team.db"
        self.watched: list[Watched] = []
        self.finished = 0
        self.done: Counter[str] = Counter()
        """How often each kind of change was made."""
        self._acts = itertools.cycle(
            [self._swap, self._look_elsewhere, self._export, self._look_elsewhere, self._import]
        )
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._counter = AgentSpec(name="counter-a", run="soak_crew:count", specialties=["count"], max_concurrency=4)
        self._anew = AgentSpec(name="counter-a", run="soak_crew:count_anew", specialties=["count"], max_concurrency=4)

    def __enter__(self) -> "Soak":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for each in reversed(self.watched):
            each.process.send_signal(signal.SIGTERM)
        for each in self.watched:
            try:
                each.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                each.process.kill()
                each.process.wait()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        if error is not None:
            error.add_note(f"the log of the engine:\n{(self.folder / 'engine.log').read_text()[-4000:]}")

    # Processes

    def launch(self) -> None:
        """Start the engine, with requests for it, and those who look on."""
        with (self.folder / "engine.log").open("ab") as log:
            words = ["engine", "--db", str(self.db), "--team", str(self.folder / "team.yaml"), "--trust"]
            self._watch("engine", subprocess.Popen([*_PROGRAM, *words], cwd=self.folder, stdout=log, stderr=log))
        self._wait(lambda: self.db.exists() and bool(fold_file(self.db).agents))
        self._send(*(self._request() for _ in range(BACKLOG)))
        self._begin(self._keep_up)
        self._dashboard()
        follow = subprocess.Popen(
            [*_PROGRAM, "events", "--follow", "--json", "--db", str(self.db)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._watch("events --follow", follow)

    def _dashboard(self) -> None:
        terminal, inside = pty.openpty()
        process = subprocess.Popen(
            [*_PROGRAM, "--db", str(self.db)], stdin=inside, stdout=inside, stderr=inside,
            env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "140", "LINES": "45"}, start_new_session=True,
        )  # fmt: skip
        os.close(inside)
        self._watch("dashboard", process)
        self._terminal = terminal
        self._begin(self._drain)

    def _drain(self) -> None:
        """Read what the dashboard draws, as a terminal would."""
        while not self._stop.is_set():
            try:
                os.read(self._terminal, 65_536)
            except OSError:
                return

    def _watch(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        self.watched.append(Watched(name, process))

    def _begin(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self._threads.append(thread)

    # Load

    def _request(self) -> Submit:
        return Submit(
            request="do what is to be done, in as many words as a request has at times " * 3, supervisor="chief"
        )

    def _keep_up(self) -> None:
        """Follow the journal, and submit a request for each that is finished."""
        for batch in Tail(self.db, 0).batches(self._stop):
            ended = sum(isinstance(event, RunFinished) and event.status != "cancelled" for event in events_of(batch))
            self.finished += ended
            self._send(*(self._request() for _ in range(ended)))

    def _send(self, *commands: Command) -> None:
        rows = [
            CommandRow(uuid.uuid4().hex, each.type, encode_command(each), "soak", "operator", 0) for each in commands
        ]
        if rows:
            with InboxClient(self.db, timeout_s=PATIENCE_S) as inbox:
                inbox.put(*rows)

    # What is done meanwhile

    def warm_up(self) -> None:
        """Go on until all that is kept within bounds has reached them; what was held meanwhile does not count."""
        self._go_on(lambda: self.finished >= WARM_RUNS and self.done["look_elsewhere"] >= len(SCREENS))
        for each in self.watched:
            each.samples.clear()

    def run(self, seconds: float) -> None:
        """Change, export, import and look on for a while, and take samples."""
        until_s = time.monotonic() + seconds
        self._go_on(lambda: time.monotonic() >= until_s)

    def _go_on(self, is_over: Callable[[], bool]) -> None:
        next_s, tick = time.monotonic() + CHANGE_S, threading.Event()
        while not is_over():
            tick.wait(LOOK_S)
            for each in self.watched:
                assert each.process.poll() is None, f"{each.name} ended"
                each.look()
            if time.monotonic() >= next_s:
                act = next(self._acts)
                act()
                self.done[act.__name__.strip("_")] += 1
                next_s = time.monotonic() + CHANGE_S

    def _swap(self) -> None:
        spec = (self._anew, self._counter)[self.done["swap"] % 2]
        self._send(
            SwapAgent(agent="/chief/counter-a", spec=spec, mode=("drain", "migrate")[self.done["swap"] // 2 % 2])
        )

    def _look_elsewhere(self) -> None:
        """Show another screen of the dashboard."""
        place = self.done["look_elsewhere"] % len(SCREENS)
        os.write(self._terminal, SCREENS[place : place + 1])

    def _export(self) -> None:
        export_archive(self.db, self.folder / "team.zip", overwrite=True)

    def _import(self) -> None:
        """Take in another team with open runs, and take it out again the next time."""
        state = fold_file(self.db)
        for root in state.roots:
            if root.name != "chief":
                runs = [run.id for run in state.runs.values() if run.supervisor_id == root.id]
                agents = [f"@{agent.id}" for agent in state.agents.values() if agent.supervisor_id == root.id]
                self._send(*map(_cancel, runs), *map(_remove, agents), _remove(f"@{root.id}"))
                return
        other = self.folder / "other.zip"
        if not other.exists():
            export_archive(self.db, other, only="chief")
        self._send(trusted_import(other, self.db))

    def _wait(self, holds: Callable[[], bool]) -> None:
        deadline, tick = time.monotonic() + PATIENCE_S, threading.Event()
        while not holds():
            assert time.monotonic() < deadline, "it did not happen in time"
            tick.wait(0.05)


def _cancel(run: str) -> Command:
    return Cancel(target=run)


def _remove(target: str) -> Command:
    return RemoveMember(target=target, mode="abort")


@dataclass(frozen=True, slots=True)
class Course:
    """How much one process held of something, from when it was warm to its end."""

    process: str
    what: str
    values: list[float]

    @property
    def early(self) -> float:
        """The median of the first third."""
        return statistics.median(self.values[: len(self.values) // 3])

    @property
    def late(self) -> float:
        """The median of the last third."""
        return statistics.median(self.values[-(len(self.values) // 3) :])

    def is_flat(self, share: float, slack: float) -> bool:
        """Return whether it grew by no more than a share of what it was, or by no more than an amount."""
        return self.late <= max(self.early * (1 + share), self.early + slack)

    def __str__(self) -> str:
        tenths = [self.values[round((len(self.values) - 1) * place / 10)] for place in range(11)]
        shown = " ".join(f"{value:.0f}" for value in tenths)
        return f"{self.process:16} {self.what:9} {self.early:6.1f} {self.late:6.1f}   {shown}"


def courses(watched: Iterable[Watched]) -> list[Course]:
    """Return how everything that was measured went."""
    return [
        Course(each.name, what, [getattr(sample, what) for sample in each.samples])
        for each in watched
        for what in ("memory_mb", "handles", "threads")
    ]


def refusals(db: Path) -> list[str]:
    """Return why commands were refused."""
    with Reader(db) as reader:
        found = events_of(reader.records(0, kinds=[CommandRefused.type]))
    return [event.reason for event in found if isinstance(event, CommandRefused)]


def last_seq(db: Path) -> int:
    """Return how many events there are."""
    with Reader(db) as reader:
        return reader.last_seq()
