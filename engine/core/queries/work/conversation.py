"""The part of a conversation that an attempt sees."""

from engine.core.state import EXCHANGES, Exchange, Run, State, Task


def remembered_by(state: State, task: Task) -> list[Exchange]:
    """Return the exchanges that a task sees, oldest first."""
    run = state.runs[task.run_id]
    if run.conversation is None or not run.remembers or not speaks_in(state, task):
        return []
    exchanges = state.supervisors[run.supervisor_id].conversations[run.conversation].exchanges
    return [exchanges[number] for number in range(max(0, run.remembers - EXCHANGES), run.remembers)]


def worked_before(state: State, run: Run, group: Task) -> list[str]:
    """Return the members that worked on the run before in the conversation that a group is part of."""
    if run.conversation is None or not speaks_in(state, group):
        return []
    return state.supervisors[run.supervisor_id].conversations[run.conversation].worked


def speaks_in(state: State, task: Task) -> bool:
    """Tell whether a task is part of the conversation of its run.

    What was delegated was asked for in other words, which say all that there is to know: it is not.
    """
    if state.runs[task.run_id].conversation is None:
        return False
    above: Task | None = task
    while above is not None:
        if above.call_key is not None:
            return False
        above = state.tasks.get(above.parent_id or "")
    return True
