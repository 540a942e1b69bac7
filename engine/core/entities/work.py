"""Entities of work: runs, tasks, attempts, and summaries of finished runs."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import field

from engine.core.entities.kept import KeptValue, TaskChanges
from engine.core.records.records import JsonValue, entity, fact, shared_fields
from engine.core.records.shared import EMPTY
from engine.core.records.spans import TimeKind
from engine.core.records.values import StoredValue, Usage
from engine.core.specs.check import Check, Joining, Takes
from engine.core.specs.limits import Limits
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.specs.spec import FailurePolicy


class TaskStatus(StrEnum):
    """The status of a task."""

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
"""Final statuses; only an operator's retry reopens such a task."""


class RunStatus(StrEnum):
    """The status of a run."""

    RUNNING = "running"
    PAUSED = "paused"
    SUSPENDED = "suspended"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


SwapMode: TypeAlias = Literal["drain", "migrate", "abort"]
"""Treatment of attempts on the previous generation: they end on it, continue on the new one from their next step, or
are stopped and start over.
"""
StopReason: TypeAlias = Literal["cancel", "requeue", "preempt", "migrate", "restart", "limit", "crash", "pause"]
"""Why an attempt is asked to stop.

`cancel`: the task ends with its partial output. `requeue`: another agent or attempt continues from its finished steps.
`crash`: likewise, because its agent restarts. `preempt`: it returns to its place in the queue. `migrate`: the same
attempt continues on the agent's new generation. `restart`: it starts over from its input, without its finished steps.
`limit`: a deadline or budget ended it. `pause`: a pause set it aside at once.
"""


ParkedFor: TypeAlias = Literal["call", "ask", "approval", "rate_limit", "backoff", "tool", "paused", "insight"]
"""What an attempt waits for without a slot: delegated work, a person, an approval, a provider's limit, a back-off, its
turn at a tool, the end of a pause, an insight."""


@entity
class Utterance:
    """A message of a model's conversation, kept for later runs."""

    role: Literal["user", "assistant", "tool", "summary"]
    """`summary` stands for everything before it."""
    content: StoredValue = None
    """For an assistant or a summary, the output of its step; for a tool, the result."""
    call_id: str = ""
    """For a tool: the call that it answers."""


@entity
class Attempt:
    """One try of a task by one agent."""

    number: int
    agent_id: str | None
    """None for built-in work of the engine."""
    generation: int
    started_ms: int
    since_ms: int = 0
    """Time of the last charge: time since then is not charged yet. While parked: minus the uncharged time."""
    parked: bool = False
    """It waits without a slot, and no step of it runs."""
    parked_for: ParkedFor | None = None
    """While parked: what it waits for; None if only for delegated work."""
    until_ms: int | None = None
    """While parked: when the wait ends by itself, if it does."""
    slot_seq: int = 0
    """The event with which it last took a slot."""
    in_process: bool = False
    """It holds a process slot while it holds a slot."""
    waits: dict[str, None] = field(default_factory=dict)
    """Open calls that it waits for."""
    owed: list[str] = field(default_factory=list)
    """Answered calls whose answers are not delivered yet, because it has no slot."""
    wants_slot: bool = False
    """While parked: a step is about to begin, and needs a slot before its calls are answered."""
    back_seq: int | None = None
    """The event since which it waits for a slot to resume; None while it does not."""
    back_ms: int = 0
    """The time of that event."""
    spent: Usage | None = None
    """Tokens and money reported so far; None while there are none."""
    agent_state: Mapping[str, KeptValue] = EMPTY
    """The state of its agent as its code began with it."""
    has_carried: bool = False
    """One of its steps has carried changes of that."""
    stopping: StopReason | None = None
    """Why it was asked to stop, which determines what happens to its task; None if it was not."""

    def at_work_ms(self, now_ms: int) -> int:
        """Return the uncharged time at work, in milliseconds."""
        return (0 if self.parked else now_ms) - self.since_ms


CallKind: TypeAlias = Literal["delegate", "map", "plan"]
"""One task; many for the same place; or several that wait for each other."""


@entity
class Call:
    """A delegation of an attempt, with the tasks that it created."""

    key: str
    kind: CallKind
    children: list[str]
    open: int
    """Number of tasks that have not ended."""


