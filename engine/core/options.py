"""What a person sets for a supervisor besides who is in it. What is left out is taken from the supervisor above."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from engine.core.errors import BadValue
from engine.core.limits import Limits
from engine.core.policies.records import Circuit, FailurePolicy, Restart

Balance: TypeAlias = Literal["round_robin", "least_load", "weight", "performance"]
BALANCES: tuple[Balance, ...] = ("round_robin", "least_load", "weight", "performance")
DEFAULT_PRIORITY = 5
LOWEST_PRIORITY = 9
"""Priorities go from 0, the most urgent, to this one."""
AGEING_S = 60.0
"""How long a task waits until it is as urgent as one of the next priority, where nobody set it."""
GRACE_S = 5.0
"""How long work may go on to its next step after its deadline, where nobody set it."""


@dataclass(slots=True, kw_only=True)
class Preempt:
    """When an urgent task takes the slot of a less urgent one."""

    at: Literal["step", "now", "never"] = "step"
    """When the less urgent attempt stops: at its next step, at once, or never."""
    urgent: Annotated[int, Field(ge=0, le=LOWEST_PRIORITY)] = 0
    """Tasks of this priority and above (0 is the highest) take slots."""
    limit: Annotated[int, Field(ge=0, le=100)] = 3
    """How often one task may be made to wait."""


@dataclass(slots=True, kw_only=True)
class Optimize:
    """What a supervisor may change by itself, from how its runs went; `engine.core.tuning` says when it does."""

    performance_threshold: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Below this share of done runs, or of the speed that is possible, something is changed."""
    switch_to_parallel_when_slow: bool = False
    """Let members that work one after the other work at once."""
    optimize_agent_selection: bool = False
    """Let agents that did well before be asked first."""

    def __post_init__(self) -> None:
        """Refuse what cannot be right."""
        self.performance_threshold = float(self.performance_threshold)
        if not 0 < self.performance_threshold <= 1:
            raise BadValue(f"performance_threshold is above 0 and at most 1, not {self.performance_threshold:g}")


@dataclass(slots=True, kw_only=True)
class SupervisorOptions:
    """Settings of a supervisor. None, or empty, is what the supervisor above it has.

    Raises:
        BadValue: If a number cannot be right.
    """

    lead: str | None = None
    """The agent that gets the whole request under `delegate`; not taken from above."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    """What its coordination strategy asks for; not taken from above."""
    strategies: Mapping[str, str] = field(default_factory=dict)
    """From a category of work to the strategy for it; not taken from above."""
    on_failure: Sequence[FailurePolicy] = ()
    """For agents whose specs have none."""
    limits: Limits | None = None
    """For everything under it together; not taken from above, because what is above counts all the same."""
    run_limits: Limits | None = None
    """For each run submitted to it."""
    task_limits: Limits | None = None
    """For each task of its agents."""
    agent_limits: Limits | None = None
    """For each of its agents."""
    max_total: int | None = None
    """Attempts that may be at work in it and everything under it; not taken from above."""
    balance: Balance | None = None
    """Who of several able agents gets a task; `round_robin` where nobody set it."""
    ageing_s: float | None = None
    """A task that waits this long, in seconds, is as urgent as one of the next priority; 0 never ages."""
    preempt: Preempt | None = None
    restart: Restart | None = None
    """What happens when an agent crashes; None everywhere up starts that one anew, without counting."""
    circuit: Circuit | None = None
    """For agents whose specs have none; None everywhere up never opens one."""
    grace_s: float | None = None
    """How long work may go on to its next step after its deadline, in seconds."""
    optimize: Optimize | None = None
    """What it may change by itself; not taken from above."""

    def __post_init__(self) -> None:
        """Bring values into one shape and refuse what cannot be right."""
        self.settings = dict(self.settings)
        self.strategies = dict(self.strategies)
        self.on_failure = tuple(self.on_failure)
        self.ageing_s = None if self.ageing_s is None else float(self.ageing_s)
        self.grace_s = None if self.grace_s is None else float(self.grace_s)
        if self.max_total is not None and self.max_total < 1:
            raise BadValue(f"max_total must be at least 1, not {self.max_total}")
        if self.ageing_s is not None and not self.ageing_s >= 0:
            raise BadValue(f"ageing_s must be 0 or more, not {self.ageing_s}")
        if self.grace_s is not None and not self.grace_s >= 0:
            raise BadValue(f"grace_s must be 0 or more, not {self.grace_s}")
        if self.balance is not None and self.balance not in BALANCES:
            raise BadValue(f"balance must be one of {', '.join(BALANCES)}, not {self.balance!r}")
