"""Facts about where members stand in the tree, what is set for supervisors, and how large pools are."""

from typing import Literal

from msgspec import field

from engine.core.events.base import AgentEvent, EventBase, SupervisorEvent
from engine.core.options import Balance, SupervisorOptions
from engine.core.records import fact
from engine.core.spec import AgentSpec


@fact
class MemberMoved(EventBase):
    """An agent, or a supervisor with everything under it, stands under another supervisor."""

    type: Literal["member_moved"] = "member_moved"
    member_id: str
    parent_id: str
    previous_id: str | None
    """Where it was; None where it was a root."""
    queues: list[str] = field(default_factory=list)
    """Of an agent: queues by capability of its new supervisor that it takes tasks from."""


@fact
class MemberRenamed(EventBase):
    """An agent or a supervisor is called otherwise; its id, its generation and its work stay."""

    type: Literal["member_renamed"] = "member_renamed"
    member_id: str
    name: str
    previous: str
    spec: AgentSpec | None = None
    """Of an agent: its spec, which holds the name too."""
    queues: list[str] = field(default_factory=list)
    """Of an agent: queues by capability that it takes tasks from."""


@fact
class MembersOrdered(SupervisorEvent):
    """The members of a supervisor take part in another order."""

    type: Literal["members_ordered"] = "members_ordered"
    members: list[str]
    """Ids of all of them."""


@fact
class Declared:
    """How a member was declared, where that differs from how it is; the fields are those of `Declaration`."""

    spec: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    parent_id: str | None = None
    removed: list[str] = field(default_factory=list)


@fact
class MembersDeclared(EventBase):
    """A program or a team file has declared members; later changes are made by others."""

    type: Literal["members_declared"] = "members_declared"
    same: list[str]
    """Ids of those that are as they were declared."""
    different: dict[str, Declared] = field(default_factory=dict)
    """By id, those in which something else was kept."""
    dropped: list[str] = field(default_factory=list)
    """Ids of those that are declared no longer."""


@fact
class SupervisorChanged(SupervisorEvent):
    """Settings of a supervisor are others; its strategy is said by `StrategySwitched`."""

    type: Literal["supervisor_changed"] = "supervisor_changed"
    fields: list[str]
    """Names of what differs from before."""
    participants: list[str] | None
    auto_discover: bool
    max_matches: int
    default_agent: str | None
    max_parallel: int
    max_agents: int
    options: SupervisorOptions


@fact
class CoordinationTuned(SupervisorEvent):
    """A supervisor changes how it coordinates by itself, or takes such a change back; what follows says how."""

    type: Literal["coordination_tuned"] = "coordination_tuned"
    kind: Literal["parallel", "selection", "back"]
    mode: str
    """Its strategy before."""
    balance: Balance | None
    """Its balance before."""
    metric: str
    """The figure that asked for it."""
    before: float
    expected: float | None
    runs: int
    """How many runs the figures are of."""
    success: float
    """The share of them that was done."""
    median_ms: float
    why: str


@fact
class SupervisorLeaving(SupervisorEvent):
    """A supervisor gets nothing new; it goes with its agents when nothing of its work is open."""

    type: Literal["supervisor_leaving"] = "supervisor_leaving"
    mode: Literal["drain", "abort"]
    """Its open work goes on to its end, or is stopped."""


@fact
class PoolResized(AgentEvent):
    """An agent has another number of instances."""

    type: Literal["pool_resized"] = "pool_resized"
    size: int
    previous: int
    reason: str
    """In words, such as "12 wait for 2 instances"."""


@fact
class PoolWatched(AgentEvent):
    """An instance of a pool has nothing to do; it goes if that is so until a moment."""

    type: Literal["pool_watched"] = "pool_watched"
    due_ms: int | None
    """None: all of them are at work again, and none goes."""
