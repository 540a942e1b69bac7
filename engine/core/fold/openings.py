"""What can begin, and what of that begins first: kept from the queues up to the roots.

A queue is *open* when it has both a ready task and a free agent. A supervisor ranks its open queues by what begins next
in each (`lanes`), and ranks the best of each supervisor below it; the better of the two it offers to the one above,
unless it is full or paused. So whatever begins next is found by going down from the roots, however many there are.
Each supervisor compares what it is offered by its own `ageing_s`: what a team has set for itself holds inside it.
"""

from typing import TypeAlias

from engine.core.fold.free import rank_again, rank_anew, set_busy, set_free
from engine.core.fold.lanes import ageing_ms, next_task, rank_above, rank_of
from engine.core.fold.pools import look_at_pool
from engine.core.fold.ranking import drop, put
from engine.core.inheritance import above_and_self, inherited
from engine.core.options import AGEING_S
from engine.core.queries.able import is_able
from engine.core.queries.processes import lacks_process
from engine.core.queries.takers import is_of_few
from engine.core.state import Agent, Queue, Ranking, State, Supervisor

Entry: TypeAlias = tuple[int, int, int, str]
ROOTS_MS = round(AGEING_S * 1000)
"""What a priority is worth in waiting between the work of several roots."""


def refresh_queue(state: State, queue: Queue) -> None:
    """Put `queue` in its place among its supervisor's open ones, or take it out."""
    supervisor = state.supervisors[queue.supervisor_id]
    if rank_queue(state, supervisor, queue):
        offer(state, supervisor)


def rank_queue(state: State, supervisor: Supervisor, queue: Queue) -> bool:
    """Bring the rank of a queue of `supervisor` up to date, and return whether it has changed."""
    own, key = supervisor.offers if queue.shared else supervisor.own, queue.key
    known = own.ranks.get(key)
    if queue.ready and queue.free:
        rank = rank_of(supervisor, queue)
        if known is not None and known[0] == rank:
            return False
        put(own, key, rank, state.seq, int(next_task(state, queue)[1:]))
        return True
    if known is not None:
        drop(own, key)
    return known is not None


def offer(state: State, supervisor: Supervisor) -> None:
    """Tell the supervisor above, and so on to the root, what begins first under `supervisor`."""
    while True:
        best = first_of(supervisor)
        offers = offers_above(state, supervisor)
        known = offers.ranks.get(supervisor.id)
        if best is None:
            if known is None:
                return
            drop(offers, supervisor.id)
        else:
            rank = _rank_above(state, supervisor, best)
            if known == (rank, best[1], best[2]):
                return
            put(offers, supervisor.id, rank, best[1], best[2])
        if supervisor.parent_id is None:
            return
        supervisor = state.supervisors[supervisor.parent_id]


def _rank_above(state: State, supervisor: Supervisor, best: Entry) -> int:
    """Return what the supervisor above ranks by: where work ages otherwise there, that is not the rank it has here."""
    parent_id = supervisor.parent_id
    ageing = ROOTS_MS if parent_id is None else state.supervisors[parent_id].ageing_ms
    if best[0] < 0 or supervisor.ageing_ms == ageing:
        return best[0]
    queue = _leads_to(state, best[3])
    if queue is None:  # it is about to be offered anew
        return best[0]
    return rank_above(queue, state.supervisors[queue.supervisor_id].ageing_ms, ageing)


def offers_above(state: State, supervisor: Supervisor) -> Ranking:
    """Return the ranking in which a supervisor stands while something can begin under it."""
    return state.offers if supervisor.parent_id is None else state.supervisors[supervisor.parent_id].offers


def first_of(supervisor: Supervisor) -> Entry | None:
    """Return what begins first under a supervisor, a queue of its own or a supervisor below it; None where nothing can.

    Attempts that go on come first, and go on in a pause too.
    """
    offers, own = supervisor.offers.heap, supervisor.own.heap
    best = offers[0] if offers else None
    if own and supervisor.running < supervisor.max_parallel and (best is None or own[0] < best):
        best = own[0]
    if best is None or is_full(supervisor):
        return None
    return None if best[0] >= 0 and (supervisor.paused or supervisor.held) else best


def is_full(supervisor: Supervisor) -> bool:
    """Return True while nothing more may begin under a supervisor, at any level."""
    most = supervisor.options.max_total
    return most is not None and supervisor.total >= most


def has_slot(state: State, supervisor: Supervisor) -> bool:
    """Return True while an agent of a supervisor may begin one attempt more."""
    return supervisor.running < supervisor.max_parallel and not any(map(is_full, above_and_self(state, supervisor)))


