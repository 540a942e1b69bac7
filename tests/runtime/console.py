"""A shell in a folder, in which the real program runs in processes of its own."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from store import EngineInfo, Reader, StoreError, Tail
from tests.patience import PATIENCE_S
from tests.runtime.commands import run_forked

PROGRAM = [sys.executable, "-P", "-m", "dashboard"]


class BegunCommand(subprocess.Popen[str]):
    """A program that a failure in its block ends, so that the failure is seen and not waited on."""

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, value, trace)


class Console:
    """A shell in a folder with a data folder of its own."""

    def __init__(self, folder: Path, data: Path | None = None) -> None:
        self.folder = folder
        self.data = data or folder / "data"
        self.variables = {"XDG_DATA_HOME": str(self.data)}
        self._environment = os.environ | self.variables

    def run(self, *words: str, variables: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        return run_forked(words, self.folder, self._environment | (variables or {}))

    def done(self, *words: str) -> str:
        """Run what must succeed, and return what it printed."""
        ended = self.run(*words)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.done(*words, "--json"))

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        return BegunCommand(
            [*PROGRAM, *words], cwd=self.folder, env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def write(self, name: str, text: str) -> Path:
        (self.folder / name).write_text(text)
        return self.folder / name

    def database(self, name: str, team: str = "team.yaml") -> Path:
        mark = hashlib.sha256(os.fsencode((self.folder / team).resolve())).hexdigest()[:8]
        return self.data / "quarterdeck" / f"{name}-{mark}.db"


def kill_engines(folder: Path) -> None:
    """End every engine on a database somewhere in a folder."""
    for db in folder.rglob("*.db"):
        engine = engine_of(db)
        if engine is not None and engine.alive:
            os.kill(engine.pid, signal.SIGKILL)


def engine_of(db: Path) -> EngineInfo | None:
    try:
        with Reader(db) as reader:
            return reader.engine()
    except StoreError:
        return None


def await_event(db: Path, kind: str, *, after_seq: int = 0) -> int:
    """Return the seq of the next event of a kind, as soon as it is in the file."""
    stop = threading.Event()
    late = threading.Timer(PATIENCE_S, stop.set)
    late.start()
    try:
        for batch in Tail(db, after_seq).batches(stop):
            for record in batch:
                if record.kind == kind:
                    return record.seq
    finally:
        late.cancel()
    raise AssertionError(f"no {kind} in {db}")
