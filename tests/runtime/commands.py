"""Commands of the real program in processes of their own that are forked from one which has it loaded.

A start of the interpreter costs more than what most commands do. The process that forks has one thread, no database
and no state; what a command is given (words, folder, environment) is set in the child. Engines are started by the
program itself, as always.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.patience import PATIENCE_S

_LOADED = ("dashboard.__main__", "dashboard.user.specfile", *(f"dashboard.cli.{name}" for name in (
    "archive", "engines.stop", "engines.up", "events", "files", "lists", "members", "run", "trust", "work",
)))  # fmt: skip
_FORKING = multiprocessing.get_context("forkserver")


def run_forked(
    words: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end, without standard input, and return what it wrote and its status."""
    _FORKING.set_forkserver_preload(list(_LOADED))
    with tempfile.TemporaryDirectory() as written:
        out, err = Path(written, "out"), Path(written, "err")
        process = _FORKING.Process(target=_be_command, args=(list(words), folder, dict(environment), out, err))
        process.start()
        process.join(PATIENCE_S)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(words), PATIENCE_S, out.read_text(), err.read_text())
        return subprocess.CompletedProcess(list(words), process.exitcode, out.read_text(), err.read_text())


def _be_command(words: list[str], folder: Path, environment: dict[str, str], out: Path, err: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for descriptor, path in ((1, out), (2, err)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for name, descriptor, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        setattr(sys, name, os.fdopen(descriptor, mode, closefd=False))
    sys.argv = ["quarterdeck", *words]
    from dashboard.__main__ import main

    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
