"""What a task is part of, and what is part of it."""

from collections.abc import Iterator

from engine.core.state import Run, State, Task


def up(state: State, task: Task) -> Iterator[Task]:
    """Yield `task` and everything that it is part of, up to the root of its run."""
    above: Task | None = task
    while above is not None:
        yield above
        above = state.tasks[above.parent_id] if above.parent_id is not None else None


def cause_of(state: State, task: Task) -> Task | Run:
    """Return the nearest that is being stopped of a task and what it is part of; its run where nothing else is."""
    return next((one for one in up(state, task) if one.cancelling), state.runs[task.run_id])


def is_cancelled(state: State, task: Task) -> bool:
    """Return True when `task`, or anything that it is part of, is being cancelled."""
    return cause_of(state, task).cancelling


def why_cancelled(state: State, task: Task) -> str:
    """Return for what a task is cancelled, in the words of who did it."""
    return cause_of(state, task).cancelled_for or "cancelled"


def below(state: State, task: Task) -> list[Task]:
    """Return `task` and every task under it."""
    found = [task]
    for one in found:
        found += [state.tasks[child] for child in one.children]
    return found
