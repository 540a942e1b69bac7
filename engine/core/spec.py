"""What a person writes: blueprints of agents, failure policies, discovery settings.

A spec in a command or an event holds symbolic references only (`module:qualname`); callables that a program passes are
turned into references by `engine.references` before anything is decided.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from engine.core.errors import BadValue
from engine.core.fact import fact
from engine.core.limits import Limits
from engine.core.policies.records import Circuit, Escalate, Fail, Failover, FailurePolicy, Restart, Retry, Skip

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""What names of agents and supervisors look like."""

Aggregation: TypeAlias = Literal["concat", "vote", "best", "first", "synthesis"]
AGGREGATIONS: tuple[Aggregation, ...] = ("concat", "vote", "best", "first", "synthesis")
RunIn: TypeAlias = Literal["loop", "thread", "process"]


def check_name(name: str, what: str) -> str:
    """Return `name` when it is a legal name for `what`.

    Raises:
        BadValue: If it is not; the message says what is allowed.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise BadValue(f"{what} name {name!r} is not allowed; use a letter, then up to 63 letters, digits, '_' or '-'")
    return name


@dataclass(slots=True, kw_only=True)
class Pool:
    """An agent that is as many as its queue asks for. Each instance runs `max_concurrency` attempts."""

    min: Annotated[int, Field(ge=1, le=10_000)] = 1
    max: Annotated[int, Field(ge=1, le=10_000)]
    grow_at: Annotated[int, Field(ge=1)] = 2
    """Tasks that wait for each instance before another is added."""
    idle_s: Annotated[float, Field(gt=0)] = 10.0
    """How long instances have nothing to do before one is taken away, in seconds."""

    def __post_init__(self) -> None:
        """Refuse what cannot be right."""
        self.idle_s = float(self.idle_s)
        if not 1 <= self.min <= self.max:
            raise BadValue(f"a pool goes from 1 or more up to its max, not from {self.min} to {self.max}")
        if self.grow_at < 1 or not self.idle_s > 0:
            raise BadValue(f"a pool's grow_at must be 1 or more and idle_s above 0: {self.grow_at}, {self.idle_s}")


@dataclass(slots=True, kw_only=True)
class AgentSpec:
    """A blueprint: what an agent is, can do and may use.

    Args are checked when the spec is built; what a runtime asks of `options` is checked by that runtime.

    Raises:
        BadValue: If a field cannot be right; the message names the spec and the field.
    """

    name: str
    agent_type: str | None = None
    """The runtime that executes it; `function` where `run` is given, else `SimpleAgent`."""
    description: str = ""
    specialties: Sequence[str] = ()
    tools: Sequence[str | Callable[..., object]] = ()
    run: str | Callable[..., object] | None = None
    """A callable, or its symbolic reference `module:qualname`."""
    model: str | Sequence[str] | None = None
    instructions: str = ""
    category: str | None = None
    weight: float = 1.0
    max_concurrency: int = 1
    """How many attempts the agent may run at once."""
    timeout_s: float | None = None
    """Longest an attempt may take, in seconds."""
    on_failure: Sequence[FailurePolicy] = ()
    run_in: RunIn | None = None
    """Where a function runs; by default `loop` for `async def` and `thread` for plain `def`."""
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    step_timeout_s: float | None = None
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
        """Bring sequences into one shape and refuse what cannot be right."""
        check_name(self.name, "agent")
        if isinstance(self.specialties, str) or isinstance(self.tools, str):
            raise BadValue(f"agent {self.name!r}: specialties and tools are lists, not one string")
        self.specialties = tuple(self.specialties)
        self.tools = tuple(self.tools)
        self.on_failure = tuple(self.on_failure)
        self.options = dict(self.options)
        # As JSON gives them back: the hash of a spec depends on it.
        self.weight = float(self.weight)
        self.timeout_s = None if self.timeout_s is None else float(self.timeout_s)
        if self.agent_type is None:
            self.agent_type = "function" if self.run is not None else "SimpleAgent"
        if not 1 <= self.max_concurrency <= 10_000:
            raise BadValue(f"agent {self.name!r}: max_concurrency must be 1 to 10,000, not {self.max_concurrency}")
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise BadValue(f"agent {self.name!r}: timeout_s must be above 0, not {self.timeout_s}")
        self.step_timeout_s = None if self.step_timeout_s is None else float(self.step_timeout_s)
        if self.step_timeout_s is not None and not self.step_timeout_s > 0:
            raise BadValue(f"agent {self.name!r}: step_timeout_s must be above 0, not {self.step_timeout_s}")
        if not self.weight > 0:
            raise BadValue(f"agent {self.name!r}: weight must be above 0, not {self.weight}")
        if self.run_in not in (None, "loop", "thread", "process"):
            raise BadValue(f"agent {self.name!r}: run_in must be loop, thread or process, not {self.run_in!r}")

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

    max_matches: int = 5
    """The most agents that one request may be given to."""


def spec_hash(spec: AgentSpec) -> str:
    """Return the content hash of `spec`: 16 hex digits, the same for equal specs in every process.

    What came to specs later counts only where it is set, so that specs written before it keep their hashes.
    """
    values = {key: getattr(spec, key) for key in spec.__slots__}
    for key in _LATER:
        if values[key] is None:
            del values[key]
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_LATER = ("step_timeout_s", "pool", "limits", "task_limits", "circuit")


def _plain(value: object) -> object:
    """Return what JSON is made of in place of a policy, a budget or an amount."""
    if isinstance(value, Decimal):
        return str(value)
    found = {key: getattr(value, key) for key in value.__slots__}  # type: ignore[attr-defined]
    if isinstance(value, Retry):
        found = {key: each for key, each in found.items() if each or key not in ("on", "never_on")}
    return found


__all__ = [
    "AGGREGATIONS",
    "NAME",
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
    "check_name",
    "spec_hash",
]
