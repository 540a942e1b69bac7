"""The dashboard in a real terminal: its first frame, how soon a key is on the screen while 1,000 agents work, and what
it costs: processor time and memory.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.bench.databases import long, written
from tests.bench.histories import mapped
from tests.bench.measure import Series
from tests.bench.processes import environment, ticking
from tests.bench.report import Row
from tests.bench.terminal import PYTHON, Terminal

DASHBOARD = (*PYTHON, "-m", "dashboard")
TRIVIAL = (*PYTHON, "-m", "tests.bench.trivial_app")
_FLOOR_IS = "a Textual app of one text and one input"
_TYPED = (("a", "/ a "), ("1", "/ a1 "), ("2", "/ a12 "), ("\x7f", "/ a1 "), ("\x7f", "/ a "), ("\x7f", "sorted: "))
"""Keys in the line for a filter, and what stands at the right of the tabs once each is on the screen."""
_MOVED = (*(("j", f"▌a{line} ") for line in (1, 2, 3)), *(("k", f"▌a{line} ") for line in (2, 1, 0)))
"""Keys that move the cursor, and the line that it stands on then."""
_CATCHES_UP_S = 4.0
"""In this time a dashboard has folded what came while it started."""
_ECHOED = tuple((key, "qwxyz"[: place + 1]) for place, key in enumerate("qwxyz"))


def rows(quick: bool) -> Iterator[Row]:
    """Measure an empty file, a long one, and keys at two rates of events."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(environment())
        empty = written(folder / "empty.db", [])
        yield _first_frame("empty file", empty, "no team here yet", None, variables, 2 if quick else 8)
        events = 100_000 if quick else 1_000_000
        full = long(folder / "full.db", mapped(1_000, 1_000).world.journal, events)
        yield _first_frame(f"{events:,} events, 1,000 agents", full, "a1 ", 1_000.0, variables, 2 if quick else 8)
        busy = long(folder / "busy.db", mapped(9_000 if quick else 25_000, 1_000).world.journal, events)
        for rate, floors, budget_ms in ((1_000, 3.0, 120.0), (10_000, 5.0, 250.0)):
            path = _copied(busy, folder / f"{rate}-keys.db")
            yield from _keys(path, rate, variables, 5 if quick else 20, floors=floors)
            path.unlink()
            # Another one: a dashboard that opens the first has a minute of events to fold that no snapshot has.
            path = _copied(busy, folder / f"{rate}.db")
            with ticking(path, rate, variables):
                yield from _second(f"caught up, while {rate:,} events happen", path, variables, budget_ms)
            path.unlink()
        yield from _second("while nothing happens", full, variables, 20.0)


def _copied(path: Path, target: Path) -> Path:
    """Copy a file, and wait until it is on the disk: who appends to it would be held up by that, and then hurry."""
    with Path(shutil.copy(path, target)).open("r+b") as file:
        os.fsync(file.fileno())
    return target


def _first_frame(
    what: str, path: Path, shows: str, budget_ms: float | None, variables: Mapping[str, str], rounds: int
) -> Row:
    """Measure until a text is there; without a budget of its own it is judged by the processor time of the floor."""
    took, floor = Series(), Series()
    for turn in range(rounds + 1):
        for series, command, text in ((took, DASHBOARD, shows), (floor, TRIVIAL, "nothing else")):
            wall_s, cpu_s = _started(command, text, {**variables, "QUARTERDECK_DB": str(path)})
            if turn:
                series.add(wall_s, cpu_s)
    return Row(
        what=f"first frame; {what}",
        took=took,
        floor=floor,
        floor_is=_FLOOR_IS,
        budget=budget_ms,
        floors=2.2 if budget_ms is None else None,
        computes=budget_ms is None,
    )


def _started(command: Sequence[str], text: str, variables: Mapping[str, str]) -> tuple[float, float]:
    with _running(command, variables) as terminal:
        return terminal.wait_for(text) - terminal.began_s, terminal.cpu_s()


def _keys(path: Path, rate: int, variables: Mapping[str, str], rounds: int, *, floors: float) -> Iterator[Row]:
    """Measure the key that is pressed most, and those that cost most: each looks at all agents anew."""
    here = {**variables, "QUARTERDECK_DB": str(path)}
    with _running(DASHBOARD, here) as terminal, ticking(path, rate, variables):
        terminal.wait_for("a1 ")
        terminal.press("0")
        terminal.wait_for("AGENT")
        time.sleep(1.0)
        moved = _typed(terminal, _MOVED, rounds)
        terminal.press("/")
        time.sleep(0.5)
        filtered = _typed(terminal, _TYPED, rounds)
    with _running(TRIVIAL, here) as terminal, ticking(path, rate, variables):
        terminal.wait_for("nothing else")
        time.sleep(0.5)
        floor = Series()
        for _ in range(rounds):
            some = _typed(terminal, _ECHOED, 1)
            floor.wall_s += some.wall_s
            floor.cpu_s += some.cpu_s
            terminal.press("\x7f" * len(_ECHOED))
            terminal.quiet(0.1)
    for what, took in (("the cursor moved by a key", moved), ("rows filtered by a key", filtered)):
        yield Row(
            what=f"{what}; 1,000 agents, {rate:,} events/s",
            took=took,
            floor=floor,
            floor_is="a key in that app while another process appends as many",
            floors=floors,
            at_p95=True,
        )


def _typed(terminal: Terminal, keys: Sequence[tuple[str, str]], rounds: int) -> Series:
    """Type one key after the other, at moments that keep no step with anything."""
    took = Series()
    for turn in range(rounds):
        for place, (key, text) in enumerate(keys):
            cpu_s = terminal.cpu_s()
            pressed_s = terminal.press(key)
            took.add(terminal.wait_for(text, 10.0) - pressed_s, terminal.cpu_s() - cpu_s)
            terminal.watch(0.05 + 0.013 * ((7 * turn + 3 * place) % 11))  # a program waits for one that does not read
    return took


def _second(what: str, path: Path, variables: Mapping[str, str], budget_ms: float) -> Iterator[Row]:
    """Measure what the dashboard costs: milliseconds of processor time a second, and memory at most."""
    here = {**variables, "QUARTERDECK_DB": str(path)}
    (used, peak), (floor, floor_peak) = _used(DASHBOARD, "a1 ", here), _used(TRIVIAL, "nothing else", here)
    yield Row(
        what=f"dashboard {what}; processor time a second",
        took=used,
        floor=floor,
        floor_is="that app",
        budget=budget_ms,
    )
    yield Row(
        what=f"dashboard {what}; memory",
        took=peak,
        floor=floor_peak,
        floor_is="memory of that app",
        unit="kB",
        budget=100_000.0,
    )


def _used(command: Sequence[str], shows: str, variables: Mapping[str, str]) -> tuple[Series, Series]:
    used, peak = Series(), Series()
    with _running(command, variables) as terminal:
        terminal.wait_for(shows)
        terminal.watch(_CATCHES_UP_S)
        for _ in range(3):
            before_s, began_s = terminal.cpu_s(), time.perf_counter()
            terminal.watch(2.0)
            share = (terminal.cpu_s() - before_s) / (time.perf_counter() - began_s)
            used.add(share, share)
        peak.add(terminal.peak_kb(), terminal.peak_kb())
    return used, peak


@contextmanager
def _running(command: Sequence[str], variables: Mapping[str, str]) -> Iterator[Terminal]:
    terminal = Terminal(command, variables)
    try:
        yield terminal
    finally:
        terminal.close()
