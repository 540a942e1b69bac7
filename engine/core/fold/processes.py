"""Fold: processes of this computer, each held by an attempt from its beginning to its end (`State.in_process`).

Agents that work in processes are free while one is free for them. They are made free again in the order in which they
began last, so that they take turns. The limits: `queries.processes`.
"""

from engine.core.fold.openings import refresh_agent
from engine.core.inheritance import above_and_self
from engine.core.queries.processes import limits_on_processes
from engine.core.state import Agent, State, Task


def take_process(state: State, agent: Agent, task: Task) -> None:
    """Let the attempt of `task` hold a process."""
    state.in_process[task.id] = 0
    if agent.id in state.process_agents:
        state.process_agents.move_to_end(agent.id)
    _count(state, agent, 1)


def free_process(state: State, agent: Agent, task: Task) -> None:
    """Take the process back that the attempt of `task` holds."""
    del state.in_process[task.id]
    _count(state, agent, -1)


def _count(state: State, agent: Agent, by: int) -> None:
    """Count at every level; where a limit is reached, or is no more, say who can begin by that."""
    supervisor = state.supervisors[agent.supervisor_id]
    for above in above_and_self(state, supervisor):
        above.processes += by
        if above.parent_id is None and above.options.processes is None:
            state.processes += by
    edge = 0 if by > 0 else -1
    if any(used == most + edge for _, used, most in limits_on_processes(state, supervisor)):
        _refresh(state)


def refresh_processes(state: State) -> None:
    """Count anew what the engine's own limit bounds, after a change of limits or of who is above whom."""
    roots = (root for root in state.roots if root.options.processes is None)
    state.processes = sum(root.processes for root in roots)
    _refresh(state)


def _refresh(state: State) -> None:
    for agent_id in list(state.process_agents):
        refresh_agent(state, state.agents[agent_id])
