"""Who of several free agents gets a task.

Each rule gives an agent a rank: the least goes first, and of equal ones the one that has been free for longest. What a
rank depends on is in the agent, so that agents can be kept in their order. The rule `track_record` depends on the
category of the task too: there the ranks are compared when a task is about to begin. See docs/semantics/scheduling.md.
"""

from collections.abc import Callable
from typing import TypeAlias

from engine.core.options import Balance
from engine.core.state import Agent

_WHOLE = 1_000_000
_UNTRIED = -1
_BEING_TRIED = 10**15
_ONLY_FAILED = 2 * 10**15


def round_robin(agent: Agent) -> int:
    """Rank all agents alike: the one that has been free for longest is next, and then stands at the end of the line.

    Source: L. Kleinrock, "Analysis of a Time-Shared Processor", Naval Research Logistics Quarterly 11, 1964.
    """
    return 0


def least_load(agent: Agent) -> int:
    """Rank an agent by the share of its slots that it uses, in millionths.

    Attempts that wait for their delegations count: they come back for a slot. So do threads that have not returned.

    Source: the weighted least-connection rule of the Linux Virtual Server, W. Zhang, "Linux Virtual Server for Scalable
    Network Services", Ottawa Linux Symposium, 2000; a slot is what a weight is there.
    """
    return (len(agent.running) + len(agent.parked) + agent.stuck) * _WHOLE // agent.max_concurrency


def weight(agent: Agent) -> int:
    """Rank an agent by how far it has come in being given what is due to it: 2:1 is A B A, A B A and never A A B.

    Every attempt moves an agent on by 1 / weight (`Agent.pace`, kept by `fold.slots` whatever the rule); the one that
    is furthest behind is next. One that was away or is new gets one task, and then stands where the others stand.

    Source: C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource Management",
    MIT/LCS/TM-528, 1995.
    """
    return agent.pace


def performance(agent: Agent) -> int:
    """Rank an agent by the expected time to a success: its median time by its share of successes, in microseconds.

    The share is (done + 1) / (done + failed + 1): one failure is no verdict, and who has never failed is ranked by its
    median alone. A rule that also adds a failure, such as Laplace's, would rank who has succeeded once behind slower
    agents with more successes; it would get no work to improve by, and stay last permanently. An agent that was never
    given anything goes first, so each is measured. While its first attempt is at work it goes behind those that were
    measured, and an agent that has only failed goes last: it gets work where nobody else is free. The median of the
    last attempts counts, because one slow call must not count for ten.
    """
    if agent.durations_ms:
        median_ms = max(1, sorted(agent.durations_ms)[len(agent.durations_ms) // 2])
        return median_ms * 1000 * (agent.done + agent.failed + 1) // (agent.done + 1)
    if agent.failed:
        return _ONLY_FAILED + agent.failed
    return _BEING_TRIED + len(agent.running) + len(agent.parked) if agent.begun else _UNTRIED


def track_record(agent: Agent, category: str) -> int:
    """Rank an agent by the expected time to a success at work of one category, in microseconds.

    As `performance`, with the mean time of its attempts in that category; what an agent did at other work says nothing.

    Args:
        agent: A free agent.
        category: That of the request that the task is part of; empty where it has none.
    """
    record = agent.track_record.get(category)
    if record is not None and record.done:
        ended = record.done + record.failed + record.cancelled
        mean_us = max(1, record.usage.time_ms) * 1000 // ended
        return max(1, mean_us) * (record.done + record.failed + 1) // (record.done + 1)
    if record is not None and record.failed:
        return _ONLY_FAILED + record.failed
    is_tried = record is not None or agent.running or agent.parked
    return _BEING_TRIED + len(agent.running) + len(agent.parked) if is_tried else _UNTRIED


Rule: TypeAlias = Callable[[Agent], int]
RULES: dict[Balance, Rule] = {
    "round_robin": round_robin,
    "least_load": least_load,
    "weight": weight,
    "performance": performance,
    "track_record": round_robin,  # of equal rank until a task says its category
}
