"""Failover: another agent that can do it, never one that has failed on the task."""

from engine.core.policies.records import Failover
from engine.core.policies.verdicts import Failures, GiveTo


def after(policy: Failover, failures: Failures) -> GiveTo | None:
    """Give the task to the best of those who have not failed on it."""
    if not failures.others or (policy.agents is not None and failures.failovers >= policy.agents):
        return None
    return GiveTo(agent_id=failures.others[0])
