"""What a program pays before its first line: imports, each in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator

from tests.bench.measure import Series
from tests.bench.report import Row

_FLOOR = "import asyncio, dataclasses, json, sqlite3"


def rows(quick: bool) -> Iterator[Row]:
    """Measure `import engine`, and what a program really takes from it."""
    rounds = 4 if quick else 12
    for what, line in (
        ("import engine", "import engine"),
        ("import engine, and take DynamicSupervisor", "from engine import DynamicSupervisor"),
    ):
        took, floor = Series(), Series()
        for turn in range(rounds + 1):
            for series, program in ((took, line), (floor, _FLOOR)):
                measured = _imported(program)
                if turn:
                    series.add(*measured)
        yield Row(what=what, took=took, floor=floor, floor_is=_FLOOR, budget=300.0)


def _imported(line: str) -> tuple[float, float]:
    """Return what a line takes in a new process, in seconds: by the clock, and of the processor."""
    program = (
        f"import time\na, b = time.perf_counter(), time.process_time()\n{line}\n"
        "print(time.perf_counter() - a, time.process_time() - b)"
    )
    answer = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    wall_s, cpu_s = map(float, answer.stdout.split())
    return wall_s, cpu_s
