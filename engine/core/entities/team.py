"""Entities of the team: supervisors, agents, the queues between them."""

from collections import OrderedDict
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import field

from engine.core.discovery.match import Match
from engine.core.entities.kept import KeptValue
from engine.core.entities.memory import Conversation, EndedTask, TrackRecord
from engine.core.records.records import entity, fact, shared_fields
from engine.core.records.spans import TimeKind
from engine.core.records.values import Usage
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.specs.options import Balance, SupervisorOptions
from engine.core.specs.spec import Aggregation

MAX_STEP_NAMES = 20
"""Number of kinds of steps whose durations are kept for each agent."""
MAX_DURATIONS = 32
"""Number of last attempts whose median time at work is used."""
Ids: TypeAlias = OrderedDict[str, int]
"""An ordered set of ids; the values are free for the owner's use. To move an id to the end, pop and insert it: the
encoder does not see `move_to_end`."""


class AgentStatus(StrEnum):
    """The status of an agent."""

    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    PAUSED = "paused"
    ERROR = "error"
    STOPPED = "stopped"


@fact
class Origin:
    """Where the spec of an agent was found, if no person or program wrote it for this team."""

    kind: Literal["catalogue", "discovery", "recipe"]
    id: str
    """Id of the entry or recipe; for `discovery` that of the match."""
    hash: str
    """Content hash of the spec that was found."""


@entity
class Team:
    """The team file that the engine was started with."""

    path: str
    folder: str
    """Folder in which references are resolved, and in which agents work."""
    sha256: str
    seq: int
    """The event that carries its text."""


@entity
class Declaration:
    """The differences between a member and its last declaration by a program or team file."""

    spec: str | None = None
    """Content hash of the declared spec, if the agent has another now."""
    settings: dict[str, str] = field(default_factory=dict)
    """Digests of declared settings that have other values now, by name."""
    parent_id: str | None = None
    """The declared supervisor, if it has another now; empty for a declared root."""
    removed: list[str] = field(default_factory=list)
    """Names of declared members that were removed since."""


@entity
class Tuning:
    """The last automatic change of a supervisor, and its figures before."""

    kind: Literal["parallel", "selection"]
    changed_ms: int
    mode: str
    """Strategy before the change."""
    balance: Balance | None
    """Balance rule before the change."""
    success: float
    """Share of done runs before the change."""
    median_ms: float
    """Median duration of runs before the change."""
    is_on_trial: bool = True
    """Whether it is reverted if later runs are worse."""
    given_up: list[str] = field(default_factory=list)
    """Kinds of changes that were reverted and are not tried again."""


@shared_fields
class SupervisorSettings:
    """Settings of a supervisor, except its strategy."""

    __slots__ = ()
    participants: list[str] | None = None
    """Names of the participating members, in order; None means all."""
    auto_discover: bool = False
    max_matches: int = 5
    default_agent: str | None = None
    max_parallel: int = 10
    """Limit on concurrent attempts of its own agents."""
    max_agents: int = 50
    options: SupervisorOptions = field(default_factory=SupervisorOptions)
    """Its own options; inherited ones are looked up (`queries.team.tree.inherited_option`)."""

    @property
    def discovery(self) -> DiscoveryConfig:
        """How it finds agents."""
        return self.options.discovery or DiscoveryConfig(max_matches=self.max_matches)


@shared_fields
class Coordination(SupervisorSettings):
    """All settings of a supervisor."""

    __slots__ = ()
    mode: str
    """Name of its coordination strategy."""
    aggregation: Aggregation = "concat"
    aggregator: str | None = None


MAX_DISCOVERIES = 10


@fact
class Discovery:
    """A finished search for agents beyond a team."""

    task_id: str
    matches: list[Match]
    """Those that match best, in the team and outside."""
    chosen: list[str]
    """Ids among these of specs that were added, or offered to a person."""
    modes: list[AgentDiscoveryMode]
    """Where was searched."""
    run_id: str = ""
    """The run of the task."""
    faults: list[str] = field(default_factory=list)
    """Why a place could not be searched, one line each."""
    at_ms: int = 0
    """When it ended, UTC milliseconds."""


