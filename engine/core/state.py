"""The state of a team: one object of plain entities, the fold of its journal and nothing else.

Only `core/fold/` changes what is here. It is bounded: open runs with their tasks, the team, timers, totals, and one
line for each of the last `SUMMARIES` finished runs. Long texts are in the journal (`values.TextRef`).
"""

from collections import OrderedDict
from dataclasses import field
from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import JsonValue

from engine.core.check import Check, Joining, Takes
from engine.core.fact import entity
from engine.core.limits import Limits
from engine.core.options import AGEING_S, DEFAULT_PRIORITY, Balance, SupervisorOptions
from engine.core.spec import AgentSpec, Aggregation, FailurePolicy
from engine.core.values import Held, Usage

SUMMARIES = 200
"""How many finished runs are remembered in one line each."""
OUTCOMES = 1000
"""How many commands are remembered, so that one that arrives again is not carried out again."""
DURATIONS = 32
"""How many of its last attempts an agent's median is taken from."""

Ids: TypeAlias = OrderedDict[str, int]
"""An ordered set of ids; the number is free for the owner's use."""


class AgentStatus(StrEnum):
    """What an agent is doing."""

    IDLE = "idle"
    BUSY = "busy"
    DRAINING = "draining"
    PAUSED = "paused"
    ERROR = "error"
    STOPPED = "stopped"


class TaskStatus(StrEnum):
    """Where a task stands."""

    WAITING = "waiting"
    RUNNING = "running"
    RETRYING = "retrying"
    PREEMPTED = "preempted"
    IN_DOUBT = "in_doubt"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


ENDED = frozenset({TaskStatus.DONE, TaskStatus.FAILED, TaskStatus.CANCELLED, TaskStatus.SKIPPED})
"""A task in one of these has its outcome and never changes again, unless an operator retries it."""


