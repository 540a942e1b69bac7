"""Keys of queues (see `Queue`), and work shared by several named members."""

from collections.abc import Iterator

from engine.core.events import ItemReturned
from engine.core.queries.team.able import is_able
from engine.core.queries.team.tree import agents_of, is_cancelled, lineage_of, task_subtree
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


def split_owner(key: str) -> tuple[str, int | None]:
    """Return the supervisor in the key of a capability queue, and the depth of a shared one; None for its own queue."""
    _, owner, _ = key.split(":", 2)
    supervisor_id, plus, depth = owner.partition("+")
    return supervisor_id, int(depth) if plus else None


def is_shared(key: str) -> bool:
    """Return True for the key of a queue shared by several teams."""
    return key.startswith("able:") and split_owner(key)[1] is not None


def turn_key(priority: int, queue: str) -> str:
    """Return the key of a run's last turn in a queue and priority level (`Run.turns`)."""
    return f"{priority} {queue}"


NAMED_MEMBERS_PREFIX = "any of\N{NO-BREAK SPACE}"
"""Prefix of the capability that stands for a set of named members. No delegation can request it: the blanks of its
target are normalized, including the no-break space."""


def is_for_named_members(key: str) -> bool:
    """Return True for the key of a queue shared by several named members."""
    return capability_of(key).startswith(NAMED_MEMBERS_PREFIX)


def member_names_in(capability: str) -> list[str]:
    """Return the member names in such a capability; any other capability is returned as it is."""
    if not capability.startswith(NAMED_MEMBERS_PREFIX):
        return [capability]
    return capability.removeprefix(NAMED_MEMBERS_PREFIX).split(", ")


def is_named_member(state: State, queue: Queue, supervisor_id: str, name: str) -> bool:
    """Return whether an agent of a supervisor is one of the named members of a queue, or below a team that is."""
    owner_id, shared_depth = split_owner(queue.key)
    path = list(lineage_of(state, state.supervisors[supervisor_id]))
    distance = next((index for index, supervisor in enumerate(path) if supervisor.id == owner_id), -1)
    depth = distance - (shared_depth or 0)
    if depth < 0 or (depth and shared_depth is None):
        return False
    return (path[depth - 1].name if depth else name) in member_names_in(capability_of(queue.key))


def takers(state: State, member_id: str) -> list[str]:
    """Return the ids of the agents that take work on behalf of a member."""
    return [agent.id for agent in agents_of(state, member_id) if agent.removing is None or agent.id == member_id]


def team_for(state: State, queue: Queue, agent: Agent) -> Supervisor | None:
    """Return the team on behalf of which an agent takes an item; None if the agent itself is a named member.

    The named members are direct members of supervisors at the level that the key gives.
    """
    path: list[Supervisor] = []
    for supervisor in lineage_of(state, state.supervisors[agent.supervisor_id]):
        path.append(supervisor)
        if supervisor.id == queue.supervisor_id:
            _, depth = split_owner(queue.key)
            levels = depth or 0
            return path[-2 - levels] if len(path) > levels + 1 else None
    return None


def unstartable_items(state: State, team: Supervisor) -> Iterator[Task]:
    """Yield items that a team has taken but cannot begin, because it or a team between it and the queue is stopped.

    Stopped means paused, or waiting for a person's answer about its budget. Items that are being cancelled or have
    partial outcomes stay.
    """
    path = list(lineage_of(state, team))
    for task in (state.tasks[task_id] for task_id in team.taken):
        queue = state.queues.get(task.came_from or "")
        owner_id = queue.supervisor_id if queue is not None else ""
        place = next((place for place, supervisor in enumerate(path) if supervisor.id == owner_id), 0)
        if any(supervisor.paused or supervisor.held for supervisor in path[:place]) and _can_be_returned(state, task):
            yield task


def _can_be_returned(state: State, task: Task) -> bool:
    work = (descendant for descendant in task_subtree(state, task) if descendant.kind in ("agent", "group"))
    has_outcomes = any(descendant.ended and not descendant.passed_by for descendant in work)
    return not is_cancelled(state, task) and not has_outcomes


def item_others_could_do(state: State, task: Task) -> Task | None:
    """Return the not yet begun item that contains a task, if others that share its queue are able to do it.

    A team with an agent that is free to take the item would take it again at once, and plan it as before.
    """
    for item in lineage_of(state, task):
        team, queue = state.supervisors.get(item.worker_id or ""), state.queues.get(item.came_from or "")
        if team is None or queue is None or item.id not in team.taken or not _can_be_returned(state, item):
            continue
        able_agents = [agent for agent in map(state.agents.__getitem__, queue.agents) if is_able(state, agent)]
        own_agents = [agent for agent in able_agents if team_for(state, queue, agent) is team]
        if len(own_agents) < len(able_agents) and all(agent.paused or agent.away for agent in own_agents):
            return item
    return None


def item_returned(state: State, item: Task, at_ms: int) -> ItemReturned:
    """Return the event by which a team gives back an item, dropping the graph that it had planned for it."""
    return ItemReturned(
        at_ms=at_ms,
        run_id=item.run_id,
        task_id=item.id,
        supervisor_id=item.worker_id or "",
        queue=item.came_from or "",
        dropped=[descendant.id for descendant in task_subtree(state, item)[1:]],
    )


def target_in(state: State, queue: Queue) -> str:
    """Return the name or capability that the tasks of a queue asked for."""
    if queue.key.startswith("agent:"):
        return state.agents[queue.agents[0]].name
    names = member_names_in(capability_of(queue.key))
    return names[0] if len(names) == 1 else capability_of(queue.key)