@entity
class Supervisor(Coordination):
    """A node that receives requests and coordinates its members."""

    id: str
    name: str
    parent_id: str | None = None
    tuning: Tuning | None = None
    """Its last automatic change."""
    members: list[str] = field(default_factory=list)
    """Ids of its agents and sub-supervisors, in declared order."""
    error: str | None = None
    """Why it has failed; it takes no requests until an operator resumes it. Only roots stay failed."""
    restarts_ms: list[int] = field(default_factory=list)
    """Times of restarts within the restart policy's period, oldest first."""
    paused: bool = False
    leaving: Literal["drain", "abort"] | None = None
    """It gets no new work, and is removed once its last work has ended."""
    hand_overs: int = 0
    """Number of its ended groups in which an agent has worked."""
    hand_over_ms: int = 0
    """Coordination overhead of these groups: time until the first attempt began, and after the last one ended."""
    usage: Usage = field(default_factory=Usage)
    """Usage of its whole subtree."""
    begun: int = 0
    """Attempts begun in its whole subtree."""
    done: int = 0
    """Attempts of agents that were done in its whole subtree, those of agents that have left included."""
    failed: int = 0
    """Attempts that failed there."""
    exhausted: str | None = None
    """The budget that is spent, in words; nothing below it starts until the budget is extended."""
    held: bool = False
    """It has spent its budget, and a person is asked whether it gets more."""
    conversations: dict[str, Conversation] = field(default_factory=dict)
    """Conversations of runs submitted to it, by name, in order of last use."""
    discoveries: list[Discovery] = field(default_factory=list)
    """Its last searches beyond its team, the oldest first; at most `MAX_DISCOVERIES`."""
    insights: dict[str, None] = field(default_factory=dict)
    """Insights of its pool, oldest first; only supervisors at the top have one."""
    taken: Ids = field(default_factory=OrderedDict)
    """Items that it has taken from a shared queue and that no agent below it has begun yet."""


@entity
class Probation:
    """The trial of a new generation on its first tasks."""

    failures: int
    """Failures that cause a rollback."""
    tasks: int
    """Number of attempts that are counted."""
    mode: Literal["drain", "migrate", "abort"]
    """Swap mode of the rollback."""
    failed: int = 0
    ended: int = 0