@entity
class Task:
    """A node of work in a run."""

    id: str
    run_id: str
    parent_id: str | None
    """The group whose node it is, or the task whose attempt delegated it."""
    supervisor_id: str
    kind: Literal["agent", "group", "join", "check"]
    """Work of an agent; of a supervisor with a graph of its own; built-in joining or checking of results."""
    title: str
    queue: str | None = None
    worker_id: str | None = None
    """The agent or supervisor that it was planned for; None if any able agent may take it."""
    join: Joining | None = None
    check: Check | None = None
    """The check of a built-in node, whose verdict decides how the graph continues."""
    role: str = ""
    """Its role in the graph, in the terms of the strategy."""
    sees: list[str] | None = None
    """Tasks whose outputs it gets; None means all predecessors."""
    need: int | None = None
    """Number of predecessors that have to be done; the rest are stopped then."""
    tolerated: bool = False
    """Its failure does not fail the graph, because the strategy handles it."""
    passed_by: bool = False
    """Skipped because its branch was not taken; dependents that also follow another branch still run."""
    status: TaskStatus = TaskStatus.WAITING
    input: StoredValue = None
    takes: Takes = "request"
    """The source of its text: the input of the graph, the output before it, both with all outputs, or its own input."""
    after: Sequence[str] = ()
    """Tasks of the same graph that must end first."""
    before: Sequence[str] = ()
    """Tasks of the same graph that wait for this one."""
    blockers: int = 0
    """Number of tasks in `after` that have not ended."""
    ready: bool = False
    """It is in its queue: it waits only for a slot."""
    held_back: bool = False
    """It is ready, but kept out of its queue because its run is paused or its budget is spent."""
    ready_seq: int | None = None
    """The event that made it ready; kept when it returns to its old place."""
    ready_ms: int = 0
    """When it became ready."""
    priority: int = DEFAULT_PRIORITY
    """0 is the most urgent, 9 the least."""
    deadline_ms: int | None = None
    """The deadline in force, never later than that of its parent."""
    deadline_after_ms: int | None = None
    """Duration of its own deadline, if it has one."""
    escalation_id: str | None = None
    """The question to a person that it waits for; the oldest if there are several."""
    nobody_id: str | None = None
    """The question what becomes of it and its queue, because nobody may take it."""
    preemptions: int = 0
    """Number of preemptions so far."""
    taking: str | None = None
    """While it waits: the task that is being preempted for it."""
    yields_to: str | None = None
    """The urgent task for which its last attempt was preempted."""
    optional: bool = False
    """If it fails or is skipped, its dependents go on without it."""
    attempt: Attempt | None = None
    attempts: int = 0
    """Attempts begun so far."""
    begun: int = 0
    """Attempts of agents begun so far, including all descendants."""
    usage: Usage | None = None
    """Usage of it and its descendants; None while there is none."""
    held: bool = False
    """It has spent its budget, and a person is asked whether it gets more."""
    retries: int = 0
    """Retries on the agent that failed last."""
    failovers: int = 0
    """Number of failovers by its failure policies."""
    failed_on: tuple[str, ...] = ()
    """Agents that failed on it since its failure policies started, in order."""
    came_from: str | None = None
    """The capability queue that it was in before one agent or a team got it."""
    tried_by_default: bool = False
    """It was retried by the default of an unanswered question, which is allowed once."""
    retry_at_ms: int | None = None
    agent_id: str | None = None
    """The last agent that worked on it."""
    steps: Mapping[str, StoredValue] = EMPTY
    """Outputs of finished steps by key."""
    changes: TaskChanges | None = None
    """How these steps have changed the state of the agent; None while they have not."""
    calling: Mapping[str, str] = EMPTY
    """Started calls of tools that are not idempotent, without a recorded end: tool names by step key."""
    asks: Mapping[str, str] = EMPTY
    """Open questions of its attempts: ids by key."""
    steers: Mapping[str, str] = EMPTY
    """Messages that its next turn will take, by id."""
    calls: Mapping[str, Call] = EMPTY
    children: Sequence[str] = ()
    """Nodes of its graph, or tasks that it delegated."""
    open: int = 0
    """Number of children that have not ended."""
    mode: str | None = None
    """For a group: the strategy of its graph."""
    search: Literal["begun", "ended"] | None = None
    """For a group: whether agents are looked for, or were, outside the team."""
    settings: Mapping[str, JsonValue] = EMPTY
    """For a group: the settings of that strategy, with defaults filled in."""
    called: Mapping[str, str] = EMPTY
    """For a group: ids of members renamed since it was planned, by the names that its settings use."""
    begun_ms: int | None = None
    """For a group: when the first attempt below it began."""
    outcome_id: str | None = None
    """For a group: the final node, whose output is its output."""
    cancelling: bool = False
    """It is being stopped with all its descendants, by an operator or a limit."""
    cancelled_for: str | None = None
    """Why an operator stops it, in words."""
    exceeded: str | None = None
    """What ended it with all its descendants as failed, in words: a deadline, a budget, the answer of a person."""
    call_key: str | None = None
    """Key of the call that created it, of its parent or of `asked_by`."""
    asked_by: str | None = None
    """The task whose attempt delegated it, if a switch of strategy has made it a node of a graph."""
    output: StoredValue = None
    said: Sequence[Utterance] = ()
    """Messages of its model after the request, if its run has a conversation."""
    error: str | None = None
    created_ms: int = 0
    started_ms: int | None = None
    ended_ms: int | None = None
    spans: tuple[int, ...] = ()
    """What it did and waited for since its creation, two integers for each span (`records/spans.py`)."""
    counted_ms: int = 0
    """The time up to which `spans` goes."""

    @property
    def ended(self) -> bool:
        """True if it has its outcome."""
        return self.status in ENDED

    @property
    def asker_id(self) -> str | None:
        """The task whose attempt delegated it; None for a planned node."""
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
    """Failure policies of its tasks, in place of those of its agents; empty uses the agents' policies."""
    priority: int = DEFAULT_PRIORITY
    """Default priority of its tasks."""
    deadline_ms: int | None = None
    deadline_after_ms: int | None = None
    """Duration of its deadline when it was set."""
    category: str | None = None
    """Its category, if given or found."""
    limits: Limits | None = None
    """Its own budget, in addition to `run_limits` of its supervisor."""
    labels: dict[str, str] = field(default_factory=dict)
    """Texts by key; its tasks have the same."""
    conversation: str | None = None
    """Name of its conversation."""
    remembers: int = 0
    """Number of ended runs in the conversation when it was submitted; it sees the last of these."""
    after: list[str] = field(default_factory=list)
    """Open runs that must be done before it starts."""
    before: list[str] = field(default_factory=list)
    """Open runs that wait for this one."""
    paused: bool = False
    suspended: bool = False
    """Its engine has ended and no other has started."""
    cancelling: bool = False
    cancelled_for: str | None = None
    """Why an operator stops it, in words."""
    exceeded: str | None = None
    """The deadline or the budget that ends it, in words."""
    tasks: dict[str, None] = field(default_factory=dict)
    """All its tasks, including groups and built-in nodes."""
    total: int = 0
    """Number of tasks of agents so far."""
    ended: int = 0
    """Number of tasks of agents that have ended."""
    done: int = 0
    failed: int = 0
    running: int = 0
    """Number of open attempts, including parked ones."""
    turns: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    """Time, event and task of its last turn, by priority and queue (`queries.work.queues.turn_key`)."""
    strategy: str = ""
    longest_ms: int = 0
    """Duration of its longest attempt so far."""
    usage: Usage = field(default_factory=Usage)
    spent_by: dict[str, Usage] = field(default_factory=dict)
    """Tokens and money by agent; `other` has what is beyond `MAX_SPENDERS`."""
    begun: int = 0
    """Attempts of agents begun."""
    at_work: int = 0
    """Number of attempts of agents that hold a slot."""
    since_ms: int = 0
    """Sum of `Attempt.since_ms` over its attempts."""
    held: bool = False
    """It has spent its budget, and a person is asked whether it gets more."""
    agents_added: int = 0
    """Agents that its own agents have added to the team."""
    agents_found: int = 0
    """Agents that joined the team because they were found for it."""
    started_ms: int = 0

    @property
    def status(self) -> RunStatus:
        """Its status while it is open."""
        if self.suspended:
            return RunStatus.SUSPENDED
        return RunStatus.PAUSED if self.paused else RunStatus.RUNNING


