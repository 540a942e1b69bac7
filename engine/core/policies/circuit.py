"""Circuit: who keeps failing gets nothing to do for a while, and then one attempt to show that it works again."""

from engine.core.policies.records import Circuit

LONGEST = 10
"""How many times `cool_s` a circuit stays open at most."""


def cool_s(policy: Circuit, before_s: float | None) -> float:
    """Return how long a circuit is opened for, in seconds.

    Args:
        policy: What was set.
        before_s: How long it was opened for the last time, where it has not been closed since.
    """
    if before_s is None:
        return policy.cool_s
    return min(2 * before_s, LONGEST * policy.cool_s)
