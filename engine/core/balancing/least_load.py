"""The agent with the least in hand gets the next task."""

from engine.core.state import Agent

_WHOLE = 1_000_000


def least_load(agent: Agent) -> int:
    """Rank an agent by the share of its slots that it uses, in millionths.

    Attempts that wait for their delegations count: they come back for a slot. So do threads that have not returned.

    Source: the weighted least-connection rule of the Linux Virtual Server, W. Zhang, "Linux Virtual Server for Scalable
    Network Services", Ottawa Linux Symposium, 2000; a slot is what a weight is there.
    """
    return (len(agent.running) + len(agent.parked) + agent.stuck) * _WHOLE // agent.max_concurrency
