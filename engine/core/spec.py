"""What a person writes: blueprints of agents, failure policies, discovery settings.

A spec in a command or an event holds symbolic references only (`module:qualname`); callables that a program passes are
turned into references by `engine.references` before anything is decided.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from engine.core.errors import BadValue
from engine.core.fact import fact
from engine.core.limits import Limits
from engine.core.policies.records import Chain, Circuit, Escalate, Fail, Failover, FailurePolicy, Restart, Retry, Skip
from engine.core.validation.bounds import (
    Attempts,
    Label,
    Matches,
    Name,
    Reference,
    Seconds,
    Slots,
    Text,
    UpToADay,
    Weight,
)
from engine.core.validation.records import check_fields

BOUND = "bound:"
"""How references begin that stand for a callable of one running program, which no other can import."""

Aggregation: TypeAlias = Literal["concat", "vote", "best", "first", "synthesis"]
AGGREGATIONS: tuple[Aggregation, ...] = ("concat", "vote", "best", "first", "synthesis")
RunIn: TypeAlias = Literal["loop", "thread", "process"]


@dataclass(slots=True, kw_only=True)
class Pool:
    """An agent that is as many as its queue asks for. Each instance runs `max_concurrency` attempts."""

    min: Slots = 1
    max: Slots
    grow_at: Attempts = 2
    """Tasks that wait for each instance before another is added."""
    idle_s: UpToADay = 10.0
    """How long instances have nothing to do before one is taken away, in seconds."""

    def __post_init__(self) -> None:
        """Refuse what cannot be right."""
        check_fields(self, "pool")
        if self.max < self.min:
            raise BadValue("pool", ("max",), f"must be at least min, {self.min}, not {self.max}")


@dataclass(slots=True, kw_only=True)
class AgentSpec:
    """A blueprint: what an agent is, can do and may use.

    Args are checked when the spec is built; what a runtime asks of `options` is checked by that runtime.

    Raises:
        BadValue: If a field cannot be right; the message names the spec, the field and what it has to be.
    """

    name: Name
    agent_type: Label | None = None
    """The runtime that executes it; `function` where `run` is given, else `SimpleAgent`."""
    description: Text = ""
    specialties: Annotated[Sequence[Label], Field(max_length=100)] = ()
    tools: Annotated[Sequence[Reference | Callable[..., object]], Field(max_length=200)] = ()
    run: Reference | Callable[..., object] | None = None
    """A callable, or its symbolic reference `module:qualname`."""
    model: Label | Sequence[Label] | None = None
    instructions: Text = ""
    category: Label | None = None
    weight: Weight = 1.0
    max_concurrency: Slots = 1
    """How many attempts the agent may run at once."""
    timeout_s: Seconds | None = None
    """Longest an attempt may take, in seconds."""
    on_failure: Chain = ()
    run_in: RunIn | None = None
    """Where a function runs; by default `loop` for `async def` and `thread` for plain `def`."""
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    step_timeout_s: Seconds | None = None
    """Longest one step of an attempt may take, in seconds."""
    pool: Pool | None = None
    """Bounds within which its instances come and go; None is one instance."""
    limits: Limits | None = None
    """What the agent may spend in all."""
    task_limits: Limits | None = None
    """What it may spend on one task."""
    circuit: Circuit | None = None
    """When it gets nothing to do because it keeps failing; None is what its supervisor says."""

    def __post_init__(self) -> None:
        """Bring values into one shape and refuse what cannot be right; the hash of a spec depends on it."""
        check_fields(self, "agent")
        if self.agent_type is None:
            self.agent_type = "function" if self.run is not None else "SimpleAgent"

    def with_name(self, name: str) -> "AgentSpec":
        """Return a copy under another name."""
        values = {key: getattr(self, key) for key in self.__slots__}
        return AgentSpec(**(values | {"name": name}))


@fact
class AgentCapability:
    """What an agent is able to do, as metrics and lists show it."""

    name: str
    agent_type: str
    description: str = ""
    specialties: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    performance_score: float | None = None
    """Share of finished tasks that succeeded, 0 to 1; None while nothing finished."""


@fact
class DiscoveryConfig:
    """How a supervisor with `auto_discover` finds agents for a request."""

    max_matches: Matches = 5
    """The most agents that one request may be given to."""

    def __post_init__(self) -> None:
        """Refuse what cannot be right."""
        check_fields(self, "discovery")


def spec_hash(spec: AgentSpec) -> str:
    """Return the content hash of `spec`: 16 hex digits, the same for equal specs in every process.

    What came to specs later counts only where it is set, so that specs written before it keep their hashes.
    """
    values = {key: getattr(spec, key) for key in spec.__slots__}
    for key in _LATER:
        if values[key] is None:
            del values[key]
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=plain)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_LATER = ("step_timeout_s", "pool", "limits", "task_limits", "circuit")


def plain(value: object) -> object:
    """Return what JSON is made of in place of a policy, a budget or an amount."""
    if isinstance(value, Decimal):
        return str(value)
    found = {key: getattr(value, key) for key in value.__slots__}  # type: ignore[attr-defined]
    if isinstance(value, Retry):
        found = {key: each for key, each in found.items() if each or key not in ("on", "never_on")}
    return found


__all__ = [
    "AGGREGATIONS",
    "AgentCapability",
    "AgentSpec",
    "Aggregation",
    "Circuit",
    "DiscoveryConfig",
    "Escalate",
    "Fail",
    "Failover",
    "FailurePolicy",
    "Limits",
    "Pool",
    "Restart",
    "Retry",
    "RunIn",
    "Skip",
    "plain",
    "spec_hash",
]
