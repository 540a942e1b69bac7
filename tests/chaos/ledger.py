"""What the crew of a chaos run says that it did, held against what the journal says.

The ledger is written by the crew itself, from inside its functions; the journal by the engine. Neither knows the other.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from engine.core.events import AttemptDone, Event, StepRecorded

STEPS = (
    *pairwise(f"look {number}" for number in range(6)),
    *pairwise(f"move {number}" for number in range(3)),
    *pairwise(("put on", "read off", "take off")),
)
"""Steps of the crew, each with the one that the same function begins once it was told that the first is recorded."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the ledger."""

    what: str
    """`begin`, `end` or `failed`."""
    name: str
    """A task or a step of one; or the text of a task whose function gets nothing else."""
    engine: int
    """Process of the engine that it was done for."""


def lines_of(ledger: Path) -> list[Line]:
    """Return the lines so far; one that a kill cut off is no line."""
    if not ledger.exists():
        return []
    whole = ledger.read_bytes().split(b"\n")[:-1]
    said = [json.loads(line) for line in whole]
    return [Line(one["what"], one["name"], one["engine"]) for one in said]


def finished_in(journal: Iterable[Event]) -> set[str]:
    """Return the names, as the ledger has them, of everything that the journal has as finished."""
    names: set[str] = set()
    for event in journal:
        if isinstance(event, StepRecorded):
            names.add(f"{event.task_id}/{event.name}")
        elif isinstance(event, AttemptDone):
            names.add(event.task_id)
            if isinstance(event.output, dict) and "item" in event.output:
                names.add(str(event.output["item"]))
    return names


def done_again(lines: Iterable[Line], finished: set[str]) -> list[Line]:
    """Return the lines of work that was finished before."""
    return [line for line in lines if line.name in finished]


def unrecorded(lines: Iterable[Line], finished: set[str]) -> list[str]:
    """Return the steps that an agent was told are recorded, since it went on to the next one, and that are not."""
    before = {after: step for step, after in STEPS}
    begun = (line.name.partition("/") for line in lines if line.what == "begin")
    told = (f"{task}/{before[step]}" for task, _, step in begun if step in before)
    return [name for name in told if name not in finished]


def ended_twice(lines: Iterable[Line]) -> list[str]:
    """Return what came to its end more than once under one engine."""
    ends = Counter((line.engine, line.name) for line in lines if line.what == "end")
    return [name for (_, name), times in ends.items() if times > 1]
