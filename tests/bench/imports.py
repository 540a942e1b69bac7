"""What a program pays before its first line: imports, each in a process of its own; and the command line its help."""

import subprocess
import sys
from collections.abc import Iterator

from tests.bench.measure import Series
from tests.bench.processes import environment
from tests.bench.report import Row

_FLOOR = "import asyncio, dataclasses, json, sqlite3"
_HELP = """
import contextlib, io
from dashboard.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(["--help"])
"""


def rows(quick: bool) -> Iterator[Row]:
    """Measure `import quarterdeck`, and what a program really takes from it."""
    rounds = 4 if quick else 12
    for what, line, budget_ms in (
        ("import quarterdeck", "import quarterdeck", 300.0),
        ("import quarterdeck, and take DynamicSupervisor", "from quarterdeck import DynamicSupervisor", 300.0),
        ("import engine.host", "import engine.host", None),
        ("quarterdeck --help", _HELP, 100.0),
    ):
        took, floor = _interleaved(line, rounds)
        yield Row(what=what, took=took, floor=floor, floor_is=_FLOOR, budget=budget_ms)


def _interleaved(line: str, rounds: int) -> tuple[Series, Series]:
    found = Series(), Series()
    with environment() as variables:
        for turn in range(rounds + 1):
            for series, program in zip(found, (line, _FLOOR), strict=True):
                measured = _imported(program, variables)
                if turn:
                    series.add(*measured)
    return found


def _imported(line: str, variables: dict[str, str]) -> tuple[float, float]:
    """Return what a line takes in a new process, in seconds: by the clock, and of the processor."""
    program = (
        f"import time\na, b = time.perf_counter(), time.process_time()\n{line}\n"
        "print(time.perf_counter() - a, time.process_time() - b)"
    )
    command = [sys.executable, "-P", "-c", program]
    answer = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    wall_s, cpu_s = map(float, answer.stdout.split())
    return wall_s, cpu_s
