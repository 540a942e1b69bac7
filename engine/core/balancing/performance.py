"""The agent that is likely to be done first gets the next task."""

from collections.abc import Sequence

from engine.core.state import Agent, Queue


def performance(queue: Queue, free: Sequence[Agent]) -> Agent:
    """Return the agent with the least expected time to a success: its median time by its share of successes.

    The share is Laplace's, (done + 1) / (done + failed + 2), so that one bad start is no verdict. Who has not been
    measured counts as the fastest of the others, and so is tried.

    Source: P. S. Laplace, "Essai philosophique sur les probabilités", 1814, the rule of succession; the median of the
    last attempts, because one slow call must not count for ten.
    """
    medians = [_median_ms(agent) for agent in free]
    fastest = min((each for each in medians if each is not None), default=1)
    expected = [
        (fastest if median is None else median) / _success(agent) for agent, median in zip(free, medians, strict=True)
    ]
    return free[expected.index(min(expected))]


def _median_ms(agent: Agent) -> int | None:
    durations = sorted(agent.durations_ms)
    return max(1, durations[len(durations) // 2]) if durations else None


def _success(agent: Agent) -> float:
    return (agent.done + 1) / (agent.done + agent.failed + 2)
