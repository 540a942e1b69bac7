"""What a person sets for a supervisor besides who is in it. What is left out is taken from the supervisor above."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import field

from engine.core.limits import Limits
from engine.core.model_spec import McpSpec, ModelSpec
from engine.core.policies.failure_policies import Chain
from engine.core.policies.records import Circuit, Restart
from engine.core.records import JsonValue
from engine.core.validation.bounds import Label, Members, Name, NoneToADay, Priority, Share, Slots
from engine.core.validation.records import Written
from engine.core.validation.rules import Within

Balance: TypeAlias = Literal["round_robin", "least_load", "weight", "performance", "track_record"]
BALANCES: tuple[Balance, ...] = ("round_robin", "least_load", "weight", "performance", "track_record")
DEFAULT_PRIORITY = 5
AGEING_S = 60.0
"""How long a task waits until it is as urgent as one of the next priority, by default."""
GRACE_S = 5.0
"""How long work that is asked to stop may go on to its next step, by default."""


class Preempt(Written, kw_only=True):
    """When an urgent task takes the slot of a less urgent one."""

    at: Literal["step", "now", "never"] = "step"
    """When the less urgent attempt stops: at its next step, at once, or never."""
    urgent: Priority = 0
    """Tasks of this priority and above (0 is the highest) take slots."""
    limit: Annotated[int, Within(ge=0, le=100)] = 3
    """How often one task may be made to wait."""


class Optimize(Written, kw_only=True):
    """What a supervisor may change by itself, from how its runs went; `engine.core.auto_tuning` says when it does."""

    performance_threshold: Share = 0.85
    """Below this share of done runs, or of the speed that is possible, something is changed."""
    switch_to_parallel_when_slow: bool = False
    """Let members that work one after the other work at once."""
    optimize_agent_selection: bool = False
    """Let agents that did well before be asked first."""


class SupervisorOptions(Written, kw_only=True):
    """Settings of a supervisor. None, or empty, is what the supervisor above it has.

    Raises:
        BadValue: If a value cannot be right.
    """

    whose = "options"
    lead: Name | None = None
    """The agent that gets the whole request under `delegate`; not taken from above."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    """What its coordination strategy asks for; not taken from above."""
    strategies: Mapping[Label, Label] = field(default_factory=dict)
    """From a category of work to the strategy for it; not taken from above."""
    on_failure: Chain = ()
    """For agents whose specs have none."""
    limits: Limits | None = None
    """For everything under it together; not taken from above, because what is above counts all the same."""
    run_limits: Limits | None = None
    """For each run submitted to it."""
    task_limits: Limits | None = None
    """For each task of its agents."""
    agent_limits: Limits | None = None
    """For each of its agents."""
    max_total: Members | None = None
    """Attempts that may be at work in it and everything under it; not taken from above."""
    processes: Slots | None = None
    """Attempts in processes that may be at work in it and everything under it; not taken from above. Roots for which
    nothing is set share one less than the computer has cores."""
    balance: Balance | None = None
    """Who of several able agents gets a task; `round_robin` by default."""
    track_record: bool | None = None
    """A model that leads is told what came of its workers' attempts in the category of the request; None is not."""
    ageing_s: NoneToADay | None = None
    """A task that waits this long, in seconds, is as urgent as one of the next priority; 0 never ages."""
    preempt: Preempt | None = None
    restart: Restart | None = None
    """What happens when an agent crashes; None everywhere up starts that one anew, without counting."""
    circuit: Circuit | None = None
    """For agents whose specs have none; None everywhere up never opens one."""
    grace_s: NoneToADay | None = None
    """How long work that is asked to stop may go on to its next step, in seconds: at a deadline, or cancelled."""
    models: Mapping[Label, ModelSpec] = field(default_factory=dict)
    """Models by the names that specs under it use; those of the supervisors above are there too."""
    mcp: Mapping[Label, McpSpec] = field(default_factory=dict)
    """Servers of tools by the names that specs under it use; those of the supervisors above are there too."""
    optimize: Optimize | None = None
    """What it may change by itself; not taken from above."""
