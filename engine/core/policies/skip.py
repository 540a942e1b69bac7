"""Skip: the task fails, and what waits for it goes on without it."""

from engine.core.policies.records import Skip
from engine.core.policies.verdicts import Failures, GiveUp


def after(policy: Skip, failures: Failures) -> GiveUp:
    """Give up what nobody needs."""
    return GiveUp(optional=True)
