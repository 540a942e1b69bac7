"""Which agents are free for a queue, in the order in which they get its tasks.

`Queue.free` holds the one that waited longest first. Where another rule says who gets a task (`balancing`),
`Queue.best` ranks the same agents by it. So it does in a queue that teams share: an agent whose team is full or paused
is not free there for that time, and has its place among the others again afterwards (`Agent.turn_seq`).
"""

from engine.core.balancing import RULES
from engine.core.fold.ranking import drop, put
from engine.core.state import Agent, Queue, Ranking, State


def set_free(state: State, queue: Queue, agent: Agent) -> None:
    """Let an agent be free for a queue, as the last of those that are."""
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
    if state.supervisors[agent.supervisor_id].balance == "round_robin" and not state.shared:
        return
    for key in agent.queues:
        queue = state.queues[key]
        if queue.best is not None and agent.id in queue.free:
            _rank(state, queue, queue.best, agent)


def rank_anew(state: State, queue: Queue) -> None:
    """Rank the free agents of a queue by the rule of its supervisor, after that may have changed."""
    is_ranked = queue.key.startswith("able:") and state.supervisors[queue.supervisor_id].balance != "round_robin"
    best = Ranking() if is_ranked or queue.shared else None
    queue.best = best
    if best is not None:
        for agent_id in queue.free:
            _rank(state, queue, best, state.agents[agent_id])


def _rank(state: State, queue: Queue, best: Ranking, agent: Agent) -> None:
    rank = RULES[state.supervisors[queue.supervisor_id].balance](agent)
    if best.ranks.get(agent.id) != (rank, agent.turn_seq):
        put(best, agent.id, rank, agent.turn_seq)
