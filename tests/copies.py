"""Tests that run on a changed copy of the product."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[1]


def run_on_copy(folder: Path, change: Callable[[Path], None], *tests: str) -> None:
    """Run tests on a changed copy of the product, which all have to pass."""
    for package in ("dashboard", "engine", "store"):  # in one folder, or a command of the shell refuses to start
        shutil.copytree(ROOT / package, folder / package)
    change(folder)
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
