"""Settings of a supervisor besides its members. A setting that is left out is inherited from the supervisor above."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import field

from engine.core.records.records import JsonValue
from engine.core.specs.discovery import DiscoveryConfig
from engine.core.specs.failure_policies import Chain
from engine.core.specs.limits import Limits
from engine.core.specs.memory import MemoryOptions
from engine.core.specs.model_spec import McpSpec, ModelSpec
from engine.core.specs.policies import Circuit, Restart
from engine.core.specs.spec import Code
from engine.core.validation.bounds import (
    Label,
    Members,
    MetricLabels,
    Name,
    Priority,
    Seconds,
    Share,
    Slots,
    Text,
    ZeroToADay,
)
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Within

Balance: TypeAlias = Literal["round_robin", "least_load", "weight", "performance", "track_record"]
BALANCES: tuple[Balance, ...] = get_args(Balance)
DEFAULT_PRIORITY = 5
AGEING_S = 60.0
"""Default waiting time, in seconds, after which a task counts as one priority more urgent."""
GRACE_S = 5.0
"""Default time, in seconds, that an attempt may run to its next step after it was asked to stop."""


Toolset: TypeAlias = Annotated[Sequence[Code], Within(min_length=1, max_length=200)]


class Preempt(ValidatedRecord, kw_only=True):
    """When an urgent task preempts a less urgent one."""

    at: Literal["step", "now", "never"] = "step"
    """When the less urgent attempt stops: at its next step, now or never."""
    urgent: Priority = 0
    """Priorities from 0 to this one may take slots; 0 is the most urgent."""
    limit: Annotated[int, Within(ge=0, le=100)] = 3
    """How often one task may be preempted."""


class Optimize(ValidatedRecord, kw_only=True):
    """What a supervisor may tune by the results of its runs; the rules are in `engine.core.policies.auto_tuning`."""

    performance_threshold: Share = 0.85
    """The share of successful runs, or of the possible speed, below which the coordination is changed."""
    switch_to_parallel_when_slow: bool = False
    """Let members that work in sequence work in parallel."""
    optimize_agent_selection: bool = False
    """Prefer agents with better results so far."""


class SupervisorOptions(ValidatedRecord, kw_only=True):
    """Settings of a supervisor. None or empty inherits the value of the supervisor above.

    Raises:
        BadValue: If a value is invalid.
    """

    whose = "options"
    lead: Name | None = None
    """The agent that gets the whole request under `delegate`; not inherited."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    """Parameters of its strategy; not inherited."""
    strategies: Mapping[Label, Label] = field(default_factory=dict)
    """Another strategy for a category of work; not inherited."""
    on_failure: Chain = ()
    """Failure policies of agents that set none."""
    limits: Limits | None = None
    """Budget of everything under it together; not inherited, because budgets above apply in addition."""
    run_limits: Limits | None = None
    """Budget of each run submitted to it."""
    task_limits: Limits | None = None
    """Budget of each task of its agents."""
    agent_limits: Limits | None = None
    """Budget of each of its agents."""
    max_total: Members | None = None
    """Attempts that it and everything under it may run at once; not inherited."""
    processes: Slots | None = None
    """Process slots, for attempts of agents with `run_in: process`, of it and everything under it; not inherited. Roots
    without one share a limit of one less than the cores of the computer."""
    balance: Balance | None = None
    """Which of several free agents gets a task; the default is `round_robin`."""
    track_record: bool | None = None
    """Tells a model that leads how its workers did in the category of the request before; the default is not."""
    ageing_s: ZeroToADay | None = None
    """Seconds of waiting that raise a task by one priority; 0 never."""
    preempt: Preempt | None = None
    """When an urgent task takes a slot."""
    restart: Restart | None = None
    """What happens when an agent crashes; by default it alone is restarted, without a limit."""
    circuit: Circuit | None = None
    """The circuit of agents that set none; by default circuits never open."""
    grace_s: ZeroToADay | None = None
    """Seconds that work which has to stop (a deadline, a cancel), delegated work too, may run to its next step before
    it is aborted."""
    silent_s: Seconds | None = None
    """Seconds without output after which a stream shows as silent; the default is 30."""
    stuck_s: Seconds | None = None
    """Seconds of silence after which work shows as stuck; the default is 300."""
    models: Mapping[Label, ModelSpec] = field(default_factory=dict)
    """Models by the names that agents use; in addition to those of the supervisors above."""
    mcp: Mapping[Label, McpSpec] = field(default_factory=dict)
    """Tool servers by the names that agents use; in addition to those of the supervisors above."""
    toolsets: Mapping[Label, Toolset] = field(default_factory=dict)
    """Functions by names that agents made by agents may be given; in addition to those of the supervisors above."""
    discovery: DiscoveryConfig | None = None
    """Where it finds agents with `auto_discover`, and when they join it; not inherited."""
    memory: MemoryOptions | None = None
    """Size and rights of its team's shared memory; that of the supervisor at the top counts."""
    optimize: Optimize | None = None
    """What it may tune by itself; not inherited."""
    instructions_template: Text | None = None
    """What a model that leads is told about its workers, in place of the engine's words: `{worker_descriptions}` in it
    stands for those that are there at that turn; not inherited."""
    metric_labels: MetricLabels | None = None
    """Keys of labels by which `/metrics` tells requests apart; those of the supervisor at the top count."""
