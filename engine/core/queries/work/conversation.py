"""The part of a conversation that an attempt sees."""

from engine.core.state import MAX_EXCHANGES, Exchange, Run, State, Task


def visible_exchanges(state: State, task: Task) -> list[Exchange]:
    """Return the exchanges that a task sees, oldest first."""
    run = state.runs[task.run_id]
    if run.conversation is None or not run.remembers or not is_in_conversation(state, task):
        return []
    exchanges = state.supervisors[run.supervisor_id].conversations[run.conversation].exchanges
    return [exchanges[number] for number in range(max(0, run.remembers - MAX_EXCHANGES), run.remembers)]


def members_of_earlier_runs(state: State, run: Run, group: Task) -> list[str]:
    """Return the members that worked on the previous run of the conversation; none if a group is not part of it."""
    if run.conversation is None or not is_in_conversation(state, group):
        return []
    return state.supervisors[run.supervisor_id].conversations[run.conversation].worked


def is_in_conversation(state: State, task: Task) -> bool:
    """Return whether a task is part of the conversation of its run; delegated work is not.

    The text of a delegation is written by an agent and meant to be complete.
    """
    if state.runs[task.run_id].conversation is None:
        return False
    ancestor: Task | None = task
    while ancestor is not None:
        if ancestor.call_key is not None:
            return False
        ancestor = state.tasks.get(ancestor.parent_id or "")
    return True
