"""Replays a finished run and reports the result as text: for its page and for the command line."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.names import readable
from engine.core.errors import CoreError
from engine.errors import EngineError
from store import StoreError

if TYPE_CHECKING:
    from engine.history.replaying import Replay

_BLANK = Cell("")


def describe_replay(replay: "Replay") -> str:
    """Describe whether a replay gives the same result, or where it differs."""
    steps, difference = pluralize(replay.steps, "recorded step"), replay.differs
    if difference is None:
        return f"✓ {replay.run_id} gives the same result: {steps} answered from the journal"
    where = {"output": f"the output of {difference.task_id}", "plan": f"the plan of {difference.task_id}"}
    place = where.get(difference.step, f"step {difference.step} of {difference.task_id}")
    return f"{replay.run_id} differs at {place} ({steps} answered from the journal)"


def replay_cells(db: Path, run_id: str) -> list[Cell]:
    """Replay a finished run and return the paragraphs of its page; blocks.

    Args:
        db: The database; only read.
    """
    from engine.history.replaying import replay  # slow import: needed only for replays
    from engine.trusted_code.trust import user_list

    try:
        result = anyio.run(lambda: replay(db, run_id, allowed=user_list()))
    except (EngineError, CoreError, StoreError, OSError) as error:
        return [Cell(f"{run_id} cannot be replayed: {error}", "error")]
    cells = [Cell(describe_replay(result), "done" if result.differs is None else "warn"), _BLANK]
    if (difference := result.differs) is not None:
        cells += [labelled_cell("task", difference.task_id), labelled_cell("step", difference.step), _BLANK]
        for title, value in (("WAS", difference.was), ("NOW", difference.now)):
            cells += [Cell(title, "muted"), Cell("nothing" if value is None else readable(value)), _BLANK]
    shell = f"quarterdeck replay {run_id} --db {shlex.quote(str(db))}"
    return [
        *cells,
        Cell("No model, tool or program was called, and nothing was written. The same from a shell:", "muted"),
        Cell(shell, "", "  "),
        _BLANK,
        Cell("To go on from one of its steps with another model, in a new database:", "muted"),
        Cell(f"{shell} --with-model NAME --from TASK/STEP --into NEW.db", "", "  "),
    ]
