"""Entities of the team: supervisors, agents, the queues between them."""

from collections import OrderedDict
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import field

from engine.core.entities.memory import Conversation, TrackRecord
from engine.core.options import Balance, SupervisorOptions
from engine.core.records import entity
from engine.core.spec import Aggregation
from engine.core.values import Usage

DURATIONS = 32
"""How many of its last attempts an agent's median is taken from."""
Ids: TypeAlias = OrderedDict[str, int]
"""An ordered set of ids; the number is free for the owner's use. JSON does not see `move_to_end`: use `pop`."""


class AgentStatus(StrEnum):
    """What an agent is doing."""

    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    PAUSED = "paused"
    ERROR = "error"
    STOPPED = "stopped"


@entity
class Team:
    """The team file that the engine was started with."""

    path: str
    folder: str
    """Where its references are resolved and what its agents see as their folder."""
    sha256: str
    seq: int
    """The event that carries its text."""


@entity
class Declaration:
    """How a program or a team file declared a member last, as far as it is different now."""

    spec: str | None = None
    """Content hash of the spec that was declared, where the agent has another now."""
    settings: dict[str, str] = field(default_factory=dict)
    """Digests of declared values, by name, of settings that have other values now."""
    parent_id: str | None = None
    """The supervisor under which it was declared, where it stands under another now; empty of a root."""
    removed: list[str] = field(default_factory=list)
    """Names of members that were declared under it and have been removed since."""


@entity
class Tuning:
    """What a supervisor changed by itself last, and how its runs went before."""

    kind: Literal["parallel", "selection"]
    changed_ms: int
    mode: str
    """Its strategy before."""
    balance: Balance | None
    """Its balance before."""
    success: float
    """Share of its runs that were done, before."""
    median_ms: float
    """Of its runs, before."""
    is_on_trial: bool = True
    """It is taken back when the runs after it went worse."""
    given_up: list[str] = field(default_factory=list)
    """Kinds of changes that were taken back, and are not tried again."""


@entity
class Supervisor:
    """A node that receives requests and coordinates its members."""

    id: str
    name: str
    parent_id: str | None = None
    mode: str
    """Name of its coordination strategy."""
    aggregation: Aggregation = "concat"
    aggregator: str | None = None
    participants: list[str] | None = None
    """Names of the members that take part, in order; None means all."""
    auto_discover: bool = False
    max_matches: int = 5
    default_agent: str | None = None
    max_parallel: int = 10
    """How many attempts its own agents may run at once."""
    max_agents: int = 50
    options: SupervisorOptions = field(default_factory=SupervisorOptions)
    """What was set for it; what it inherits is looked up (`inherited`)."""
    tuning: Tuning | None = None
    """What it changed by itself last."""
    members: list[str] = field(default_factory=list)
    """Ids of its agents and sub-supervisors, in declared order."""
    error: str | None = None
    """Why it has failed and takes no requests, until an operator resumes it; only roots stay so."""
    restarts_ms: list[int] = field(default_factory=list)
    """When it restarted agents within the period that is counted, the oldest first."""
    paused: bool = False
    leaving: Literal["drain", "abort"] | None = None
    """It gets nothing new, and goes when nothing of its work is open."""
    hand_overs: int = 0
    """Groups of it that ended after an agent below it had worked."""
    hand_over_ms: int = 0
    """Time that those groups took besides the work below: until the first attempt began, and after the last ended."""
    usage: Usage = field(default_factory=Usage)
    """What was spent by everything under it."""
    begun: int = 0
    """Attempts begun by everything under it."""
    exhausted: str | None = None
    """The budget that it has spent, in words; nothing under it starts until it has more."""
    held: bool = False
    """It has spent its budget, and a person is asked whether it gets more."""
    conversations: dict[str, Conversation] = field(default_factory=dict)
    """What runs that were submitted to it remember, by name; the one that was last gone on with stands last."""
    taken: Ids = field(default_factory=OrderedDict)
    """Tasks that it has taken from a queue that several members share, and that no agent below it has begun yet."""


