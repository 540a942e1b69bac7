"""Agents get tasks in proportion to the weights of their specs."""

from collections.abc import Sequence

from engine.core.state import Agent, Queue


def weight(queue: Queue, free: Sequence[Agent]) -> Agent:
    """Return the agent that was given the least of what is due to it, smoothly: 2:1 is A B A, A B A and never A A B.

    Every attempt moves an agent on by 1 / weight (`Agent.pace`, kept by `fold.slots` whatever the rule); the one that
    is furthest behind is next. One that was away or is new starts where the others stand.

    Source: C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource Management",
    MIT/LCS/TM-528, 1995.
    """
    return min(free, key=lambda agent: max(agent.pace, queue.pace))
