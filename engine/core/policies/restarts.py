"""Which members restart after a crash, and how often they may."""

from collections.abc import Sequence

from engine.core.specs.policies import Restart


def members_to_restart(policy: Restart, members: Sequence[str], crashed: str) -> list[str]:
    """Return the members of a supervisor that restart when one of them crashes.

    Args:
        members: All members, in declared order.

    Source: Erlang/OTP, "Supervisor Behaviour", Design Principles.
    """
    if policy.strategy == "one_for_all":
        return list(members)
    if policy.strategy == "rest_for_one":
        return list(members[members.index(crashed) :])
    return [crashed]


def is_too_often(policy: Restart, restarts_ms: Sequence[int], now_ms: int) -> bool:
    """Return whether another restart would exceed `intensity` within `period_s`."""
    since = now_ms - round(policy.period_s * 1000)
    return sum(at_ms > since for at_ms in restarts_ms) >= policy.intensity