@entity
class Agent:
    """A live instance of a spec. A hot swap changes its generation, never its id."""

    id: str
    name: str
    supervisor_id: str
    spec: str
    """Content hash of the spec of the current generation."""
    previous: str | None = None
    """Content hash of the spec of the previous generation, which may still be at work."""
    origin: Origin | None = None
    """Where the spec of its first generation was found."""
    recipe_id: str | None = None
    """The recipe by which its rights are looked up when it works; None once a person gave it another spec."""
    was_ruled: bool = False
    """Whether its previous generation was ruled by its recipe, as it is again after a rollback."""
    generation: int = 1
    drained: int = 1
    """The last generation before which no attempt is at work any more."""
    proven: int = 1
    """The last generation that has recorded a step or ended an attempt. One that never does is rolled back."""
    probation: Probation | None = None
    """Trial of the current generation, while it lasts."""
    idle_since_ms: int = 0
    """When it last worked, or was added."""
    max_concurrency: int = 1
    """Limit on concurrent attempts, over all instances."""
    size: int = 1
    """Number of instances; 1 unless it is a pool."""
    idle_ms: int | None = None
    """For a pool: since when a removable instance has been idle."""
    paused: bool = False
    paused_by_agent: bool = False
    """Another agent paused it, not a person."""
    removing: Literal["drain", "requeue", "abort"] | None = None
    error: str | None = None
    """Why it cannot work, in words; None while it can."""
    away: bool = False
    """Its code is bound to a program that is not running here, is not trusted, or was edited; its work waits."""
    away_reason: str | None = None
    """Why it is away, in words, where its engine found out; see `queries.team.able.why_away`."""
    failures_in_a_row: int = 0
    circuit: Literal["closed", "open", "half_open"] = "closed"
    """`open`: it keeps failing and gets no work; `half_open`: one attempt is let through as a probe."""
    cool_s: float | None = None
    """Duration of the last opening of the circuit; None while it is closed."""
    probe: str | None = None
    """The task whose attempt is the probe."""
    restarts: int = 0
    """Number of restarts."""
    running: dict[str, int] = field(default_factory=dict)
    """Tasks that hold one of its slots, each with its generation."""
    parked: dict[str, int] = field(default_factory=dict)
    """Tasks whose attempt is parked (waits without a slot), each with its generation."""
    stuck: int = 0
    """Threads of ended attempts that have not returned; each still occupies a slot."""
    stuck_since: dict[str, int] = field(default_factory=dict)
    """When attempts ended whose threads have not returned, by task; UTC milliseconds."""
    queues: list[str] = field(default_factory=list)
    """Keys of the queues that it serves."""
    turn_seq: int | None = None
    """The event since which it waits for its turn among free agents: it began an attempt then, or became free."""
    pace: int = 0
    """Its pass value in stride scheduling (`fold.slots`), advanced when there was a choice of agents."""
    created_seq: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    usage: Usage = field(default_factory=Usage)
    begun: int = 0
    """Attempts begun."""
    exhausted: str | None = None
    """The budget that is spent, in words; it gets no work until the budget is extended."""
    held: bool = False
    """It has spent its budget, and a person is asked whether it gets more."""
    at_work_ms: list[int] = field(default_factory=list)
    """How long each of its last done attempts held a slot, in milliseconds; waits without a slot are left out."""
    step_ms: dict[str, list[int]] = field(default_factory=dict)
    """Durations of its last `MAX_DURATIONS` steps by kind and name (`records.keys.kind_of_step`), in milliseconds; the
    kind that was recorded last comes last."""
    last_error: str | None = None
    insights: list[str] = field(default_factory=list)
    """Its private insights, oldest first."""
    kept: dict[str, KeptValue] = field(default_factory=dict)
    """Its own state (`ctx.state`), by key."""
    track_record: dict[str, TrackRecord] = field(default_factory=dict)
    """Outcomes of its attempts by category of the request; "" for none, and for categories beyond the limit."""
    last_tasks: list[EndedTask] = field(default_factory=list)
    """The last `MAX_LAST_TASKS` ended tasks that it worked on last, the newest last."""

    @property
    def is_found(self) -> bool:
        """It joined because it was found for a request."""
        return self.origin is not None and self.origin.kind == "discovery"

    @property
    def draining(self) -> bool:
        """True while an attempt of an earlier generation is at work."""
        current = self.generation
        if any(generation != current for generation in self.running.values()):
            return True
        return any(generation != current for generation in self.parked.values())

    @property
    def status(self) -> AgentStatus:
        """The status that lists show."""
        if self.error is not None:
            return AgentStatus.ERROR
        if self.removing is not None or self.draining:
            return AgentStatus.DRAINING
        if self.paused or self.away or self.exhausted is not None:
            return AgentStatus.PAUSED
        return AgentStatus.BUSY if self.running or self.parked or self.is_stuck else AgentStatus.IDLE

    @property
    def is_stuck(self) -> bool:
        """True while threads of ended attempts occupy all its slots."""
        return self.stuck >= self.max_concurrency

    @property
    def is_shut(self) -> bool:
        """True while its circuit lets no new attempt through."""
        return self.circuit == "open" or (self.circuit == "half_open" and self.probe is not None)

    @property
    def works(self) -> bool:
        """True while a new task may start on it as soon as it has room."""
        return (
            not self.paused
            and not self.away
            and self.removing is None
            and self.error is None
            and not self.is_shut
            and self.exhausted is None
        )

    @property
    def has_room(self) -> bool:
        """True while one more attempt may run on it."""
        return len(self.running) + self.stuck < self.max_concurrency

    @property
    def takes_tasks(self) -> bool:
        """True while a new task may start on it."""
        return (
            len(self.running) + self.stuck < self.max_concurrency
            and not (self.paused or self.away)
            and self.error is None
            and (self.circuit == "closed" or not self.is_shut)
            and self.removing is None
            and self.exhausted is None
        )


@fact
class Stoppage:
    """A time in which an agent or a supervisor let none of its tasks begin."""

    subject: str
    """Id of the agent or supervisor."""
    kind: TimeKind
    """What its tasks waited for: `paused`, `budget`, or `backoff` for an open circuit."""
    since_ms: int
    until_ms: int | None = None
    """None while it lasts."""


@entity
class Queue:
    """A queue of ready tasks, for one agent or for any agent with a capability.

    Keys: `agent:<id>`, `able:<supervisor id>:<capability>`, `able:<supervisor id>+<levels below>:<capability>`, and
    `back:<agent id>` for attempts that wait for a slot to resume.
    """

    key: str
    supervisor_id: str
    agents: list[str] = field(default_factory=list)
    """Agents that serve it."""
    ready: int = 0
    """Number of tasks in it."""
    pace: int = 0
    """Virtual time of stride scheduling: the pass value of the agent that was chosen last."""
    patient: bool = False
    """A person chose that its tasks wait, although nobody may take them as things stand."""
