"""The chain of failure policies that applies to an agent or a task."""

from collections.abc import Sequence

from engine.core.queries.team.tree import inherited_option
from engine.core.specs.failure_policies import FailurePolicy, Retry
from engine.core.state import Agent, State, Task

MODEL_POLICIES: Sequence[FailurePolicy] = (Retry(3),)
"""Default chain of model agents: calls of models fail often, and usually succeed when repeated."""


def chain_of_agent(state: State, agent: Agent) -> Sequence[FailurePolicy]:
    """Return the failure policies of an agent: of its spec, else of the nearest supervisor that sets any."""
    spec = state.spec_of(agent)
    default = MODEL_POLICIES if spec.is_played_by_model else ()
    supervisor = state.supervisors[agent.supervisor_id]
    policies: Sequence[FailurePolicy] = spec.on_failure or inherited_option(state, supervisor, "on_failure", default)
    return policies


def chain_of(state: State, task: Task) -> Sequence[FailurePolicy]:
    """Return the failure policies of a task: of its run, else of the first agent that failed on it."""
    run = state.runs[task.run_id]
    if run.on_failure:
        return run.on_failure
    # Of the first agent that failed: after a failover another chain would start over.
    for agent_id in (*task.failed_on, task.agent_id or "", task.worker_id or ""):
        if agent_id in state.agents:
            return chain_of_agent(state, state.agents[agent_id])
    return ()
