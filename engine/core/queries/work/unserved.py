"""Ready work that nobody may take as things stand: no agent serves its queue, or all who do are leaving.

A paused or away agent that stays, one in error, a spent budget and an open circuit are no such reason: each is shown
where it stands, and ends. A leaving agent still does what waits in its own queue, unless it is paused, away or broken.
"""

from collections.abc import Iterator

from engine.core.queries.team.able import why_away
from engine.core.queries.work.queues import capability_of, is_for_named_members, member_names_in, own_queue
from engine.core.state import NOBODY, Agent, Escalation, Queue, State, Task


def unserved_queues(state: State, *, of_leaving: bool = False) -> Iterator[Queue]:
    """Yield the queues with work that nobody may take; `of_leaving` looks at those of leaving agents alone."""
    leaving = [state.agents[member_id] for member_id in state.leaving if member_id in state.agents]
    keys = dict.fromkeys(key for agent in leaving for key in agent.queues) if of_leaving else state.queues
    for key in keys:
        queue = state.queues[key]
        if queue.ready and not key.startswith("back:") and not has_taker(state, queue):
            yield queue
    for agent in leaving:
        queue = state.queues[own_queue(agent.id)]
        if not queue.ready and agent.parked and not has_taker(state, queue) and any(_held_attempts(state, agent)):
            yield queue


def has_taker(state: State, queue: Queue) -> bool:
    """Return whether an agent may take from a queue, now or once it is free, resumed, back or mended."""
    return any(may_take(state.agents[agent_id], queue.key) for agent_id in queue.agents)


def may_take(agent: Agent, queue_key: str) -> bool:
    """Return whether an agent may take from a queue, now or later."""
    if agent.removing is None:
        return True
    is_held = agent.paused or agent.away or agent.error is not None
    return agent.removing == "drain" and queue_key == own_queue(agent.id) and not is_held


def unserved_tasks(state: State, queue: Queue) -> list[Task]:
    """Return the tasks that wait in a queue that nobody serves, and those whose attempts its leaving agent has parked.

    The oldest are first.
    """
    tasks = [task for task in state.tasks.values() if task.ready and task.queue == queue.key]
    if queue.agents and queue.key == own_queue(queue.agents[0]):
        tasks += _held_attempts(state, state.agents[queue.agents[0]])
    return sorted(tasks, key=lambda task: (task.ready_seq or 0, int(task.id[1:])))


def _held_attempts(state: State, agent: Agent) -> Iterator[Task]:
    """Yield the tasks with attempts that a pause of their agent holds."""
    for task in map(state.tasks.__getitem__, agent.parked):
        if agent.paused and task.attempt is not None and task.attempt.parked_for == "paused" and not _is_ending(task):
            yield task


def _is_ending(task: Task) -> bool:
    return task.attempt is None or task.attempt.stopping is not None


def queue_of(state: State, question: Escalation) -> str:
    """Return the key of the queue that such a question is about; empty if its task waits for somebody no more."""
    task = state.tasks.get(question.subject)
    if question.kind != NOBODY or task is None or task.ended:
        return ""
    if task.attempt is None:
        return task.queue or "" if task.ready or task.held_back else ""
    return "" if task.attempt.agent_id is None or _is_ending(task) else own_queue(task.attempt.agent_id)


def describe_lack(state: State, queue: Queue) -> str:
    """Return why nobody may take from a queue, in words."""
    if queue.agents and queue.key == own_queue(queue.agents[0]):
        agent = state.agents[queue.agents[0]]
        if agent.removing == "drain":
            return f"{agent.name} {_why_held(agent)}, and is being removed"
        return f"{agent.name} is being removed"
    capability = capability_of(queue.key)
    if is_for_named_members(queue.key):
        return f"none of {', '.join(member_names_in(capability))} is there"
    return f"no agent can {capability!r}" if capability else "no agent can do it"


def _why_held(agent: Agent) -> str:
    if agent.error is not None:
        return f"cannot work: {agent.error}"
    return f"waits: {why_away(agent)}" if agent.away else "is paused"
