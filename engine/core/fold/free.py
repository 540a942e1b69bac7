"""Which agents are free for a queue, and which of them gets its next task.

`Queue.free` says who is. Where there may be several, `Queue.best` ranks them by the rule of the supervisor
(`balancing`), and those of the same rank by since when each waits for its turn (`Agent.turn_seq`): an agent that is not
free for a while because its team is full or no process is left has its place among the others again afterwards.
"""

from engine.core.balancing import RULES
from engine.core.fold.ranking import drop, put
from engine.core.state import Agent, Queue, Ranking, State


def set_free(state: State, queue: Queue, agent: Agent) -> None:
    """Let an agent be free for a queue."""
    queue.free[agent.id] = 0
    if queue.best is not None:
        _rank(state, queue, queue.best, agent)


def set_busy(queue: Queue, agent_id: str) -> None:
    """Let an agent be free for a queue no more."""
    del queue.free[agent_id]
    if queue.best is not None:
        drop(queue.best, agent_id)


def rank_again(state: State, agent: Agent) -> None:
    """Bring the place of an agent up to date wherever it is free, after a change of what a rule looks at."""
    for key in agent.queues:
        queue = state.queues[key]
        if queue.best is not None and agent.id in queue.free:
            _rank(state, queue, queue.best, agent)


def rank_anew(state: State, queue: Queue) -> None:
    """Rank the free agents of a queue by the rule of its supervisor, after that may have changed."""
    best = queue.best = Ranking() if queue.key.startswith("able:") else None
    if best is not None:
        for agent_id in queue.free:
            _rank(state, queue, best, state.agents[agent_id])


def _rank(state: State, queue: Queue, best: Ranking, agent: Agent) -> None:
    rank = RULES[state.supervisors[queue.supervisor_id].balance](agent)
    place = int(agent.id[1:])
    if best.ranks.get(agent.id) != (rank, agent.turn_seq, place):
        put(best, agent.id, rank, agent.turn_seq, place)
