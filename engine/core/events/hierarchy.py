"""Events of the hierarchy: members moved, renamed and declared, settings of supervisors, sizes of pools."""

from typing import Literal

from msgspec import field

from engine.core.entities.team import SupervisorSettings
from engine.core.events.base import AgentEvent, Event, SupervisorEvent
from engine.core.records.records import fact
from engine.core.specs.options import Balance
from engine.core.specs.spec import AgentSpec


@fact
class MemberMoved(Event):
    """An agent, or a supervisor with everything under it, moved to another supervisor."""

    member_id: str
    parent_id: str
    previous_id: str | None
    """Its supervisor before; None if it was a root."""
    queues: list[str] = field(default_factory=list)
    """For an agent: capability queues of its new supervisor that it serves."""


@fact
class MemberRenamed(Event):
    """An agent or a supervisor was renamed; its id, generation and work stay."""

    member_id: str
    name: str
    previous: str
    spec: AgentSpec | None = None
    """For an agent: its spec, which contains the name too."""
    queues: list[str] = field(default_factory=list)
    """For an agent: capability queues that it serves."""


@fact
class MembersOrdered(SupervisorEvent):
    """The order of the members of a supervisor changed."""

    members: list[str]
    """Ids of all members, in the new order."""


@fact
class Declared:
    """The declared values of a member that differ from its current ones; fields as in `Declaration`."""

    spec: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    parent_id: str | None = None
    removed: list[str] = field(default_factory=list)


@fact
class MembersDeclared(Event):
    """A program or a team file declared members; later differences from this are changes by others."""

    same: list[str]
    """Ids of members that equal their declaration."""
    different: dict[str, Declared] = field(default_factory=dict)
    """Members that kept current values instead of declared ones, by id."""
    dropped: list[str] = field(default_factory=list)
    """Ids of members that are no longer declared."""


@fact
class SupervisorChanged(SupervisorSettings, SupervisorEvent):
    """Settings of a supervisor changed, except its strategy (`StrategySwitched`)."""

    fields: list[str]
    """Names of the settings that changed."""


@fact
class CoordinationTuned(SupervisorEvent):
    """A supervisor with `optimize` decided to change its coordination, or to revert it; later events carry that out."""

    kind: Literal["parallel", "selection", "back"]
    """What changes: the strategy, to a parallel one; how members are selected; `back` reverts the last change."""
    mode: str
    """Its strategy before."""
    balance: Balance | None
    """Its balance before."""
    metric: str
    """The metric that caused the change."""
    before: float
    """Value of the metric before."""
    expected: float | None
    """Value of the metric that is expected after."""
    runs: int
    """Number of runs that were measured."""
    success: float
    """Share of those runs that succeeded, from 0 to 1."""
    median_ms: float
    """Median duration of those runs."""
    why: str
    """The reason, for people."""


@fact
class SupervisorLeaving(SupervisorEvent):
    """A supervisor is being removed: it takes no new work, and leaves with its agents once it has no open work."""

    mode: Literal["drain", "abort"]
    """Whether its open work is finished or stopped."""


@fact
class PoolResized(AgentEvent):
    """The number of instances of a pool changed."""

    size: int
    previous: int
    reason: str
    """For people, such as "12 wait for 2 instances"."""


@fact
class PoolWatched(AgentEvent):
    """An instance of a pool is idle, and is removed if it still is at `due_ms`."""

    due_ms: int | None
    """None cancels the removal, because all instances are at work again."""
