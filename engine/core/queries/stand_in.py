"""Who can take over a task from the agent that it is for: the one rule for failover, removal and spent budgets."""

from collections.abc import Callable, Iterator

from engine.core.queries.able import is_able
from engine.core.queries.rings import agents_in, rings
from engine.core.queries.suiting import fit_of
from engine.core.queries.takers import is_of_few
from engine.core.state import Agent, State, Supervisor, Task


def stand_ins(state: State, task: Task, *, or_waits: bool = False) -> Iterator[Agent]:
    """Yield the agents that can take over a task, the best first.

    They can do what the task asks for: where it was for one agent, they share a specialty with that one. They are able
    to work, have not failed on it, and did not ask for it. The nearest to who asked for it come first (`rings`), among
    equally near ones whoever is not paused and has least to do.

    Args:
        state: The state of the moment.
        task: Whose it is may be on its way out.
        or_waits: Where nobody is able, those are yielded for whom it could wait until they are.
    """
    nobody = True
    for agent in _others(state, task):
        if is_able(state, agent):
            nobody = False
            yield agent
    if or_waits and nobody:
        yield from (agent for agent in _others(state, task) if agent.removing is None)


def _others(state: State, task: Task) -> Iterator[Agent]:
    can_do = _test_of(state, task)
    barred = {*task.failed_on, task.agent_id, task.worker_id, asker_of(state, task)}
    for ring in rings(state, home_of(state, task)):
        found = [
            agent
            for supervisor in ring.supervisors
            for agent in agents_in(state, supervisor)
            if agent.id not in barred and can_do(agent)
        ]
        yield from sorted(found, key=lambda one: (one.paused or one.away, _load(state, one)))


def asker_of(state: State, task: Task) -> str | None:
    """Return the id of the agent whose attempt asked for a task; None for what was planned."""
    asker = state.tasks.get(task.asker_id or "")
    return None if asker is None else asker.agent_id


def home_of(state: State, task: Task) -> Supervisor:
    """Return the supervisor from which somebody is looked for: of who asked, or of whose graph the task is part."""
    asker = state.agents.get(asker_of(state, task) or "")
    parent = state.tasks.get(task.parent_id or "")
    planner = None if parent is None else parent.worker_id
    home = state.supervisors.get(planner or "") if asker is None else state.supervisors[asker.supervisor_id]
    return home or state.supervisors[task.supervisor_id]


def _test_of(state: State, task: Task) -> Callable[[Agent], bool]:
    """Return what tells who can do a task: by the capability that it asks for, or by whom it was for.

    What was for a few members who all leave is for those who share a specialty with one of them.
    """
    home = task.came_from or task.queue or ""
    known: list[str] = []
    if home.startswith("able:"):
        queue, capability = state.queues.get(home), home.split(":", 2)[2]
        known = list(queue.agents) if queue is not None else []
        if not is_of_few(home) or any(state.agents[one].removing is None for one in known):
            ids = frozenset(known)
            return lambda one: one.id in ids or fit_of(state, one, capability) is not None
    whose = (state.agents.get(one or "") for one in (*task.failed_on, task.agent_id, task.worker_id, *known))
    first = next((one for one in whose if one is not None), None)
    wanted = frozenset() if first is None else _specialties(state, first)
    return lambda one: not wanted.isdisjoint(_specialties(state, one))


def _specialties(state: State, agent: Agent) -> frozenset[str]:
    return frozenset(word.casefold() for word in state.spec_of(agent).specialties)


def _load(state: State, agent: Agent) -> int:
    queue = state.queues.get(f"agent:{agent.id}")
    return len(agent.running) + len(agent.parked) + (queue.ready if queue is not None else 0)
