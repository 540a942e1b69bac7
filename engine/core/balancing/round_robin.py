"""Agents take turns."""

from collections.abc import Sequence

from engine.core.state import Agent, Queue


def round_robin(queue: Queue, free: Sequence[Agent]) -> Agent:
    """Return the agent that has been free for longest: whoever gets a task goes to the end of the line.

    Source: L. Kleinrock, "Analysis of a Time-Shared Processor", Naval Research Logistics Quarterly 11, 1964.
    """
    return free[0]
