"""Agents get tasks in proportion to the weights of their specs."""

from engine.core.state import Agent


def weight(agent: Agent) -> int:
    """Rank an agent by how far it has come in being given what is due to it: 2:1 is A B A, A B A and never A A B.

    Every attempt moves an agent on by 1 / weight (`Agent.pace`, kept by `fold.slots` whatever the rule); the one that
    is furthest behind is next. One that was away or is new gets one task, and then stands where the others stand.

    Source: C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource Management",
    MIT/LCS/TM-528, 1995.
    """
    return agent.pace
