"""How many processes of this computer may be at work, and whom a limit on them belongs to."""

from collections.abc import Iterator
from typing import TypeAlias

from engine.core.inheritance import above_and_self
from engine.core.state import Agent, State, Supervisor

Limit: TypeAlias = tuple[Supervisor | None, int, int]
"""Whose it is, None for the engine's own; how many are in use; how many may be."""


def limits_on_processes(state: State, supervisor: Supervisor) -> Iterator[Limit]:
    """Yield every limit on processes that holds under a supervisor, the nearest first.

    The engine's own holds for all roots together for which nothing is set.
    """
    for above in above_and_self(state, supervisor):
        most = above.options.processes
        if most is not None:
            yield above, above.processes, most
        elif above.parent_id is None and state.engine is not None and state.engine.processes is not None:
            yield None, state.processes, state.engine.processes


def full_of_processes(state: State, supervisor: Supervisor) -> Limit | None:
    """Return the nearest limit that lets no further process begin under a supervisor; None where one may."""
    return next((limit for limit in limits_on_processes(state, supervisor) if limit[1] >= limit[2]), None)


def lacks_process(state: State, agent: Agent) -> bool:
    """Return True for an agent that works in processes while none is free for it."""
    if agent.id not in state.process_agents:
        return False
    return full_of_processes(state, state.supervisors[agent.supervisor_id]) is not None
