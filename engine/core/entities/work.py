"""Entities of work: runs, tasks, attempts, and what is remembered of finished runs."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import field

from engine.core.check import Check, Joining, Takes
from engine.core.limits import Limits
from engine.core.options import DEFAULT_PRIORITY
from engine.core.records import JsonValue, entity
from engine.core.shared import EMPTY
from engine.core.spec import FailurePolicy
from engine.core.values import StoredValue, Usage


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
    SKIPPED = "skipped"


SwapMode: TypeAlias = Literal["drain", "migrate", "abort"]
"""What becomes of attempts at work on the generation before: they end on it, go on with the new one from their next
step, or are stopped and begin again.
"""
StopReason: TypeAlias = Literal["cancel", "requeue", "preempt", "migrate", "restart", "limit", "crash"]
"""Why an attempt is asked to stop.

`cancel`: the task ends with what it has. `requeue`: another agent, or another attempt, goes on with its finished steps.
`crash`: likewise, because its agent is started anew.
`preempt`: it goes back to its place in the queue. `migrate`: the same attempt goes on with the agent's new generation.
`restart`: it begins again from its input, without its finished steps. `limit`: a deadline or a budget ended it.
"""


ParkedFor: TypeAlias = Literal["call", "ask", "approval", "rate_limit", "backoff", "tool"]
"""What an attempt waits for without a slot: delegated work, a person, an approval, a provider's limit, a back-off, its
turn at a tool."""


@entity
class Utterance:
    """A message that a model said or heard, as later runs of the conversation are told it."""

    role: Literal["user", "assistant", "tool", "summary"]
    """`summary`: what was said before it, in short."""
    content: StoredValue = None
    """Of an assistant or a summary, the output of its step; of a tool, the result."""
    call_id: str = ""
    """Of a tool: the call that it answers."""


@entity
class Attempt:
    """One try of a task by one agent."""

    number: int
    agent_id: str | None
    """None for built-in work that the engine does itself."""
    generation: int
    started_ms: int
    since_ms: int = 0
    """From when on its time is not yet counted as spent; while it is parked, the time that is not, below 0."""
    parked: bool = False
    """It waits, no step of it runs, and it holds no slot."""
    parked_for: ParkedFor | None = None
    """While it is parked: what it waits for, where that is not only what it delegated."""
    until_ms: int | None = None
    """While it is parked: when that wait ends by itself; None where something has to happen."""
    slot_seq: int = 0
    """The event at which it took its slot last."""
    in_process: bool = False
    """Its code runs in a process, which it holds while it holds a slot."""
    waits: dict[str, None] = field(default_factory=dict)
    """Calls that it waits for and whose tasks are not all ended."""
    owed: list[str] = field(default_factory=list)
    """Calls that are answered, and wait for a slot to be told."""
    wants_slot: bool = False
    """While it is parked: a step of it is about to begin, and needs a slot before its delegations are answered."""
    back_seq: int | None = None
    """The event since which it waits for a slot to go on; None while it does not."""
    back_ms: int = 0
    """The time of that event."""
    spent: Usage | None = None
    """Tokens and money that it has reported so far; None while it has reported none."""
    stopping: StopReason | None = None
    """Why it was asked to stop at its next step, and so what becomes of its task; None while it was not."""


CallKind: TypeAlias = Literal["delegate", "map", "plan"]
"""One task; many for the same place; or several that wait for each other."""


@entity
class Call:
    """What an attempt asks of others: the tasks that it created."""

    key: str
    kind: CallKind
    children: list[str]
    open: int
    """How many of them have not ended."""


@entity
class Task:
    """A node of work in a run."""

    id: str
    run_id: str
    parent_id: str | None
    """The group of whose graph it is a node, or the task whose attempt asked for it."""
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
    input: StoredValue = None
    takes: Takes = "request"
    """Its text: the input of its graph; the output before it; the input and all outputs before it; its own input."""
    after: Sequence[str] = ()
    """Tasks of the same graph that must end first."""
    before: Sequence[str] = ()
    """Tasks of the same graph that wait for this one."""
    blockers: int = 0
    """How many of those have not ended."""
    ready: bool = False
    """It stands in its queue: it waits for a slot, and for nothing else."""
    held_back: bool = False
    """It would stand there if nothing of it were paused or out of budget."""
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
    """The first question to a person that it waits for."""
    preemptions: int = 0
    """How often it was made to wait for a more urgent task."""
    taking: str | None = None
    """While it waits: the task at work that was asked to stop, so that this one has its slot."""
    yields_to: str | None = None
    """The more urgent task for which its last attempt was asked to stop."""
    optional: bool = False
    """Where it does not come about, those that wait for it go on without it."""
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
    failed_on: tuple[str, ...] = ()
    """Agents that failed on it, the first one first, since its failure policies began."""
    came_from: str | None = None
    """The queue by capability that it was in, once it was given to one agent of it, or a team has taken it."""
    tried_by_default: bool = False
    """It is tried again because nobody answered a question about it."""
    retry_at_ms: int | None = None
    agent_id: str | None = None
    """The last agent that worked on it."""
    steps: Mapping[str, StoredValue] = EMPTY
    """Outputs of finished steps by their key, never run again."""
    calling: Mapping[str, str] = EMPTY
    """Tools that it has begun to call and must not call twice, by their step's key, while no end is recorded."""
    asks: Mapping[str, str] = EMPTY
    """Questions of its attempts that a person has not answered: their ids by the keys of what asked."""
    steers: Mapping[str, str] = EMPTY
    """Messages for its conversation that its next turn takes, by their ids."""
    calls: Mapping[str, Call] = EMPTY
    children: Sequence[str] = ()
    """Nodes of its graph (group) or tasks that it asked for."""
    open: int = 0
    """How many of its children have not ended."""
    mode: str | None = None
    """Of a group: the strategy that its graph was made with."""
    settings: Mapping[str, JsonValue] = EMPTY
    """Of a group: the settings of that strategy, with what was left open filled in."""
    called: Mapping[str, str] = EMPTY
    """Of a group: members that were renamed since its graph was made, by the names that its settings have for them."""
    begun_ms: int | None = None
    """Of a group: when the first attempt below it began."""
    outcome_id: str | None = None
    """Of a group: the node whose output is its output."""
    cancelling: bool = False
    """An operator, or a limit, stops it and all below it."""
    cancelled_for: str | None = None
    """Why an operator stops it, in words."""
    exceeded: str | None = None
    """The deadline or the budget that ended it and all below it, in words."""
    call_key: str | None = None
    """The call that asked for it, of its parent or of `asked_by`."""
    asked_by: str | None = None
    """The task whose attempt asked for it, where a switch of the strategy has made it a node of a graph."""
    output: StoredValue = None
    said: Sequence[Utterance] = ()
    """What the model that did it said and heard after the request, where its run has a conversation."""
    error: str | None = None
    created_ms: int = 0
    started_ms: int | None = None
    ended_ms: int | None = None

    @property
    def ended(self) -> bool:
        """True when it has its outcome."""
        return self.status in ENDED

    @property
    def asker_id(self) -> str | None:
        """The task whose attempt asked for it; None for what was planned."""
        return None if self.call_key is None else self.asked_by or self.parent_id


@entity
class Run:
    """One request to a supervisor, from submission to output."""

    id: str
    supervisor_id: str
    request: StoredValue
    title: str
    root_id: str
    """The group task that stands for the whole request."""
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
    conversation: str | None = None
    """The conversation of its supervisor that it belongs to."""
    remembers: int = 0
    """How many runs of that had ended when it was submitted; it sees the last of those."""
    after: list[str] = field(default_factory=list)
    """Open runs that must be done before it begins."""
    before: list[str] = field(default_factory=list)
    """Open runs that wait for this one."""
    paused: bool = False
    suspended: bool = False
    """Its engine ended and no other has taken it up."""
    cancelling: bool = False
    cancelled_for: str | None = None
    """Why an operator stops it, in words."""
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
    turns: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    """When it had its turn last, the event of that and the task, by priority and queue (`queries.queues.turn_key`)."""
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
    request: StoredValue
    status: RunStatus
    output: StoredValue
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
    conversation: str | None = None
