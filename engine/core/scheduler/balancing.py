"""Load balancing rules: which of several free agents gets a task.

A rule returns the rank of an agent: the lowest rank goes first, and of equal ranks the agent that has been free for
longest. A rank depends only on the agent, so that free agents can be kept sorted. Only `track_record` also depends on
the category of the task: its ranks are compared when a task is about to begin. See docs/semantics/scheduling.md.
"""

from collections.abc import Callable
from typing import TypeAlias

from engine.core.specs.options import Balance
from engine.core.state import Agent

_MILLION = 1_000_000
# Other ranks are expected times in microseconds: 10**15 is 31 years, and nothing may take longer than ten.
_UNTRIED = -1
_BEING_TRIED = 10**15
_ONLY_FAILED = 2 * 10**15


def round_robin(agent: Agent) -> int:
    """Rank all agents alike: the agent that has been free for longest is next, and then goes to the end of the queue.

    Source: L. Kleinrock, "Analysis of a Time-Shared Processor", Naval Research Logistics Quarterly 11, 1964.
    """
    return 0


def least_load(agent: Agent) -> int:
    """Rank an agent by the share of its slots in use, in millionths.

    Attempts that wait for their delegations count: they will need a slot again. So do threads that have not returned.

    Source: the weighted least-connection rule of the Linux Virtual Server, W. Zhang, "Linux Virtual Server for Scalable
    Network Services", Ottawa Linux Symposium, 2000; a slot is what a weight is there.
    """
    return (len(agent.running) + len(agent.parked) + agent.stuck) * _MILLION // agent.max_concurrency


def weight(agent: Agent) -> int:
    """Rank an agent by its pass in stride scheduling: weights 2:1 give A B A, A B A and never A A B.

    Every attempt advances an agent by 1 / weight (`Agent.pace`, kept by `fold.slots` for every rule); the agent that is
    furthest behind is next. A new or returned agent gets one task and is then level with the others.

    Source: C. A. Waldspurger, W. E. Weihl, "Stride Scheduling: Deterministic Proportional-Share Resource Management",
    MIT/LCS/TM-528, 1995.
    """
    return agent.pace


def performance(agent: Agent) -> int:
    """Rank an agent by the expected work for a success: its median time at work by its share of successes.

    In microseconds. The share is (done + 1) / (done + failed + 1): one failure proves little, and an agent that never
    failed is ranked by its median alone. Laplace smoothing, which also adds a failure, would rank an agent with one
    success behind slower agents with more successes; it would get no work to improve by, and stay last permanently. An
    agent without attempts goes first, so that each is measured. During its first attempt it goes behind the measured
    agents, and an agent that has only failed goes last: it gets work if no other agent is free. The median of the last
    attempts is used, because one slow call must not outweigh ten.
    """
    if agent.at_work_ms:
        median_ms = max(1, sorted(agent.at_work_ms)[len(agent.at_work_ms) // 2])
        return median_ms * 1000 * (agent.done + agent.failed + 1) // (agent.done + 1)
    if agent.failed:
        return _ONLY_FAILED + agent.failed
    return _BEING_TRIED + len(agent.running) + len(agent.parked) if agent.begun else _UNTRIED


def track_record(agent: Agent, category: str) -> int:
    """Rank an agent by the expected time to a success at work of one category, in microseconds.

    Return the same as `performance` from the attempts in that category alone.

    Args:
        agent: A free agent.
        category: Category of the request that the task belongs to; empty if it has none.
    """
    record = agent.track_record.get(category)
    if record is not None and record.done:
        attempts = record.done + record.failed + record.cancelled
        mean_us = max(1, record.usage.time_ms) * 1000 // attempts
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
    "track_record": round_robin,  # equal ranks: the category is known only when a task is about to begin
}
