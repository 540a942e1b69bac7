"""The agent with the least in hand gets the next task."""

from collections.abc import Sequence

from engine.core.state import Agent, Queue


def least_load(queue: Queue, free: Sequence[Agent]) -> Agent:
    """Return the agent that uses the smallest share of its slots.

    Attempts that wait for their delegations count: they come back for a slot. So do threads that have not returned.

    Source: the weighted least-connection rule of the Linux Virtual Server, W. Zhang, "Linux Virtual Server for Scalable
    Network Services", Ottawa Linux Symposium, 2000; a slot is what a weight is there.
    """
    return min(free, key=_load)


def _load(agent: Agent) -> float:
    return (len(agent.running) + len(agent.parked) + agent.stuck) / agent.max_concurrency
