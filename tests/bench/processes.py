"""Processes to measure: with their bytecode at hand, as an installed program has it, and nothing of this person's."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def environment() -> Iterator[dict[str, str]]:
    """Return what processes are started with; the first one of each program fills the bytecode cache."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name != "PYTHONDONTWRITEBYTECODE" and not name.startswith("QUARTERDECK_")
        }
        home = Path(folder) / "home"
        home.mkdir()
        yield kept | {"PYTHONPYCACHEPREFIX": str(Path(folder) / "bytecode"), "HOME": str(home)}


@contextmanager
def ticking(path: Path, rate: int, variables: Mapping[str, str]) -> Iterator[None]:
    """Have so many events a second appended to a file by another process."""
    command = [sys.executable, "-P", "-m", "tests.bench.ticker", str(path), str(rate)]
    with subprocess.Popen(command, env=dict(variables), stdout=subprocess.PIPE) as ticker:
        assert ticker.stdout is not None
        ticker.stdout.readline()
        try:
            yield
        finally:
            ticker.terminate()
