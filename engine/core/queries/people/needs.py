"""What waits for a person, in order: the one rule for the inbox, the badge, the bell and the command line.

Only what a person can act on is in it: each entry has an action that would be accepted now. A failure that its graph
tolerates, or whose outcome was used already, is not.
"""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from engine.core.queries.work.retries import why_no_retry
from engine.core.state import State, Task, TaskStatus

Reach: TypeAlias = Literal["team", "run", "agent", "task", "nothing"]
"""What a need holds back: all work of a team, a run, the work of an agent, a task, or nothing any more."""
_RANKS: dict[Reach, int] = {"team": 0, "run": 1, "agent": 2, "task": 3, "nothing": 4}


def needs_person(state: State, stuck: Iterable[str] = ()) -> list[str]:
    """Return the ids that need a person: questions, members in error, stuck agents, and failures to retry.

    What holds back the most comes first, then what has waited longest.

    Args:
        stuck: Ids of agents whose attempts make no progress.
    """
    ids = [*state.escalations]
    ids += [agent.id for agent in state.agents.values() if agent.error is not None and agent.removing is None]
    ids += [
        supervisor.id
        for supervisor in state.supervisors.values()
        if supervisor.error is not None and supervisor.leaving is None
    ]
    ids += [agent_id for agent_id in stuck if agent_id in state.agents and agent_id not in ids]
    failed = TaskStatus.FAILED
    ids += [
        task.id
        for task in state.tasks.values()
        if task.status is failed and task.kind == "agent" and _is_left_to_person(state, task)
    ]
    return sorted(ids, key=lambda an_id: (_RANKS[reach_of(state, an_id)], since_ms(state, an_id) or 0))


def _is_left_to_person(state: State, task: Task) -> bool:
    return not task.optional and not task.tolerated and why_no_retry(state, task) is None


def reach_of(state: State, need_id: str) -> Reach:
    """Return what a need holds back."""
    question = state.escalations.get(need_id)
    subject = need_id if question is None else question.subject
    if subject in state.supervisors:
        return "team"
    if subject in state.runs:
        return "run"
    if subject in state.agents:
        return "agent"
    task = state.tasks.get(subject)
    if task is None or task.ended:
        return "nothing"
    run = state.runs.get(task.run_id)
    return "run" if run is not None and run.root_id == task.id else "task"


def since_ms(state: State, need_id: str) -> int | None:
    """Return when a need arose, in UTC milliseconds; None if the state does not say."""
    if (question := state.escalations.get(need_id)) is not None:
        return question.asked_ms
    task = state.tasks.get(need_id)
    return None if task is None else task.ended_ms
