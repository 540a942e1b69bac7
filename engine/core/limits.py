"""What a person writes about how much may be spent, and by when."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from engine.core.errors import BadValue

WARN_AT = 0.8
"""The share of a budget, or of the time until a deadline, that is warned about, where nobody set it."""


@dataclass(slots=True, kw_only=True)
class Limits:
    """A budget: of a task, a run, an agent, or everything under a supervisor. None is no limit.

    What is spent below counts at every level above it, so that nobody can spend more than anybody above may.
    """

    attempts: Annotated[int, Field(ge=1)] | None = None
    """Attempts begun, retries included."""
    time_s: Annotated[float, Field(gt=0)] | None = None
    """Time that attempts were at work, summed over all of them, in seconds."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens in and out."""
    cost_usd: Annotated[Decimal, Field(gt=0)] | None = None
    run_s: Annotated[float, Field(gt=0)] | None = None
    """Of a supervisor: how long a run may take from its submission, in seconds; its deadline."""
    depth: Annotated[int, Field(ge=1, le=64)] | None = None
    """Of a supervisor: how deep delegations may nest."""
    warn_at: Annotated[float, Field(gt=0, le=1)] = WARN_AT
    """The share that is warned about."""
    then: Literal["stop", "ask", "fail"] = "stop"
    """What happens at the end: stop at the next step and keep what is done; wait for a person; or fail."""

    def __post_init__(self) -> None:
        """Bring numbers into one shape and refuse what cannot be right."""
        self.time_s = None if self.time_s is None else float(self.time_s)
        self.run_s = None if self.run_s is None else float(self.run_s)
        self.warn_at = float(self.warn_at)
        self.cost_usd = None if self.cost_usd is None else Decimal(str(self.cost_usd))
        amounts = {
            "attempts": self.attempts,
            "time_s": self.time_s,
            "tokens": self.tokens,
            "cost_usd": self.cost_usd,
            "run_s": self.run_s,
            "depth": self.depth,
        }
        for name, amount in amounts.items():
            if amount is not None and not amount > 0:
                raise BadValue(f"limits: {name} must be above 0, not {amount}")
        if not 0 < self.warn_at <= 1:
            raise BadValue(f"limits: warn_at must be above 0 and at most 1, not {self.warn_at}")
        if self.then not in ("stop", "ask", "fail"):
            raise BadValue(f"limits: then must be stop, ask or fail, not {self.then!r}")