class RunStatus(StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


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
    mode: str = "sequential"
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
    """Groups of it that ended after somebody below it had worked."""
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
    running: int = 0
    """Slots in use."""
    total: int = 0
    """Slots in use by its agents and by all below it."""
    at_work: dict[int, Ids] = field(default_factory=dict)
    """Tasks that hold those of its own agents, by priority, the one that began last at the end."""
    open: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Queues that have both a ready task and a free agent, with their rank and the event that gave it to them."""
    order: list[tuple[int, int, str]] = field(default_factory=list)
    """A heap of rank, event and queue; what `open` does not hold like that is passed over, and never on top."""
    ageing_ms: int = round(AGEING_S * 1000)
    """How long a task waits until it is as urgent as one of the next priority; what was set here or above."""
    blocked: Ids = field(default_factory=OrderedDict)
    """Supervisors, itself included, that could start something had it not `max_total` attempts at work."""


@entity
class Probation:
    """How a new generation does on its first tasks, after which it is trusted."""

    failures: int
    """So many are too many: the agent goes back to the generation before."""
    tasks: int
    """So many attempts are looked at."""
    mode: Literal["drain", "migrate", "abort"] = "drain"
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
    failures_in_a_row: int = 0
    circuit: Literal["closed", "open", "half_open"] = "closed"
    """`open`: it keeps failing and gets nothing to do; `half_open`: one attempt is let through, to see."""
    cool_s: float | None = None
    """How long the circuit was opened for when it was opened last; None while it is closed."""
    probe: str | None = None
    """The task whose attempt was let through."""
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
        if self.paused or self.exhausted is not None:
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
        able = self.has_room and not self.paused and self.error is None and not self.is_shut
        return able and self.removing is None and self.exhausted is None


@entity
class Turn:
    """The ready tasks of one run in one lane of a queue."""

    since_ms: int
    """Since when it waits for its turn: since its first task became ready, or since its last turn."""
    since_seq: int
    """The event at which that was."""
    tasks: Ids = field(default_factory=OrderedDict)


Lane: TypeAlias = OrderedDict[str, Turn]
"""Ready tasks of one priority by their run; the run that has waited longest for its turn stands first."""


@entity
class Queue:
    """Tasks that are ready for one agent, or for any agent with one capability.

    Keys: `agent:<id>`, `able:<supervisor id>:<capability>`, and `back:<agent id>` for attempts that wait for a slot to
    go on with what their delegations answered.
    """

    key: str
    supervisor_id: str
    agents: list[str] = field(default_factory=list)
    """Who may take from it."""
    ready: dict[str, int] = field(default_factory=dict)
    """Ready tasks, each with the event that made it ready; in no order that means anything."""
    lanes: dict[int, Lane] = field(default_factory=dict)
    """The same by priority and run, in the order in which they begin."""
    free: Ids = field(default_factory=OrderedDict)
    """Agents that could take one now; the one that waited longest first."""
    pace: int = 0
    """How far its agents have come in being given what is due to their weights: where the last one stood."""


SwapMode: TypeAlias = Literal["drain", "migrate", "abort"]
"""What becomes of attempts at work on the generation before: they end on it, go on with the new one from their next
step, or are stopped and begin again.
"""
StopReason: TypeAlias = Literal["cancel", "requeue", "preempt", "migrate", "restart", "limit"]
"""Why an attempt is asked to stop.

`cancel`: the task ends with what it has. `requeue`: another agent, or another attempt, goes on with its finished steps.
`preempt`: it goes back to its place in the queue. `migrate`: the same attempt goes on with the agent's new generation.
`restart`: it begins again from its input, without its finished steps. `limit`: a deadline or a budget ended it.
"""


@entity
class Attempt:
    """One try of a task by one agent."""

    number: int
    agent_id: str | None
    """None for built-in work that the engine does itself."""
    generation: int
    started_ms: int
    since_ms: int = 0
    """From when on its time is not yet counted as spent."""
    parked: bool = False
    """It waits for its delegations and holds no slot."""
    waits: dict[str, None] = field(default_factory=dict)
    """Calls that it waits for and whose tasks are not all ended."""
    owed: list[str] = field(default_factory=list)
    """Calls that are answered, and wait for a slot to be told."""
    stopping: StopReason | None = None
    """Why it was asked to stop at its next step, and so what becomes of its task; None while it was not."""


@entity
class Call:
    """A delegation or a map from inside an attempt: the tasks that it created."""

    key: str
    kind: Literal["delegate", "map"]
    children: list[str]
    open: int
    """How many of them have not ended."""


@entity
class Task:
    """A node of work in a run."""

    id: str
    run_id: str
    parent_id: str | None
    """The group that planned it, or the task whose attempt asked for it."""
    supervisor_id: str
    kind: Literal["agent", "group", "join", "check"]
    """Work of an agent; of a sub-supervisor with its own graph; of the engine, joining results or looking at them."""
    title: str
    queue: str | None = None
    worker_id: str | None = None
    """The agent or sub-supervisor that the plan gave it to; None when any able agent may take it."""
    join: Joining | None = None
    check: Check | None = None
    """What a built-in node looks at; its verdict decides how the graph goes on."""
    role: str = ""
    """What the strategy of its graph means it for, in that strategy's own words."""
    sees: list[str] | None = None
    """Tasks whose outputs it gets; None is everything before it."""
    need: int | None = None
    """How many of those that it waits for have to be done; the rest are stopped then."""
    tolerated: bool = False
    """Its failure does not stop the graph: the strategy has another way."""
    passed_by: bool = False
    """It was skipped because its branch was not taken, which does not skip what comes after other branches too."""
    status: TaskStatus = TaskStatus.WAITING
    input: Held = None
    takes: Takes = "request"
    """Its text: the input of its graph; the output before it; the input and all outputs before it; its own input."""
    after: list[str] = field(default_factory=list)
    """Tasks of the same graph that must end first."""
    before: list[str] = field(default_factory=list)
    """Tasks of the same graph that wait for this one."""
    blockers: int = 0
    """How many of those have not ended."""
    held_back: bool = False
    """Ready, but its run is paused."""
    ready_seq: int | None = None
    """The event that made it ready; kept where it goes back to its place."""
    ready_ms: int = 0
    """Since when it is ready."""
    priority: int = DEFAULT_PRIORITY
    """0 is the most urgent, 9 the least."""
    deadline_ms: int | None = None
    """When it is ended if it has not ended by itself; never later than that of what it is part of."""
    deadline_after_ms: int | None = None
    """How long it was given, where it has a deadline of its own."""
    escalation_id: str | None = None
    """The question to a person that it waits for."""
    preemptions: int = 0
    """How often it was made to wait for a more urgent task."""
    taking: str | None = None
    """While it waits: the task at work that was asked to stop, so that this one has its slot."""
    yields_to: str | None = None
    """The more urgent task for which its last attempt was asked to stop."""
    optional: bool = False
    attempt: Attempt | None = None
    attempts: int = 0
    """Attempts begun so far."""
    begun: int = 0
    """Attempts of agents begun so far, with those of everything below it."""
    usage: Usage | None = None
    """What was spent on it and on everything below it; None while nothing was."""
    held: bool = False
    """It has spent its budget, and a person is asked whether it gets more."""
    retries: int = 0
    """Those that the agent that failed on it last was given."""
    failovers: int = 0
    """How many other agents its failure policies gave it to."""
    failed_on: list[str] = field(default_factory=list)
    """Agents that failed on it, the first one first, since its failure policies began."""
    came_from: str | None = None
    """The queue by capability that it was in, once it was given to one agent of it."""
    tried_by_default: bool = False
    """It is tried again because nobody answered a question about it."""
    retry_at_ms: int | None = None
    agent_id: str | None = None
    """The last agent that worked on it."""
    steps: dict[str, Held] = field(default_factory=dict)
    """Outputs of finished steps by their key, never run again."""
    calling: dict[str, str] = field(default_factory=dict)
    """Tools that it has begun to call and must not call twice, by their step's key, while no end is recorded."""
    calls: dict[str, Call] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    """Nodes of its graph (group) or tasks that it asked for."""
    open: int = 0
    """How many of its children have not ended."""
    mode: str | None = None
    """Of a group: the strategy that its graph was made with."""
    settings: dict[str, JsonValue] = field(default_factory=dict)
    """Of a group: the settings of that strategy, with what was left open filled in."""
    begun_ms: int | None = None
    """Of a group: when the first attempt below it began."""
    outcome_id: str | None = None
    """Of a group: the node whose output is its output."""
    cancelling: bool = False
    """An operator, or a limit, stops it and all below it."""
    exceeded: str | None = None
    """The deadline or the budget that ended it and all below it, in words."""
    call_key: str | None = None
    """The parent's call that asked for it."""
    output: Held = None
    error: str | None = None
    created_ms: int = 0
    started_ms: int | None = None
    ended_ms: int | None = None

    @property
    def ended(self) -> bool:
        """True when it has its outcome."""
        return self.status in ENDED


@entity
class Run:
    """One request to a supervisor, from submission to output."""

    id: str
    supervisor_id: str
    request: Held
    title: str
    root_id: str
    """The group task that stands for the whole request."""
    sender: str = ""
    on_failure: list[FailurePolicy] = field(default_factory=list)
    """What happens when a task of it fails, in place of what its agents' specs say; empty leaves it to them."""
    priority: int = DEFAULT_PRIORITY
    """Of its tasks, where nothing else is said."""
    deadline_ms: int | None = None
    deadline_after_ms: int | None = None
    """How long it was given when that was set."""
    category: str | None = None
    """The kind of work that it is, where that was said or found."""
    limits: Limits | None = None
    """What it may spend; besides what its supervisor says of each run."""
    after: list[str] = field(default_factory=list)
    """Open runs that must be done before it begins."""
    before: list[str] = field(default_factory=list)
    """Open runs that wait for this one."""
    paused: bool = False
    suspended: bool = False
    """Its engine ended and no other has taken it up."""
    cancelling: bool = False
    exceeded: str | None = None
    """The deadline or the budget that ends it, in words."""
    tasks: dict[str, None] = field(default_factory=dict)
    """Every task of it, groups and joins included."""
    total: int = 0
    """How many tasks of agents it has so far."""
    ended: int = 0
    """How many of those have ended."""
    done: int = 0
    failed: int = 0
    running: int = 0
    """Attempts at work, those that wait for delegations included."""
    strategy: str = ""
    longest_ms: int = 0
    """How long its longest attempt took so far."""
    usage: Usage = field(default_factory=Usage)
    begun: int = 0
    """Attempts of agents begun."""
    at_work: int = 0
    """Attempts of agents that have begun and not ended."""
    since_ms: int = 0
    """The sum of the moments from when on their time is not yet counted as spent."""
    held: bool = False
    """It has spent its budget, and a person is asked whether it gets more."""
    started_ms: int = 0

    @property
    def status(self) -> RunStatus:
        """Where it stands; open runs only."""
        if self.suspended:
            return RunStatus.SUSPENDED
        return RunStatus.PAUSED if self.paused else RunStatus.RUNNING


@entity
class RunSummary:
    """What is remembered of a finished run; the rest is in the journal."""

    id: str
    supervisor_id: str
    title: str
    request: Held
    status: RunStatus
    output: Held
    error: str | None
    strategy: str
    tasks: int
    done: int
    failed: int
    usage: Usage
    started_ms: int
    ended_ms: int
    seq: int
    """The event that ended it."""
    longest_ms: int = 0
    """How long its longest attempt took."""


@entity
class Timer:
    """A moment that something waits for."""

    id: str
    """Its kind and its subject: `retry:t5`."""
    due_ms: int
    kind: str
    """What it is for; `decide.timers` has a handler for each."""
    subject: str
    """Id of the task, run, agent, supervisor or escalation that it is about."""


@entity
class Escalation:
    """A question that waits for a person."""

    id: str
    kind: str
    """What it is about; `decide.escalations` has a handler for each."""
    subject: str
    """Id of the task, run, agent or supervisor that it is about."""
    run_id: str | None
    question: str
    """One line."""
    options: list[str]
    """The answers that there are."""
    default: str | None
    """The answer when nobody gives one in time; None waits for ever."""
    due_ms: int | None
    asked_ms: int
    detail: dict[str, JsonValue] = field(default_factory=dict)
    """What the handler of its kind needs besides."""


@entity
class Ledger:
    """What has happened to the budget of a task, a run, an agent or a supervisor."""

    id: str
    """Whose it is."""
    warned: list[str] = field(default_factory=list)
    """The amounts that were warned about."""
    granted: dict[str, int] = field(default_factory=dict)
    """How many times the amount was granted on top of the first, by its name."""


@entity
class Outcome:
    """What became of a command."""

    status: Literal["applied", "refused"]
    seq: int
    reason: str | None = None


@entity
class Engine:
    """The last engine that this state knows of."""

    pid: int
    token: int
    version: str
    started_ms: int
    stopped_ms: int | None = None


@entity
class State:
    """Everything that a supervisor decides from."""

    seq: int = 0
    """The last event that was folded."""
    at_ms: int = 0
    """When it happened, UTC milliseconds."""
    minted: dict[str, int] = field(default_factory=dict)
    """The last number given to an id, by its letter."""
    engine: Engine | None = None
    team: Team | None = None
    supervisors: dict[str, Supervisor] = field(default_factory=dict)
    specs: dict[str, AgentSpec] = field(default_factory=dict)
    """Every spec in use or in the registry, by content hash."""
    registry: dict[str, str] = field(default_factory=dict)
    """The newest spec of each name: name to content hash."""
    trusted: dict[str, None] = field(default_factory=dict)
    """References that the operator allowed to be imported."""
    agents: dict[str, Agent] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    urgent_to: int = 0
    """Tasks less urgent than of this priority take no slots, under whichever supervisor."""
    urgent: Ids = field(default_factory=OrderedDict)
    """Urgent tasks that are ready and have no slot to come, each with the event that put it here."""
    startable: Ids = field(default_factory=OrderedDict)
    """Supervisors that have both an open queue and a slot: what dispatch has to look at, and nothing else."""
    pools: Ids = field(default_factory=OrderedDict)
    """Agents that are pools."""
    resizable: Ids = field(default_factory=OrderedDict)
    """Pools that have to grow, or have to be watched because an instance has nothing to do."""
    leaving: Ids = field(default_factory=OrderedDict)
    """Supervisors that go when nothing of their work is open."""
    runs: dict[str, Run] = field(default_factory=dict)
    """Open runs."""
    tasks: dict[str, Task] = field(default_factory=dict)
    """Tasks of open runs."""
    timers: dict[str, Timer] = field(default_factory=dict)
    escalations: dict[str, Escalation] = field(default_factory=dict)
    """Questions that wait for a person, the oldest first."""
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    """Of those whose budgets were warned about or extended."""
    limited: Ids = field(default_factory=OrderedDict)
    """Specs, supervisors and open runs that say what may be spent, by content hash or id."""
    finished: list[RunSummary] = field(default_factory=list)
    """The last finished runs, newest last."""
    commands: OrderedDict[str, Outcome] = field(default_factory=OrderedDict)
    tasks_total: int = 0
    tasks_done: int = 0
    tasks_failed: int = 0
    runs_total: int = 0
    usage: Usage = field(default_factory=Usage)

    @property
    def roots(self) -> list[Supervisor]:
        """Supervisors that nobody is above, the first made first."""
        return [supervisor for supervisor in self.supervisors.values() if supervisor.parent_id is None]

    def spec_of(self, agent: Agent) -> AgentSpec:
        """Return the spec of the agent's current generation."""
        return self.specs[agent.spec]
