"""Fail: the task fails, and at once what it is part of."""

from engine.core.policies.records import Fail
from engine.core.policies.verdicts import Failures, GiveUp


def after(policy: Fail, failures: Failures) -> GiveUp:
    """Give up, and let everything beside it stop."""
    return GiveUp(whole=True)
