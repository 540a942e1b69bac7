"""Agents take turns."""

from engine.core.state import Agent


def round_robin(agent: Agent) -> int:
    """Rank all agents alike: the one that has been free for longest is next, and then stands at the end of the line.

    Source: L. Kleinrock, "Analysis of a Time-Shared Processor", Naval Research Logistics Quarterly 11, 1964.
    """
    return 0