def next_queue(state: State) -> Queue:
    """Return the queue out of which something begins next; `State.offers` is not empty."""
    queue = _leads_to(state, state.offers.heap[0][3])
    assert queue is not None
    return queue


def _leads_to(state: State, key: str) -> Queue | None:
    """Return the queue that is first under what is ranked; None where that is changing, and nothing is ready there."""
    while key in state.supervisors:
        first = first_of(state.supervisors[key])
        if first is None:
            return None
        key = first[3]
    return state.queues[key] if state.queues[key].ready else None


def refresh_below(state: State, supervisor: Supervisor) -> None:
    """Bring `supervisor` and every one below it up to date, after a change of what is set for it or of who is above."""
    before = supervisor.balance
    look_up_settings(state, supervisor)
    if supervisor.balance != before:
        for queue in state.queues.values():
            if queue.supervisor_id == supervisor.id:
                rank_anew(state, queue)
    for key in [*supervisor.own.ranks, *(key for key in supervisor.offers.ranks if key in state.queues)]:
        rank_queue(state, supervisor, state.queues[key])
    for member_id in supervisor.members:
        if member_id in state.supervisors:
            refresh_below(state, state.supervisors[member_id])
    regate(state, supervisor, below=False)
    offer(state, supervisor)


def is_let(state: State, queue: Queue, agent: Agent) -> bool:
    """Return True while no supervisor between a shared queue and one of its agents is full or paused.

    A team that has spent its budget takes nothing as long as another can.
    """
    if not queue.shared:
        return True
    supervisor = state.supervisors[agent.supervisor_id]
    if supervisor.running >= supervisor.max_parallel:
        return False
    for one in above_and_self(state, supervisor):
        if one.id == queue.supervisor_id:
            return True
        if one.paused or one.held or is_full(one) or (one.taken and is_of_few(queue.key)):
            return False
        if one.exhausted is not None and any(is_able(state, state.agents[other]) for other in queue.agents):
            return False
    return False


def regate(state: State, supervisor: Supervisor, *, below: bool = True) -> None:
    """Bring agents under a supervisor that is full or paused, or no more, up to date in the queues that teams share."""
    if not state.shared:
        return
    for member_id in supervisor.members:
        agent = state.agents.get(member_id)
        if agent is None:
            if below:
                regate(state, state.supervisors[member_id])
        elif any(key in state.shared for key in agent.queues):
            refresh_agent(state, agent)


def look_up_settings(state: State, supervisor: Supervisor) -> None:
    """Bring up to date what is looked up for every task."""
    supervisor.ageing_ms = ageing_ms(state, supervisor)
    supervisor.balance = inherited(state, supervisor, "balance", "round_robin")


def refresh_agent(state: State, agent: Agent) -> None:
    """Bring the queues that `agent` serves up to date with whether it can take a task."""
    agent_id, queues = agent.id, state.queues
    room = len(agent.running) + agent.stuck < agent.max_concurrency
    if room and agent_id in state.process_agents:
        room = not lacks_process(state, agent)
    works = room and not (agent.paused or agent.away) and agent.error is None
    own = queues.get(f"agent:{agent_id}")  # nothing but the agent itself keeps it from being free there
    if own is None or (agent_id not in own.free and agent_id not in state.process_agents):
        agent.turn_seq = state.seq  # of one that works in processes it is since when it began last
    if works and agent.removing is None and agent.exhausted is None and agent.circuit == "closed":
        for key in agent.queues:
            queue = queues[key]
            if queue.shared:
                _refresh_free(state, queue, agent, is_let(state, queue, agent))
            elif agent_id not in queue.free:
                set_free(state, queue, agent)
                if queue.ready:
                    refresh_queue(state, queue)
    else:
        takes = works and agent.takes_tasks
        for key in agent.queues:
            queue = queues[key]
            is_free = takes if takes or not room else _is_free_for(state, queue, agent, works=works)
            _refresh_free(state, queue, agent, is_free and is_let(state, queue, agent))
    rank_again(state, agent)
    if agent_id in state.pools:
        look_at_pool(state, agent)


def _refresh_free(state: State, queue: Queue, agent: Agent, is_free: bool) -> None:
    if is_free == (agent.id in queue.free):
        return
    if is_free:
        set_free(state, queue, agent)
    else:
        set_busy(queue, agent.id)
    if queue.ready:
        refresh_queue(state, queue)


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
