"""Records that people write: specs of agents.

A spec in a command or an event holds symbolic references only (`module:qualname`); callables that a program passes are
turned into references by `engine.trusted_code.references` before anything is decided.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import field
from typing_extensions import override

from engine.core.errors import BadValue, Refused
from engine.core.records.records import Json, JsonValue, copy_with, fact
from engine.core.specs.failure_policies import Chain, Escalate, Fail, Failover, FailurePolicy, Retry, Skip
from engine.core.specs.limits import Limits
from engine.core.specs.policies import Circuit, Restart
from engine.core.validation.bounds import (
    Attempts,
    Label,
    Name,
    Reference,
    Seconds,
    Slots,
    Text,
    UpToADay,
    Weight,
)
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Means, Within

BOUND = "bound:"
"""Prefix of references to callables that are bound to one running program, and cannot be imported elsewhere."""

Aggregation: TypeAlias = Literal["concat", "vote", "best", "first", "synthesis"]
AGGREGATIONS: tuple[Aggregation, ...] = ("concat", "vote", "best", "first", "synthesis")
if TYPE_CHECKING:
    Code: TypeAlias = Reference | Callable[..., object]
else:
    Code = Annotated[Any, Means(Reference | Callable[..., object])]  # msgspec cannot decode a callable.
MODEL_TYPES = ("llm", "SimpleAgent", "ReactAgent", "MultiAgent", "MemoryAgent", "ConversationAgent")
"""Agent types that are run by a model, unless they have a function."""
MAX_TOOLS = 200
"""Limit on the functions that an agent may call."""
OF_STEPS = ("step_timeout_s",)
"""Fields about steps, of which a function that takes its text alone has none."""
May: TypeAlias = Literal[
    "ask_human",
    "remember",
    "recall",
    "create_agent",
    "list_workers",
    "find_agents",
    "add_agent",
    "remove_agent",
    "pause_agent",
    "resume_agent",
    "swap_agent",
]
RunIn: TypeAlias = Literal["loop", "thread", "process"]


class Pool(ValidatedRecord, kw_only=True):
    """Bounds of a pool: an agent whose instances are scaled by its queue. Each runs `max_concurrency` attempts."""

    min: Slots = 1
    """The fewest instances."""
    max: Slots
    """The most instances."""
    grow_at: Attempts = 2
    """Waiting tasks for each instance that add another."""
    idle_s: UpToADay = 10.0
    """Seconds without work that remove one."""

    @override
    def __post_init__(self) -> None:
        """Refuse a maximum below the minimum."""
        super().__post_init__()
        if self.max < self.min:
            raise BadValue("pool", ("max",), f"must be at least min, {self.min}, not {self.max}")


class AgentSpec(ValidatedRecord, kw_only=True, tag_field="type", tag="agent"):
    """The blueprint of an agent: its code, specialties, permissions and limits.

    Args are checked when the spec is built; what a runtime asks of `options` is checked by that runtime.

    Raises:
        BadValue: If a field cannot be right; the message names the spec, the field and what it has to be.
    """

    whose = "agent"
    name: Name
    """An ASCII letter, then up to 63 of these, digits, `_` or `-`."""
    agent_type: Label | None = None
    """The runtime that executes it; the default is `function` if `run` is given, else `llm`."""
    description: Text = ""
    """Words that requests are compared with."""
    specialties: Annotated[Sequence[Label], Within(max_length=100)] = ()
    """The capabilities that work can ask for."""
    tools: Annotated[Sequence[Code], Within(max_length=MAX_TOOLS)] = ()
    """Functions that it may call by name."""
    run: Code | None = None
    """The function that does the work, `module:qualname`; a program may give a callable."""
    model: Label | Sequence[Label] | None = None
    """The model that plays it, or several to fail over along: names of the team's models, or of litellm."""
    instructions: Text = ""
    """What the model is told it is."""
    mcp: Annotated[Sequence[Label], Within(max_length=100)] = ()
    """Tool servers whose tools it may call, by their names in the team; or `server/tool` for one tool."""
    may: Annotated[Sequence[May], Within(max_length=20)] = ()
    """What its model may do besides calling tools, and delegating as a lead."""
    approve: Mapping[Label, JsonValue] = field(default_factory=dict)
    """When a person is asked before a tool is called: `never`, `always`, or a guard over its arguments."""
    output: JsonValue = None
    """The JSON Schema of its output; text where it is left out."""
    category: Label | None = None
    """Its category of work."""
    weight: Weight = 1.0
    """Its share of the tasks under `balance: weight`."""
    max_concurrency: Slots = 1
    """Attempts that it, or each instance of a pool, may run at once."""
    timeout_s: Seconds | None = None
    """Time limit of an attempt, in seconds, without waits for people."""
    on_failure: Chain = ()
    """What happens when an attempt fails; by default what its supervisor says."""
    run_in: RunIn | None = None
    """Where a function runs; by default `loop` for `async def` and `thread` for plain `def`."""
    options: Mapping[str, Json] = field(default_factory=dict)
    """Parameters of its runtime."""
    step_timeout_s: Seconds | None = None
    """Time limit of one step, in seconds, without waits for people."""
    pool: Pool | None = None
    """Several instances, scaled by its queue; by default there is one."""
    limits: Limits | None = None
    """Budget of the agent in all."""
    task_limits: Limits | None = None
    """Budget of each of its tasks."""
    circuit: Circuit | None = None
    """When it gets no work for a while; by default what its supervisor says."""
    silent_s: Seconds | None = None
    """Seconds without output after which its stream shows as silent; by default what its supervisor says."""
    stuck_s: Seconds | None = None
    """Seconds of silence after which its work shows as stuck; by default what its supervisor says."""

    @override
    def __post_init__(self) -> None:
        """Convert and check the fields, and fill in `agent_type`; the hash of a spec depends on the result."""
        super().__post_init__()
        if self.agent_type is None:
            self.agent_type = "function" if self.run is not None else "llm"
        if self.approve:
            self._check_approvals()

    def _check_approvals(self) -> None:
        from engine.core.specs.approval import check_approval  # guards and their patterns, which few specs have

        for tool, rule in self.approve.items():
            try:
                check_approval("approve", rule)
            except Refused as refused:
                text = refused.reason.removeprefix("approve: ")
                raise BadValue(f"agent {self.name!r}", ("approve", tool), text) from refused

    @property
    def is_played_by_model(self) -> bool:
        """True for a model agent."""
        return self.run is None and self.agent_type in MODEL_TYPES

    def with_name(self, name: str) -> "AgentSpec":
        """Return a copy under another name."""
        return copy_with(self, name=name)


