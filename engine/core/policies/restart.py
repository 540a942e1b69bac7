"""Restart: who is started anew when one crashes, and how often is too often.

Source: Erlang/OTP, "Supervisor Behaviour", Design Principles.
"""

from collections.abc import Sequence

from engine.core.policies.records import Restart


def affected(policy: Restart, members: Sequence[str], crashed: str) -> list[str]:
    """Return the members of a supervisor that are started anew when one of them crashes.

    Args:
        policy: What was set.
        members: All of them, in declared order.
        crashed: The one that did.
    """
    if policy.strategy == "one_for_all":
        return list(members)
    if policy.strategy == "rest_for_one":
        return list(members[members.index(crashed) :])
    return [crashed]


def is_too_often(policy: Restart, restarts_ms: Sequence[int], now_ms: int) -> bool:
    """Return whether one more restart would be more than `intensity` within `period_s`."""
    since = now_ms - round(policy.period_s * 1000)
    return sum(at_ms > since for at_ms in restarts_ms) >= policy.intensity
