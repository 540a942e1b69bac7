"""Escalate: a person says what is to become of the task."""

from engine.core.policies.records import Escalate
from engine.core.policies.verdicts import AskPerson, Failures


def after(policy: Escalate, failures: Failures) -> AskPerson:
    """Ask; `retry` is the default once only, because a chain that nobody looks at has to end."""
    if policy.after_s is None:
        return AskPerson(after_ms=None, default=None)
    default = "reject" if failures.asked and policy.default == "retry" else policy.default
    return AskPerson(after_ms=round(policy.after_s * 1000), default=default)
