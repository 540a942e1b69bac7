"""What a strategy switch would keep, stop and plan anew, in words."""

from dashboard.views.amounts import counted
from dashboard.views.rows import Cell
from engine.core.events import StrategySwitched
from engine.core.state import State
from engine.core.strategies import STRATEGIES


def strategies() -> list[tuple[str, str]]:
    """Return every strategy with what it does."""
    return [(name, one.about) for name, one in STRATEGIES.items()]


def consequence(state: State, event: StrategySwitched) -> list[Cell]:
    """Return what the switch does to graphs in progress."""
    if not event.groups:
        return [Cell("no open run is planned anew; the next request is coordinated like that")]
    kept = [task_id for change in event.groups for task_id in change.kept]
    done = sum(task_id in state.tasks and state.tasks[task_id].ended for task_id in kept)
    new = sum(len(change.added) for change in event.groups)
    planned = sum(
        task_id not in {*change.kept, *change.cancelled} for change in event.groups for task_id in change.after
    )
    stopped = sum(len(change.cancelled) for change in event.groups)
    parts = [f"kept {done} done, {len(kept) - done} running", f"planned anew {planned}"]
    left_out = sum(len(change.removed) for change in event.groups)
    counts = (("added", new), ("stopped", stopped), ("left out", left_out))
    parts += [f"{what} {number}" for what, number in counts if number]
    runs = {change.run_id for change in event.groups}
    told = f"{counted(len(event.groups), 'graph')} of {counted(len(runs), 'open run')}: {' · '.join(parts)}"
    return [Cell(told), Cell("Nothing that is done is done again.", "muted")]