@entity
class Probation:
    """How a new generation does on its first tasks, after which it is trusted."""

    failures: int
    """So many are too many: the agent goes back to the generation before."""
    tasks: int
    """So many attempts are looked at."""
    mode: Literal["drain", "migrate", "abort"]
    """What becomes of attempts at work when it goes back."""
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
    """That of the generation before, which may still be at work."""
    generation: int = 1
    drained: int = 1
    """The last generation before which nothing is at work any more."""
    proven: int = 1
    """The last generation that has recorded a step or ended an attempt; one that cannot even begin is rolled back."""
    probation: Probation | None = None
    """Of the current generation, while its first tasks are looked at."""
    idle_since_ms: int = 0
    """When it was last at work, or came."""
    max_concurrency: int = 1
    """Attempts that it may run at once: those of one instance times its instances."""
    size: int = 1
    """Instances; more than one of a pool alone."""
    idle_ms: int | None = None
    """Of a pool: since when an instance that may go has had nothing to do."""
    paused: bool = False
    removing: Literal["drain", "requeue", "abort"] | None = None
    error: str | None = None
    """Why it cannot work, in words; None while it can."""
    away: bool = False
    """Its code is bound to a program that this engine is not part of: it starts nothing, its work waits for that."""
    failures_in_a_row: int = 0
    circuit: Literal["closed", "open", "half_open"] = "closed"
    """`open`: it keeps failing and gets nothing to do; `half_open`: one attempt is let through, to see."""
    cool_s: float | None = None
    """How long the circuit was opened for when it was opened last; None while it is closed."""
    probe: str | None = None
    """The task whose attempt was let through and is at work."""
    restarts: int = 0
    """How often it was started anew."""
    running: dict[str, int] = field(default_factory=dict)
    """Tasks that hold one of its slots, with the generation that runs each."""
    parked: dict[str, int] = field(default_factory=dict)
    """Tasks whose attempt waits for its delegations and holds no slot, with the generation."""
    stuck: int = 0
    """Threads of ended attempts that have not returned; each still takes a slot."""
    queues: list[str] = field(default_factory=list)
    """Keys of the queues it takes tasks from."""
    turn_seq: int | None = None
    """The event since which it waits for its turn among free agents: it began something then, or became free."""
    pace: int = 0
    """What it was given where there was a choice, each attempt counting for less the larger its weight."""
    created_seq: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    usage: Usage = field(default_factory=Usage)
    begun: int = 0
    """Attempts begun."""
    exhausted: str | None = None
    """The budget that it has spent, in words; it gets nothing to do until it has more."""
    held: bool = False
    """It has spent its budget, and a person is asked whether it gets more."""
    durations_ms: list[int] = field(default_factory=list)
    last_error: str | None = None
    insights: list[str] = field(default_factory=list)
    """What it remembers, the oldest first."""
    track_record: dict[str, TrackRecord] = field(default_factory=dict)
    """What its attempts came to, by the category of the request; "" where it had none, or one too many."""

    @property
    def draining(self) -> bool:
        """True while an attempt of an earlier generation is at work."""
        now = self.generation
        return any(g != now for g in self.running.values()) or any(g != now for g in self.parked.values())

    @property
    def status(self) -> AgentStatus:
        """What it is doing, in the one word that lists show."""
        if self.error is not None:
            return AgentStatus.ERROR
        if self.removing is not None or self.draining:
            return AgentStatus.DRAINING
        if self.paused or self.away or self.exhausted is not None:
            return AgentStatus.PAUSED
        return AgentStatus.BUSY if self.running or self.parked else AgentStatus.IDLE

    @property
    def is_shut(self) -> bool:
        """True while its circuit lets no new task through."""
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


@entity
class Queue:
    """Tasks that are ready for one agent, or for any agent with one capability.

    Keys: `agent:<id>`, `able:<supervisor id>:<capability>`, `able:<supervisor id>+<levels below>:<capability>`, and
    `back:<agent id>` for attempts that wait for a slot to go on with what their delegations answered.
    """

    key: str
    supervisor_id: str
    agents: list[str] = field(default_factory=list)
    """Who may take from it."""
    ready: int = 0
    """Tasks that stand in it."""
    pace: int = 0
    """How far its agents have come in being given what is due to their weights: where the last one stood."""
