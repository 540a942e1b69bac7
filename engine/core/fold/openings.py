"""Which queues of a supervisor something can start from, and which supervisors dispatch has to look at.

A queue is *open* when it has both a ready task and a free agent. A supervisor keeps its open ones in a heap by the rank
of what begins next in each (`lanes`), whose top is always one that is open: `decide` reads it and changes nothing.
`State.startable` holds the supervisors that have an open queue, a slot, and nobody above them that is full or paused.
"""

from collections import OrderedDict
from heapq import heapify, heappop, heappush

from engine.core.fold.lanes import ageing_ms, rank_of
from engine.core.fold.pools import look_at_pool
from engine.core.state import Agent, Queue, State, Supervisor

STALE = 16
"""A heap has up to so many entries that mean nothing any more, besides as many as mean something."""


def refresh_queue(state: State, queue: Queue) -> None:
    """Put `queue` in its place among its supervisor's open ones, or take it out."""
    supervisor, key = state.supervisors[queue.supervisor_id], queue.key
    opened = supervisor.open
    if queue.ready and queue.free:
        rank, known = rank_of(supervisor, queue), opened.get(key)
        if known is None or known[0] != rank:
            open_queue(state, supervisor, key, rank)
            refresh_supervisor(state, supervisor)
    elif key in opened:
        del opened[key]
        refresh_supervisor(state, supervisor)


def open_queue(state: State, supervisor: Supervisor, key: str, rank: int) -> None:
    """Give an open queue its rank; what the heap held of it before means nothing any more."""
    opened, order, seq = supervisor.open, supervisor.order, state.seq
    if not opened:
        opened[key] = (rank, seq)
        order[:] = [(rank, seq, key)]
        return
    opened[key] = (rank, seq)
    heappush(order, (rank, seq, key))
    if len(order) > 2 * len(opened) + STALE:
        order[:] = [(rank, seq, key) for key, (rank, seq) in opened.items()]
        heapify(order)


def refresh_supervisor(state: State, supervisor: Supervisor) -> None:
    """Say whether dispatch has to look at `supervisor`: attempts that go on come first, and go on in a pause too."""
    opened, order = supervisor.open, supervisor.order
    if not opened:
        order.clear()
        if supervisor.id in state.startable:
            del state.startable[supervisor.id]
        return
    while len(order) > 1 and opened.get(order[0][2]) != order[0][:2]:  # the last one means something
        heappop(order)
    if supervisor.running < supervisor.max_parallel and _is_let(state, supervisor):
        state.startable.setdefault(supervisor.id, 0)
    else:
        state.startable.pop(supervisor.id, None)


def _is_let(state: State, supervisor: Supervisor) -> bool:
    """Return whether nobody from `supervisor` up is paused or full; who is full remembers whom it blocks."""
    above: Supervisor | None = supervisor
    while above is not None:
        if (above.paused or above.held) and supervisor.order[0][0] >= 0:
            return False
        most = above.options.max_total
        if most is not None and above.total >= most:
            above.blocked[supervisor.id] = 0
            return False
        above = state.supervisors[above.parent_id] if above.parent_id is not None else None
    return True


def release(state: State, supervisor: Supervisor) -> None:
    """Look again at everyone who was blocked because `supervisor` was full."""
    blocked, supervisor.blocked = supervisor.blocked, OrderedDict()
    for supervisor_id in blocked:
        if supervisor_id in state.supervisors:
            refresh_supervisor(state, state.supervisors[supervisor_id])


def refresh_below(state: State, supervisor: Supervisor) -> None:
    """Bring `supervisor` and every one below it up to date, after a change of what is set for it or of who is above."""
    supervisor.ageing_ms = ageing_ms(state, supervisor)
    release(state, supervisor)
    for key in list(supervisor.open):
        open_queue(state, supervisor, key, rank_of(supervisor, state.queues[key]))
    refresh_supervisor(state, supervisor)
    for member_id in supervisor.members:
        if member_id in state.supervisors:
            refresh_below(state, state.supervisors[member_id])


def refresh_agent(state: State, agent: Agent) -> None:
    """Bring the queues that `agent` serves up to date with whether it can take a task."""
    agent_id, queues = agent.id, state.queues
    room = len(agent.running) + agent.stuck < agent.max_concurrency
    works = room and not agent.paused and agent.error is None
    if works and agent.removing is None and agent.exhausted is None and agent.circuit == "closed":
        for key in agent.queues:
            queue = queues[key]
            if agent_id not in queue.free:
                queue.free[agent_id] = 0
                if queue.ready:
                    refresh_queue(state, queue)
    else:
        takes = works and agent.takes_tasks
        for key in agent.queues:
            queue = queues[key]
            is_free = takes if takes or not room else _is_free_for(state, queue, agent, works=works)
            if is_free != (agent_id in queue.free):
                if is_free:
                    queue.free[agent_id] = 0
                else:
                    del queue.free[agent_id]
                if queue.ready:
                    refresh_queue(state, queue)
    if agent_id in state.pools:
        look_at_pool(state, agent)


def _is_free_for(state: State, queue: Queue, agent: Agent, *, works: bool) -> bool:
    """Return whether an agent that has room, and takes no new tasks, takes from one of its queues."""
    if queue.key.startswith("back:"):
        return True
    if agent.exhausted is not None:  # it gets what nobody else will ever do, for that to be ended
        return works and _is_done_for(state, queue)
    return works and queue.key.startswith("agent:") and agent.removing == "drain" and not agent.is_shut


def _is_done_for(state: State, queue: Queue) -> bool:
    """Return whether everybody who serves a queue has spent a budget, and nobody is asked about more."""
    agents = (state.agents[agent_id] for agent_id in queue.agents)
    return all(agent.exhausted is not None and not agent.held for agent in agents)


def refresh_spent(state: State, queue: Queue) -> None:
    """Bring a queue up to date with who of those that serve it has something left, after a change of that."""
    for agent_id in list(queue.agents):
        agent = state.agents.get(agent_id)
        if agent is not None and agent.exhausted is not None:
            refresh_agent(state, agent)
