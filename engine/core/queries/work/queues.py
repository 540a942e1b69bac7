"""Keys of queues (see `Queue`), and work shared by several named members."""

from collections.abc import Iterator

from engine.core.events import ItemReturned
from engine.core.queries.team.able import is_able
from engine.core.queries.team.tree import above_of, agents_of, below, is_cancelled
from engine.core.state import Agent, Queue, State, Supervisor, Task


def own_queue(agent_id: str) -> str:
    """Return the key of the queue of one agent."""
    return f"agent:{agent_id}"


def back_queue(agent_id: str) -> str:
    """Return the key of the queue of attempts that wait to resume on an agent."""
    return f"back:{agent_id}"


def able_queue(supervisor_id: str, capability: str) -> str:
    """Return the key of the capability queue of one supervisor."""
    return f"able:{supervisor_id}:{capability}"


def shared_queue(supervisor_id: str, depth: int, capability: str) -> str:
    """Return the key of the capability queue shared by all teams `depth` levels below a supervisor."""
    return f"able:{supervisor_id}+{depth}:{capability}"


def capability_of(key: str) -> str:
    """Return the capability in the key of a capability queue; empty for any other queue."""
    return key.split(":", 2)[2] if key.startswith("able:") else ""


def is_shared(key: str) -> bool:
    """Return True for the key of a queue shared by several teams."""
    return key.startswith("able:") and "+" in key.split(":", 2)[1]


def turn_key(priority: int, queue: str) -> str:
    """Return the key of a run's last turn in a queue and priority level (`Run.turns`)."""
    return f"{priority} {queue}"


FEW = "any of\N{NO-BREAK SPACE}"
"""Prefix of the capability that stands for a set of named members. No delegation can ask for it: its blanks are
normalized, and the no-break space with them."""


def is_of_few(key: str) -> bool:
    """Return True for the key of a queue shared by several named members."""
    return capability_of(key).startswith(FEW)


def few_of(capability: str) -> list[str]:
    """Return the member names in such a capability; any other capability is returned as it is."""
    return capability.removeprefix(FEW).split(", ") if capability.startswith(FEW) else [capability]


def is_one_of_few(state: State, queue: Queue, supervisor_id: str, name: str) -> bool:
    """Return whether an agent of a supervisor is one of the named members of a queue, or below a team that is."""
    owner, plus, levels = queue.key.split(":", 2)[1].partition("+")
    path = list(above_of(state, state.supervisors[supervisor_id]))
    depth = next((place for place, one in enumerate(path) if one.id == owner), -1) - int(levels or 0)
    if depth < 0 or (depth and not plus):
        return False
    return (path[depth - 1].name if depth else name) in few_of(capability_of(queue.key))


def takers(state: State, member_id: str) -> list[str]:
    """Return the ids of the agents that take work on behalf of a member."""
    return [agent.id for agent in agents_of(state, member_id) if agent.removing is None or agent.id == member_id]


def team_for(state: State, queue: Queue, agent: Agent) -> Supervisor | None:
    """Return the team on behalf of which an agent takes an item; None if the agent itself is a named member.

    The named members are direct members of supervisors at the level that the key gives.
    """
    path: list[Supervisor] = []
    for above in above_of(state, state.supervisors[agent.supervisor_id]):
        path.append(above)
        if above.id == queue.supervisor_id:
            levels = int(queue.key.split(":", 2)[1].partition("+")[2])
            return path[-2 - levels] if len(path) > levels + 1 else None
    return None


def not_begun(state: State, team: Supervisor) -> Iterator[Task]:
    """Yield items that a team has taken but cannot begin, because it or a team between it and the queue is stopped.

    Stopped means paused, or waiting for a person's answer about its budget. Items that are being cancelled or have
    partial outcomes stay.
    """
    above = list(above_of(state, team))
    for task in (state.tasks[task_id] for task_id in team.taken):
        queue = state.queues.get(task.came_from or "")
        place = next((place for place, one in enumerate(above) if queue and one.id == queue.supervisor_id), 0)
        if any(one.paused or one.held for one in above[:place]) and _may_go_back(state, task):
            yield task


def _may_go_back(state: State, task: Task) -> bool:
    work = (one for one in below(state, task) if one.kind in ("agent", "group"))
    return not is_cancelled(state, task) and not any(one.ended and not one.passed_by for one in work)


def others_could_do(state: State, task: Task) -> Task | None:
    """Return the not yet begun item that contains a task, if others that share its queue are able to do it.

    A team with an agent that is free to take the item would take it again at once, and plan it as before.
    """
    for one in above_of(state, task):
        team, queue = state.supervisors.get(one.worker_id or ""), state.queues.get(one.came_from or "")
        if team is None or queue is None or one.id not in team.taken or not _may_go_back(state, one):
            continue
        able = [agent for agent in map(state.agents.__getitem__, queue.agents) if is_able(state, agent)]
        own = [agent for agent in able if team_for(state, queue, agent) is team]
        if len(own) < len(able) and all(agent.paused or agent.away for agent in own):
            return one
    return None


def returned(state: State, item: Task, at_ms: int) -> ItemReturned:
    """Return the event by which a team gives back an item, dropping the graph that it had planned for it."""
    return ItemReturned(
        at_ms=at_ms,
        run_id=item.run_id,
        task_id=item.id,
        supervisor_id=item.worker_id or "",
        queue=item.came_from or "",
        dropped=[one.id for one in below(state, item)[1:]],
    )
