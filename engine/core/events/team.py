"""The team: supervisors, agents, specs, queues; agents swapped and changed while they work."""

from typing import Literal

from msgspec import field

from engine.core.events.base import AgentEvent, AttemptEvent, EventBase, SupervisorEvent, TaskEvent
from engine.core.options import SupervisorOptions
from engine.core.records import fact
from engine.core.spec import AgentSpec, Aggregation
from engine.core.state import SwapMode
from engine.core.values import Usage


@fact
class SupervisorAdded(SupervisorEvent):
    """A supervisor came to the team."""

    type: Literal["supervisor_added"] = "supervisor_added"
    name: str
    parent_id: str | None
    mode: str
    aggregation: Aggregation
    aggregator: str | None
    participants: list[str] | None
    auto_discover: bool
    max_matches: int
    default_agent: str | None
    max_parallel: int
    max_agents: int
    options: SupervisorOptions = field(default_factory=SupervisorOptions)
    declared: bool = False
    """A program or a team file declares it; it is compared with what those declare next."""


@fact
class SupervisorRemoved(SupervisorEvent):
    """A supervisor without members and work left the team."""

    type: Literal["supervisor_removed"] = "supervisor_removed"


@fact
class SupervisorPaused(SupervisorEvent):
    """Its agents start nothing new; what runs goes on."""

    type: Literal["supervisor_paused"] = "supervisor_paused"


@fact
class SupervisorResumed(SupervisorEvent):
    """Its agents take tasks again."""

    type: Literal["supervisor_resumed"] = "supervisor_resumed"


@fact
class SpecRegistered(EventBase):
    """A spec is in the registry, from where agents are made and swapped."""

    type: Literal["spec_registered"] = "spec_registered"
    spec: AgentSpec


@fact
class SpecUnregistered(EventBase):
    """A name left the registry; agents that were made from it stay."""

    type: Literal["spec_unregistered"] = "spec_unregistered"
    name: str


@fact
class AgentAdded(AgentEvent):
    """An agent came to a supervisor."""

    type: Literal["agent_added"] = "agent_added"
    name: str
    supervisor_id: str
    spec: AgentSpec
    queues: list[str] = field(default_factory=list)
    """Queues by capability that it takes tasks from, besides its own."""
    declared: bool = False
    """A program or a team file declares it."""


@fact
class AgentRemoving(AgentEvent):
    """An agent leaves: it takes nothing new, and goes when nothing is at work on it."""

    type: Literal["agent_removing"] = "agent_removing"
    mode: Literal["drain", "requeue", "abort"]


@fact
class AgentRemoved(AgentEvent):
    """An agent left; its name may be used again, its id never."""

    type: Literal["agent_removed"] = "agent_removed"
    evicted: bool = False
    """It was idle for longest, and made room for another."""


@fact
class AgentSwapped(AgentEvent):
    """An agent has a new generation; attempts that begin from now on use it."""

    type: Literal["agent_swapped"] = "agent_swapped"
    generation: int
    spec: AgentSpec
    mode: SwapMode
    queues: list[str] = field(default_factory=list)
    """Queues by capability that the new generation takes tasks from."""
    due_ms: int | None = None
    """When a person is asked if attempts are still at work on the generation before."""
    rollback_failures: int | None = None
    """It goes back by itself when so many of its first `rollback_tasks` attempts fail."""
    rollback_tasks: int = 10


@fact
class SwapDrained(AgentEvent):
    """The last attempt of the earlier generations has ended."""

    type: Literal["swap_drained"] = "swap_drained"
    generation: int


@fact
class AgentPaused(AgentEvent):
    """An agent takes nothing new; what it does goes on."""

    type: Literal["agent_paused"] = "agent_paused"


@fact
class AgentResumed(AgentEvent):
    """An agent takes tasks again."""

    type: Literal["agent_resumed"] = "agent_resumed"


@fact
class AgentBroke(AgentEvent):
    """An agent cannot work: its code is not there or not usable."""

    type: Literal["agent_broke"] = "agent_broke"
    error: str
    away: bool = False
    """Its code is bound to another program; its work waits for that, and nothing of it fails."""


@fact
class AgentMended(AgentEvent):
    """What kept an agent from working is gone."""

    type: Literal["agent_mended"] = "agent_mended"


@fact
class ThreadReturned(AgentEvent):
    """Code whose attempt had ended came back; its slot is free again."""

    type: Literal["thread_returned"] = "thread_returned"
    run_id: str | None = None
    """The run that it worked for, where that is open."""
    task_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    """What it has spent since its attempt ended."""


@fact
class QueueMade(EventBase):
    """A capability was asked for the first time; these agents are able to do it."""

    type: Literal["queue_made"] = "queue_made"
    key: str
    supervisor_id: str
    capability: str
    agent_ids: list[str]


@fact
class AttemptMigrated(AttemptEvent):
    """An attempt stopped at a step, and goes on from there with the agent's new generation."""

    type: Literal["attempt_migrated"] = "attempt_migrated"
    agent_id: str
    before: int
    """The generation that it stopped on."""
    generation: int
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    """Of the part that ended."""
    stuck: bool = False
    """A thread of that part has not returned and still takes a slot."""


@fact
class SwapRolledBack(AgentEvent):
    """An agent has the spec of the generation before again, as a new generation."""

    type: Literal["swap_rolled_back"] = "swap_rolled_back"
    generation: int
    spec: AgentSpec
    mode: SwapMode
    why: str
    """Who wanted it, or what was wrong with the generation that is left."""
    by_itself: bool = False
    """No operator asked for it."""
    queues: list[str] = field(default_factory=list)
    """Queues by capability that it takes tasks from now."""


@fact
class SwapHurried(AgentEvent):
    """What was still at work on earlier generations is stopped, and begins again on the new one."""

    type: Literal["swap_hurried"] = "swap_hurried"
    generation: int
    mode: Literal["migrate", "abort"]


@fact
class CapabilitiesChanged(AgentEvent):
    """A live agent has other specialties; its generation stays, and what is at work goes on."""

    type: Literal["capabilities_changed"] = "capabilities_changed"
    spec: AgentSpec
    added: list[str]
    removed: list[str]
    queues: list[str] = field(default_factory=list)
    """Queues by capability that it takes tasks from now."""


@fact
class TaskReassigned(TaskEvent):
    """An operator gave a task to another agent; an attempt at work stops, and its finished steps are kept."""

    type: Literal["task_reassigned"] = "task_reassigned"
    agent_id: str
    """Who does it from now on."""
    supervisor_id: str
    """Whose slots it takes from now on."""
    stopping: int | None = None
    """The attempt that is asked to stop, if one is at work."""
    now: bool = False
