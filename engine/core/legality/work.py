"""Laws of runs and tasks: counts, blockers, timers, time at work, conversations."""

from collections import Counter
from collections.abc import Iterator

from engine.core.state import ENDED, MAX_EXCHANGES, State, TaskStatus


def runs_count_their_tasks(state: State) -> Iterator[str]:
    """The counts of a run equal those of its tasks."""
    for run in state.runs.values():
        tasks = [state.tasks[task_id] for task_id in run.tasks]
        agents = Counter([task.status for task in tasks if task.kind == "agent"])
        counted = (
            agents.total(),
            sum(agents[status] for status in ENDED),
            agents[TaskStatus.DONE],
            agents[TaskStatus.FAILED],
            len([task for task in tasks if task.attempt is not None]),
        )
        recorded = (run.total, run.ended, run.done, run.failed, run.running)
        if recorded != counted:
            yield f"{run.id} says {recorded} total, ended, done, failed, running; counted {counted}"


def ended_tasks_are_at_rest(state: State) -> Iterator[str]:
    """A task that has ended has no attempt."""
    for task in state.tasks.values():
        if task.ended and task.attempt is not None:
            yield f"{task.id} is {task.status} and at work"


def tasks_count_what_they_wait_for(state: State) -> Iterator[str]:
    """The counts of a task's blockers, open children and open delegations are right."""
    open_tasks = {task.id for task in state.tasks.values() if task.status not in ENDED}
    is_open = open_tasks.__contains__
    for task in state.tasks.values():
        blockers = sum(map(is_open, task.after)) if task.after else 0
        if task.blockers != blockers and task.id in open_tasks:
            yield f"{task.id} says that {task.blockers} block it; {blockers} do"
        if task.open != (sum(map(is_open, task.children)) if task.children else 0):
            yield f"{task.id} says that {task.open} of its children are open"
        for call in task.calls.values():
            if call.open != sum(map(is_open, call.children)):
                yield f"{task.id} says that {call.open} of the call {call.key} are open"


def backing_off_has_a_timer(state: State) -> Iterator[str]:
    """Exactly the tasks that back off have a retry timer."""
    set_for = {key.removeprefix("retry:") for key in state.timers if key.startswith("retry:")}
    retrying = {task.id for task in state.tasks.values() if task.status is TaskStatus.RETRYING}
    for task_id in sorted(set_for ^ retrying):
        yield f"{task_id} is to be tried again, or has a timer for that, but not both"


def runs_know_the_time_that_is_being_spent(state: State) -> Iterator[str]:
    """A run has the right number of attempts at work, and the right sum of their start times."""
    for run in state.runs.values():
        attempts = [state.tasks[task_id].attempt for task_id in run.tasks]
        agent_attempts = [attempt for attempt in attempts if attempt is not None and attempt.agent_id is not None]
        count = sum(not attempt.parked for attempt in agent_attempts)
        since_ms = sum(attempt.since_ms for attempt in agent_attempts)
        if (run.at_work, run.since_ms) != (count, since_ms):
            yield f"{run.id} says {run.at_work} at work since {run.since_ms} in sum; {count} are, {since_ms}"


def conversations_are_remembered(state: State) -> Iterator[str]:
    """A conversation holds exactly the exchanges that its next run and its open runs remember."""
    open_runs: dict[tuple[str, str], list[int]] = {}
    for run in state.runs.values():
        if run.conversation is not None:
            open_runs.setdefault((run.supervisor_id, run.conversation), []).append(run.remembers)
        elif run.remembers:
            yield f"{run.id} remembers runs of no conversation"
    for supervisor in state.supervisors.values():
        for name, conversation in supervisor.conversations.items():
            remembered_counts = open_runs.pop((supervisor.id, name), [])
            numbers = Counter(number for run_count in remembered_counts for number in _remembered_range(run_count))
            expected = {number: numbers[number] for number in {*_remembered_range(conversation.ended), *numbers}}
            readers_by_number = {number: exchange.readers for number, exchange in conversation.exchanges.items()}
            if conversation.open != len(remembered_counts) or readers_by_number != expected:
                yield f"the conversation {name[:40]!a} of {supervisor.id} holds other runs than it is to"
    for supervisor_id, name in open_runs:
        yield f"the conversation {name[:40]!a} of {supervisor_id} is not there"


def _remembered_range(run_count: int) -> range:
    return range(max(0, run_count - MAX_EXCHANGES), run_count)
