"""Rules of circuits and restarts, and the failure policies that apply to an agent or a task."""

from collections.abc import Sequence

from engine.core.queries.team.tree import inherited_option
from engine.core.specs.failure_policies import FailurePolicy, Retry
from engine.core.specs.policies import Circuit, Restart
from engine.core.state import Agent, State, Task

MODEL_POLICIES: Sequence[FailurePolicy] = (Retry(3),)
"""Default chain of model agents: calls of models fail often, and usually succeed when repeated."""
MAX_COOL_FACTOR = 10
"""Limit on the time a circuit stays open, as a multiple of `cool_s`."""


def cool_s(policy: Circuit, before_s: float | None) -> float:
    """Return how long to open a circuit, in seconds; `before_s` is the last time if it has not been closed since."""
    if before_s is None:
        return policy.cool_s
    return min(2 * before_s, MAX_COOL_FACTOR * policy.cool_s)


def members_to_restart(policy: Restart, members: Sequence[str], crashed: str) -> list[str]:
    """Return the members of a supervisor that restart when one of them crashes.

    Args:
        members: All members, in declared order.

    Source: Erlang/OTP, "Supervisor Behaviour", Design Principles.
    """
    if policy.strategy == "one_for_all":
        return list(members)
    if policy.strategy == "rest_for_one":
        return list(members[members.index(crashed) :])
    return [crashed]


def is_too_often(policy: Restart, restarts_ms: Sequence[int], now_ms: int) -> bool:
    """Return whether another restart would exceed `intensity` within `period_s`."""
    since = now_ms - round(policy.period_s * 1000)
    return sum(at_ms > since for at_ms in restarts_ms) >= policy.intensity


def chain_of_agent(state: State, agent: Agent) -> Sequence[FailurePolicy]:
    """Return the failure policies of an agent: of its spec, else of the nearest supervisor that sets any."""
    spec = state.spec_of(agent)
    otherwise = MODEL_POLICIES if spec.is_played_by_model else ()
    supervisor = state.supervisors[agent.supervisor_id]
    policies: Sequence[FailurePolicy] = spec.on_failure or inherited_option(state, supervisor, "on_failure", otherwise)
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
