"""Events of the team: supervisors, agents, specs and queues; swaps and changes of live agents."""

from typing import Literal

from msgspec import field

from engine.core.entities.team import Coordination, Origin
from engine.core.events.base import AgentEvent, AttemptEvent, Event, SupervisorEvent, TaskEvent
from engine.core.records.records import fact
from engine.core.records.values import Usage
from engine.core.specs.spec import AgentSpec
from engine.core.state import SwapMode


@fact
class SupervisorAdded(Coordination, SupervisorEvent):
    """A supervisor was added."""

    name: str
    parent_id: str | None
    declared: bool = False
    """A program or a team file declares it, and its next declaration is compared with this one."""


@fact
class SupervisorRemoved(SupervisorEvent):
    """A supervisor without members and open work was removed."""


@fact
class SupervisorPaused(SupervisorEvent):
    """A supervisor was paused: its agents start nothing new, attempts at work wait at their next step."""

    stopping: list[str] = field(default_factory=list)
    """Tasks whose attempts are set aside at once."""


@fact
class SupervisorResumed(SupervisorEvent):
    """A paused supervisor was resumed."""


@fact
class SpecRegistered(Event):
    """A spec was put into the registry, for new agents and swaps."""

    spec: AgentSpec


@fact
class SpecUnregistered(Event):
    """A name was removed from the registry; agents made from it stay."""

    name: str


@fact
class AgentAdded(AgentEvent):
    """An agent was added to a supervisor."""

    name: str
    supervisor_id: str
    spec: AgentSpec
    queues: list[str] = field(default_factory=list)
    """Capability queues that it serves besides its own queue."""
    declared: bool = False
    """A program or a team file declares it."""
    run_id: str | None = None
    """The run whose agent added it."""
    origin: Origin | None = None
    """Where its spec was found; None if a person or a program wrote it."""


@fact
class AgentRemoving(AgentEvent):
    """An agent is being removed: it takes no new work, and leaves once it has no attempt at work."""

    mode: Literal["drain", "requeue", "abort"]


@fact
class AgentRemoved(AgentEvent):
    """An agent was removed; its name may be used again, its id never."""

    evicted: bool = False
    """It was the agent idle for longest, removed to make room for a new one."""


@fact
class AgentSwapped(AgentEvent):
    """An agent got a new generation, which attempts that start from now on use."""

    generation: int
    spec: AgentSpec
    mode: SwapMode
    queues: list[str] = field(default_factory=list)
    """Capability queues that the new generation serves."""
    due_ms: int | None = None
    """When a person is asked if attempts still run on the old generation, UTC milliseconds."""
    rollback_failures: int | None = None
    """Automatic rollback if so many of the first `rollback_tasks` tasks fail; None never rolls back by itself."""
    rollback_tasks: int = 10
    recipe_id: str | None = None
    """The recipe that goes on to rule its rights, if one does."""


@fact
class SwapDrained(AgentEvent):
    """The last attempt on an earlier generation ended."""

    generation: int


@fact
class AgentPaused(AgentEvent):
    """An agent was paused: it starts nothing new, attempts at work wait at their next step."""

    stopping: list[str] = field(default_factory=list)
    """Tasks whose attempts are set aside at once."""
    by_agent: bool = False
    """An agent did it, which may then resume it too."""


@fact
class AgentResumed(AgentEvent):
    """A paused agent was resumed."""


@fact
class AgentBroke(AgentEvent):
    """An agent cannot work, because its code is missing or unusable."""

    error: str
    away: bool = False
    """Its code is bound to a program that is not running, is not trusted any more, or was edited; its work waits."""


@fact
class AgentMended(AgentEvent):
    """The code of a broken agent can be used again."""


@fact
class ThreadReturned(AgentEvent):
    """Code that ran on after its attempt had ended has returned, and its slot is free."""

    run_id: str | None = None
    """The run of the attempt, if that is still open."""
    task_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    """Usage since the end of the attempt."""


@fact
class QueueMade(Event):
    """The queue of a capability was created, because work asked for it for the first time."""

    key: str
    supervisor_id: str
    capability: str
    agent_ids: list[str]


@fact
class AttemptMigrated(AttemptEvent):
    """An attempt stopped at a step, and continues from there on the agent's new generation."""

    agent_id: str
    before: int
    """The generation on which it stopped."""
    generation: int
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    """Usage of the part that ended."""
    stuck: bool = False
    """A thread of that part still runs and occupies a slot."""


@fact
class SwapRolledBack(AgentEvent):
    """An agent was rolled back: the spec of the generation before became a new generation."""

    generation: int
    spec: AgentSpec
    mode: SwapMode
    why: str
    """Who asked for it, or why the abandoned generation failed."""
    by_itself: bool = False
    """It was an automatic rollback."""
    queues: list[str] = field(default_factory=list)
    """Capability queues that it serves from now on."""
    recipe_id: str | None = None
    """The recipe that goes on to rule its rights, if one does."""


@fact
class SwapHurried(AgentEvent):
    """Attempts on earlier generations are stopped, and continue or restart on the new one."""

    generation: int
    mode: Literal["migrate", "abort"]


@fact
class CapabilitiesChanged(AgentEvent):
    """The specialties of a live agent changed; its generation stays, attempts at work continue."""

    spec: AgentSpec
    added: list[str]
    removed: list[str]
    queues: list[str] = field(default_factory=list)
    """Capability queues that it serves from now on."""


@fact
class TaskReassigned(TaskEvent):
    """An operator reassigned a task; an attempt at work stops, and its recorded steps are kept."""

    agent_id: str
    """The agent that does it from now on."""
    supervisor_id: str
    """The supervisor whose slots it uses from now on."""
    stopping: int | None = None
    """The attempt that is asked to stop; None if none is at work."""
    now: bool = False
