"""The agent that is likely to be done first gets the next task."""

from engine.core.state import Agent

_UNTRIED = -1
_BEING_TRIED = 10**15
_ONLY_FAILED = 2 * 10**15


def performance(agent: Agent) -> int:
    """Rank an agent by the expected time to a success: its median time by its share of successes, in microseconds.

    The share is Laplace's, (done + 1) / (done + failed + 2), so that one failure is no verdict. An agent that was never
    given anything goes first, so each is measured. While its first attempt is at work it goes behind those that were
    measured, and an agent that has only failed goes last: it gets work where nobody else is free.

    Source: P. S. Laplace, "Essai philosophique sur les probabilités", 1814, the rule of succession; the median of the
    last attempts, because one slow call must not count for ten.
    """
    if agent.durations_ms:
        median_ms = max(1, sorted(agent.durations_ms)[len(agent.durations_ms) // 2])
        return median_ms * 1000 * (agent.done + agent.failed + 2) // (agent.done + 1)
    if agent.failed:
        return _ONLY_FAILED + agent.failed
    return _BEING_TRIED + len(agent.running) + len(agent.parked) if agent.begun else _UNTRIED
