"""The team: supervisors, agents, specs, queues; agents swapped and changed while they work."""

from typing import Literal

from msgspec import field

from engine.core.options import SupervisorOptions
from engine.core.records import fact
from engine.core.spec import AgentSpec, Aggregation
from engine.core.state import SwapMode
from engine.core.values import Usage


@fact
class SupervisorAdded:
    """A supervisor came to the team."""

    type: Literal["supervisor_added"] = "supervisor_added"
    at_ms: int = 0
    supervisor_id: str
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
class SupervisorRemoved:
    """A supervisor without members and work left the team."""

    type: Literal["supervisor_removed"] = "supervisor_removed"
    at_ms: int = 0
    supervisor_id: str


@fact
class SupervisorPaused:
    """Its agents start nothing new; what runs goes on."""

    type: Literal["supervisor_paused"] = "supervisor_paused"
    at_ms: int = 0
    supervisor_id: str


@fact
class SupervisorResumed:
    """Its agents take tasks again."""

    type: Literal["supervisor_resumed"] = "supervisor_resumed"
    at_ms: int = 0
    supervisor_id: str


@fact
class SpecRegistered:
    """A spec is in the registry, from where agents are made and swapped."""

    type: Literal["spec_registered"] = "spec_registered"
    at_ms: int = 0
    spec: AgentSpec


@fact
class SpecUnregistered:
    """A name left the registry; agents that were made from it stay."""

    type: Literal["spec_unregistered"] = "spec_unregistered"
    at_ms: int = 0
    name: str


@fact
class AgentAdded:
    """An agent came to a supervisor."""

    type: Literal["agent_added"] = "agent_added"
    at_ms: int = 0
    agent_id: str
    name: str
    supervisor_id: str
    spec: AgentSpec
    queues: list[str] = field(default_factory=list)
    """Queues by capability that it takes tasks from, besides its own."""
    declared: bool = False
    """A program or a team file declares it."""


@fact
class AgentRemoving:
    """An agent leaves: it takes nothing new, and goes when nothing is at work on it."""

    type: Literal["agent_removing"] = "agent_removing"
    at_ms: int = 0
    agent_id: str
    mode: Literal["drain", "requeue", "abort"]


@fact
class AgentRemoved:
    """An agent left; its name may be used again, its id never."""

    type: Literal["agent_removed"] = "agent_removed"
    at_ms: int = 0
    agent_id: str
    evicted: bool = False
    """It was idle for longest, and made room for another."""


@fact
class AgentSwapped:
    """An agent has a new generation; attempts that begin from now on use it."""

    type: Literal["agent_swapped"] = "agent_swapped"
    at_ms: int = 0
    agent_id: str
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
class SwapDrained:
    """The last attempt of the earlier generations has ended."""

    type: Literal["swap_drained"] = "swap_drained"
    at_ms: int = 0
    agent_id: str
    generation: int


@fact
class AgentPaused:
    """An agent takes nothing new; what it does goes on."""

    type: Literal["agent_paused"] = "agent_paused"
    at_ms: int = 0
    agent_id: str


@fact
class AgentResumed:
    """An agent takes tasks again."""

    type: Literal["agent_resumed"] = "agent_resumed"
    at_ms: int = 0
    agent_id: str


@fact
class AgentBroke:
    """An agent cannot work: its code is not there or not usable."""

    type: Literal["agent_broke"] = "agent_broke"
    at_ms: int = 0
    agent_id: str
    error: str
    away: bool = False
    """Its code is bound to another program; its work waits for that, and nothing of it fails."""


@fact
class AgentMended:
    """What kept an agent from working is gone."""

    type: Literal["agent_mended"] = "agent_mended"
    at_ms: int = 0
    agent_id: str


@fact
class ThreadReturned:
    """Code whose attempt had ended came back; its slot is free again."""

    type: Literal["thread_returned"] = "thread_returned"
    at_ms: int = 0
    agent_id: str
    run_id: str | None = None
    """The run that it worked for, where that is open."""
    task_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    """What it has spent since its attempt ended."""


@fact
class QueueMade:
    """A capability was asked for the first time; these agents are able to do it."""

    type: Literal["queue_made"] = "queue_made"
    at_ms: int = 0
    key: str
    supervisor_id: str
    capability: str
    agent_ids: list[str]


@fact
class AttemptMigrated:
    """An attempt stopped at a step, and goes on from there with the agent's new generation."""

    type: Literal["attempt_migrated"] = "attempt_migrated"
    at_ms: int = 0
    run_id: str = ""
    task_id: str
    attempt: int
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
class SwapRolledBack:
    """An agent has the spec of the generation before again, as a new generation."""

    type: Literal["swap_rolled_back"] = "swap_rolled_back"
    at_ms: int = 0
    agent_id: str
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
class SwapHurried:
    """What was still at work on earlier generations is stopped, and begins again on the new one."""

    type: Literal["swap_hurried"] = "swap_hurried"
    at_ms: int = 0
    agent_id: str
    generation: int
    mode: Literal["migrate", "abort"]


@fact
class CapabilitiesChanged:
    """A live agent has other specialties; its generation stays, and what is at work goes on."""

    type: Literal["capabilities_changed"] = "capabilities_changed"
    at_ms: int = 0
    agent_id: str
    spec: AgentSpec
    added: list[str]
    removed: list[str]
    queues: list[str] = field(default_factory=list)
    """Queues by capability that it takes tasks from now."""


@fact
class TaskReassigned:
    """An operator gave a task to another agent; an attempt at work stops, and its finished steps are kept."""

    type: Literal["task_reassigned"] = "task_reassigned"
    at_ms: int = 0
    run_id: str = ""
    task_id: str
    agent_id: str
    """Who does it from now on."""
    supervisor_id: str
    """Whose slots it takes from now on."""
    stopping: int | None = None
    """The attempt that is asked to stop, if one is at work."""
    now: bool = False
