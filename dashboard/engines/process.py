"""A detached engine: a process of its own that outlives the terminal, with its log beside the database.

Rule: it is a new process of `python -P`, so that it inherits no lock of its parent and no file in the current folder
shadows our modules; it reports through a pipe when it is up.
"""

import os
import selectors
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from store import EngineInfo, Reader, StoreError, check_place
from store.layout.files import open_for_writing

T = TypeVar("T")
QUIET_S = 30.0
"""Maximum silence of a starting engine, in seconds; it sends beats while it computes."""
_BEAT_S = 1.0
_WORKING = b"."
_UP = b"up\n"
MAX_LOG_BYTES = 4_000_000
_TAIL_BYTES = 8_000


class EngineDidNotStart(Exception):
    """A detached engine ended, or hung, before it was up.

    Attributes:
        log: The path of its log.
    """

    def __init__(self, log: Path, last_line: str) -> None:
        super().__init__(f"the engine did not start: {last_line or _silence(log)}; its log: {log}")
        self.log = log


def _silence(log: Path) -> str:
    """Return why a log is empty."""
    with suppress(OSError):
        if shutil.disk_usage(log.parent).free < MAX_LOG_BYTES:
            return f"no space is left in {log.parent}"
    return "it said nothing"


class Announcer:
    """Reports the start of an engine to its starter: a beat each second while it computes, then that it is up.

    Args:
        descriptor: Write end of a pipe; closed once the engine is up.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._tell_progress, name="announce", daemon=True)
        self._thread.start()

    @property
    def is_up(self) -> bool:
        """True once it was reported that the engine is up."""
        return self._up.is_set()

    def up(self) -> None:
        self._up.set()
        self._thread.join()
        self._say(_UP)
        os.close(self._descriptor)

    def _tell_progress(self) -> None:
        """Send a beat while CPU time passes; an engine blocked by a lock or a disk sends none."""
        said_s = 0.0
        while not self._up.wait(_BEAT_S):
            now_s = time.process_time()
            if now_s - said_s > _BEAT_S / 100:
                said_s = now_s
                self._say(_WORKING)

    def _say(self, word: bytes) -> None:
        with suppress(BrokenPipeError):  # the starter did not wait
            os.write(self._descriptor, word)


@dataclass(frozen=True, slots=True)
class Detached:
    """An engine that was started."""

    process: "subprocess.Popen[bytes]"
    db: Path
    log: Path
    lifeline: int | None = None
    """Write end of a pipe; when it is closed, also by the death of this process, the engine ends cleanly."""

    def end(self) -> None:
        """End it, cleanly if it is bound to this process, and wait for it; once, also if it has ended by itself."""
        if self.lifeline is None:
            self.process.kill()
        _close(self.lifeline)
        self.process.wait()

    def leave(self) -> None:
        """Let it outlive this process; a thread reaps it if it ends first."""
        threading.Thread(target=self.process.wait, daemon=True).start()


def log_of(db: Path) -> Path:
    """Return the path of the log of a detached engine."""
    return db.with_name(f"{db.name}.log")


def start_engine(db: Path, *options: str, folder: Path | None = None, bound: bool = False) -> Detached:
    """Start an engine on a database in a session of its own, and return once it is up.

    Args:
        db: The database; created if it does not exist.
        options: Options of `quarterdeck engine`, such as `--takeover`. A standby is up once it stands by.
        folder: Its working folder; None keeps the current one.
        bound: Whether it ends with this process.

    Raises:
        EngineDidNotStart: If it ended, or hung, before it was up.
        StoreError: If an engine cannot open or create the database.
        OSError: If the log cannot be written, or Python cannot be started.
    """
    db = db.absolute()
    check_place(db)  # before any file is created
    log = log_of(db)
    ready, write_end = os.pipe()
    watched, lifeline = os.pipe() if bound else (None, None)
    command = [sys.executable, "-P", "-m", "dashboard", "engine", "--db", str(db), "--ready-fd", str(write_end)]
    command += [*options, *([] if watched is None else ["--while-fd", str(watched)])]
    try:
        process = _spawn(command, log, folder, [end for end in (write_end, watched) if end is not None])
    except BaseException:
        _close(ready, lifeline)
        raise
    finally:
        _close(write_end, watched)
    engine = Detached(process, db, log, lifeline)
    try:
        wait_until_up(engine, ready)
    except BaseException:  # also on Ctrl-C
        engine.end()
        raise
    return engine


@contextmanager
def bound_engine(db: Path, *options: str, folder: Path | None) -> Iterator[None]:
    """Run an engine for this block; it ends with the block, or with this process.

    Args:
        options: As for `start_engine`.
        folder: Folder of the team's code; the current folder if it is None or does not exist.
    """
    folder = folder if folder is not None and folder.is_dir() else None
    engine = start_engine(db, *options, folder=folder, bound=True)
    try:
        yield
    finally:
        engine.end()


def _spawn(command: list[str], log: Path, folder: Path | None, descriptors: list[int]) -> "subprocess.Popen[bytes]":
    output = _open_log(log)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            pass_fds=descriptors,
            start_new_session=True,
        )
    finally:
        os.close(output)


def _close(*descriptors: int | None) -> None:
    for descriptor in descriptors:
        if descriptor is not None:
            os.close(descriptor)


def wait_until_up(engine: Detached, ready: int, *, quiet_s: float = QUIET_S) -> None:
    """Return once the engine is up; waits as long as it computes, such as while it reads a long journal.

    Args:
        engine: A started engine.
        ready: Read end of the pipe with its beats; closed at the end.
        quiet_s: Maximum silence, in seconds.

    Raises:
        EngineDidNotStart: If it ended, or was silent for too long, when it is killed.
    """
    try:
        if _wait_until_ready(ready, quiet_s):
            return
    finally:
        os.close(ready)
    if engine.process.poll() is None:
        # A closed pipe without "up" means that it is exiting; a long silence means that it is stuck.
        try:
            engine.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            engine.process.kill()
            engine.process.wait()
    if not is_alive(engine.db):  # else another engine was first
        raise EngineDidNotStart(engine.log, last_error(engine.log))


def engine_at_work(db: Path) -> EngineInfo | None:
    """Return the engine that holds a database; None without an engine or database."""
    try:
        with Reader(db) as reader:
            engine = reader.engine()
    except StoreError:
        return None
    return engine if engine is not None and engine.alive else None


def doubt_of(engine: EngineInfo) -> str:
    """Return the problem of a running engine, as the end of a sentence; empty for none."""
    return ", but it has no room on its disk" if engine.no_room else ", but it does not answer" * engine.hung


def is_alive(db: Path) -> bool:
    """Return whether an engine holds a database."""
    return engine_at_work(db) is not None


def poll(condition: Callable[[], T], *, timeout_s: float) -> T:
    """Return the first true value of `condition`, or its last one after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return value


def last_error(log: Path) -> str:
    """Return the last line of a log with an error, else its last line."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    errors = [line for line in lines if line.startswith("quarterdeck: ") or "Error" in line]
    return (errors or lines or [""])[-1].removeprefix("quarterdeck: ").strip()


def _wait_until_ready(descriptor: int, quiet_s: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        while selector.select(quiet_s):
            chunk = os.read(descriptor, 16)
            if chunk.strip(_WORKING) or not chunk:
                return chunk != b""
    return False


def _open_log(log: Path) -> int:
    """Open the log to append to it; rotate a long one first."""
    if log.is_file() and log.stat().st_size > MAX_LOG_BYTES:
        log.replace(log.with_name(f"{log.name}.1"))
    return open_for_writing(log, append=True)
