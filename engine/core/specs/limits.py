"""Records of budgets and deadlines, as people write them."""

from typing import Literal

from engine.core.validation.bounds import Attempts, Depth, Dollars, Seconds, Share, Tokens
from engine.core.validation.records import ValidatedRecord

WARN_AT = 0.8
"""The share of a budget, or of the time until a deadline, at which a warning is given by default."""


class Limits(ValidatedRecord, kw_only=True):
    """A budget: of a task, a run, an agent, or everything under a supervisor. None means no limit.

    What is spent below counts at every level above it, so that no level can spend more than the levels above may.

    Raises:
        BadValue: If an amount cannot be right.
    """

    attempts: Attempts | None = None
    """Attempts begun, retries included."""
    time_s: Seconds | None = None
    """Time at work, summed over attempts, in seconds; not while they wait for delegations."""
    tokens: Tokens | None = None
    """Tokens in and out."""
    cost_usd: Dollars | None = None
    """Cost, in US dollars."""
    run_s: Seconds | None = None
    """The deadline of every run, in seconds from its submission; of a supervisor."""
    depth: Depth | None = None
    """How deep delegations and teams may nest; of a supervisor."""
    warn_at: Share = WARN_AT
    """The share at which a warning is recorded."""
    then: Literal["stop", "ask", "fail"] = "stop"
    """When it is spent: stop at the next step and keep what is done, ask a person, or fail at once."""