def lead_spec(name: str, model: str | Sequence[str], instructions: str) -> AgentSpec:
    """Return the lead agent of a supervisor for which only a model was given; it has the supervisor's name."""
    return AgentSpec(name=name, agent_type="ReactAgent", model=model, instructions=instructions)


@fact
class AgentCapability:
    """The specialties and results of an agent, for metrics and lists."""

    name: str
    agent_type: str
    description: str = ""
    specialties: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    performance_score: float | None = None
    """Share of finished tasks that succeeded, 0 to 1; None while nothing finished."""


_LATER_FIELDS = ("silent_s", "stuck_s")
"""Fields that specs of earlier journals and archives do not have; at their default they are not part of the hash."""


def spec_hash(spec: AgentSpec) -> str:
    """Return the content hash of `spec`: 16 hex digits, the same for equal specs in every process."""
    values: dict[str, Any] = msgspec.to_builtins(spec)
    return digest({name: value for name, value in values.items() if value is not None or name not in _LATER_FIELDS})


def digest(value: object) -> str:
    """Return 16 hex digits that are the same for equal values."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:16]


__all__ = [
    "AGGREGATIONS",
    "AgentCapability",
    "AgentSpec",
    "Aggregation",
    "Circuit",
    "Escalate",
    "Fail",
    "Failover",
    "FailurePolicy",
    "Limits",
    "May",
    "Pool",
    "Restart",
    "Retry",
    "RunIn",
    "Skip",
    "digest",
    "spec_hash",
]
