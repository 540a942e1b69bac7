"""Finds the attempts that spend a budget, and the unstarted work that would.

Ended work is ignored. See docs/semantics/limits.md.
"""

from engine.core.queries.money.budget import Budget, Subject
from engine.core.queries.team.tree import agents_of, lineage_of, tasks_of, tasks_to_end
from engine.core.state import Agent, Run, State, Supervisor, Task, TaskStatus


def has_work_left(state: State, subject: Subject, budget: Budget) -> bool:
    """Return whether agent tasks are certain to be left when the running attempts have ended."""
    if isinstance(subject, Agent | Supervisor):
        # More work may always come. A person is asked only when it does (`before_start`), so not now.
        return budget.then != "ask"
    return any(_is_pending(state, task) for task in tasks_of(state, subject))


def _is_pending(state: State, task: Task) -> bool:
    if task.attempt is not None or task.ended:
        return False
    if task.kind != "agent" and (task.kind != "group" or task.status is not TaskStatus.WAITING):
        return False
    # If a node needs n of m answers, they may come from running tasks.
    if any(state.tasks[following_id].need for node in lineage_of(state, task) for following_id in node.before):
        return False
    # A task after a check may be skipped by its verdict.
    predecessor_ids = list(task.after)
    for task_id in predecessor_ids:
        predecessor = state.tasks[task_id]
        if not predecessor.ended:
            if predecessor.kind == "check":
                return False
            predecessor_ids += [before_id for before_id in predecessor.after if before_id not in predecessor_ids]
    return True


def is_agent_at_work(task: Task) -> bool:
    """Return whether an agent works on a task, not the engine itself."""
    return task.attempt is not None and task.attempt.agent_id is not None


def spending_tasks_to_end(state: State, subject: Subject) -> tuple[list[str], list[str]]:
    """Return the tasks that end at once with a budget, and those whose attempt has to stop first."""
    return tasks_to_end(state, subject) if isinstance(subject, Task | Run) else ([], spending_tasks(state, subject))


def spending_tasks(state: State, subject: Subject) -> list[str]:
    """Return the tasks whose attempts spend a budget; an attempt that waits for delegations spends nothing."""
    if isinstance(subject, Task | Run):
        _, working = tasks_to_end(state, subject)
        tasks = [state.tasks[task_id] for task_id in working]
    else:
        agents = agents_of(state, subject.id)
        tasks = [state.tasks[task_id] for agent in agents for task_id in (*agent.running, *agent.parked)]
    return [task.id for task in tasks if is_agent_at_work(task) and not _waits_for_calls(task)]


def _waits_for_calls(task: Task) -> bool:
    attempt = task.attempt
    return attempt is not None and attempt.parked and attempt.parked_for is None


def tasks_not_stopping(state: State, task_ids: list[str]) -> list[str]:
    """Return the tasks of `task_ids` with an attempt of an agent that is not asked to stop yet."""
    tasks = (state.tasks[task_id] for task_id in task_ids)
    return [task.id for task in tasks if is_agent_at_work(task) and task.attempt and task.attempt.stopping is None]