@fact
class CriticalPart:
    """A part of the critical path of a run: one task, and what it did or waited for."""

    task_id: str
    agent: str | None = None
    """Name of the agent that worked on it last, also if that has left; None if no agent has."""
    kind: TimeKind
    ms: int
    words: str = ""
    """Which question, turn of a model or tool it was, such as `e3` or `turn 7`; empty if there is no more to say."""


@shared_fields
class Figures:
    """Figures of a finished run."""

    __slots__ = ()
    supervisor_id: str
    title: str
    request: StoredValue
    strategy: str
    tasks: int
    """Number of tasks of agents."""
    done: int
    failed: int
    usage: Usage
    started_ms: int
    longest_ms: int = 0
    """Duration of its longest attempt."""
    conversation: str | None = None
    times: dict[TimeKind, int] = field(default_factory=dict)
    """Where its time went: milliseconds by kind along its critical path; empty if it ended before they were counted."""
    critical: list[CriticalPart] = field(default_factory=list)
    """The longest parts of its critical path, in the order of time."""
    spent_by: dict[str, Usage] = field(default_factory=dict)
    """Tokens and money by agent, as in `Run`."""
    labels: dict[str, str] = field(default_factory=dict)
    """Texts by key, as in `Run`."""


@entity
class RunSummary(Figures):
    """The summary of a finished run; the rest is in the journal."""

    id: str
    status: RunStatus
    output: StoredValue
    error: str | None
    ended_ms: int
    seq: int
    """The event that ended it."""
