"""What an attempt is told of the runs before its own."""

from engine.core.state import EXCHANGES, Exchange, State, Task


def remembered_by(state: State, task: Task) -> list[Exchange]:
    """Return the exchanges that a task sees, the oldest first.

    They are those before the request. What was delegated was asked for in other words, which say all that there is to
    know: it sees none of them.
    """
    run = state.runs[task.run_id]
    if run.conversation is None or not run.remembers:
        return []
    above: Task | None = task
    while above is not None:
        if above.call_key is not None:
            return []
        above = state.tasks.get(above.parent_id or "")
    exchanges = state.supervisors[run.supervisor_id].conversations[run.conversation].exchanges
    return [exchanges[number] for number in range(max(0, run.remembers - EXCHANGES), run.remembers)]
