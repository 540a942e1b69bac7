"""What the contract suites share: every kind of store, and processes of their own."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import pytest

Target = Path | Literal[":memory:"]


@pytest.fixture(params=["files", "memory"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """Where to open a store: every promise holds for files and for memory."""
    return tmp_path / "team.db" if request.param == "files" else ":memory:"


@pytest.fixture
def started() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Run a program in a Python of its own, ended with the test."""
    with ExitStack() as stack:

        def start(program: str, *arguments: object) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", program, *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start
