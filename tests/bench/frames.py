"""What a frame of each screen and page costs while agents work, in processor time: a real terminal, two sizes."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dashboard.deck.places import places
from tests.bench.busy import at_work
from tests.bench.chosen import is_chosen
from tests.bench.measure import Series
from tests.bench.processes import environment
from tests.bench.report import Row
from tests.bench.terminal import PYTHON, Terminal, plain

PAGES = ("supervisor", "agent", "run", "task", "event", "describe", "raw")
AGENTS = (19, 60, 1_000)
SIZES = {(120, 40): 15.0, (200, 60): 25.0}
"""What a frame may cost at each size, in milliseconds."""
_STRETCHES = 5
"""Of ten frames each: two seconds of the team."""
_PATIENCE_S = 1_200.0


def rows(quick: bool) -> Iterator[Row]:
    """Measure every place in teams of three sizes."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(environment())
        for agents in AGENTS:
            for size, budget_ms in SIZES.items():
                what = {name: _told(name, agents, size) for name in (*places(), *PAGES)}
                asked = [name for name, told in what.items() if is_chosen(told)]
                if not asked:
                    continue
                path = at_work(folder / f"{agents}-{size[0]}.db", agents)
                found = _visited(path, asked, variables, size=size, stretches=1 if quick else _STRETCHES)
                for name, costs_s in found["costs"].items():
                    yield Row(what=what[name], took=Series(costs_s, costs_s), budget=budget_ms, computes=True)


def _told(name: str, agents: int, size: tuple[int, int]) -> str:
    return f"a frame of {name}; {agents:,} agents, {size[0]}x{size[1]}"


def _visited(
    path: Path, asked: Sequence[str], variables: Mapping[str, str], *, size: tuple[int, int], stretches: int
) -> Any:
    """Return what a dashboard says that its frames cost."""
    found = path.with_suffix(".json")
    command = (*PYTHON, "-m", "tests.bench.shown", str(path), ",".join(asked), str(stretches), str(found))
    terminal = Terminal(command, variables, size=size)
    try:
        terminal.until_it_ends(_PATIENCE_S)
        if not found.exists():
            raise RuntimeError(f"it found nothing; it showed {plain(terminal.written)[-2000:]!r}")
    finally:
        terminal.close()
    return json.loads(found.read_text())
