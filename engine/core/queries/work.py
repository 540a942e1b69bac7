"""What a task is part of, and what is part of it."""

from collections.abc import Iterator

from engine.core.state import State, Task


def up(state: State, task: Task) -> Iterator[Task]:
    """Yield `task` and everything that it is part of, up to the root of its run."""
    above: Task | None = task
    while above is not None:
        yield above
        above = state.tasks[above.parent_id] if above.parent_id is not None else None


def below(state: State, task: Task) -> list[Task]:
    """Return `task` and every task under it."""
    found = [task]
    for one in found:
        found += [state.tasks[child] for child in one.children]
    return found
