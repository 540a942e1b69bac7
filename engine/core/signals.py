"""Signals: reports of the shell to the core about steps, ends of attempts, timers and the start of the engine.

A signal names its task and attempt. Signals about an attempt that has ended are ignored, and so are those of an older
generation of the attempt; generation None is always accepted.
"""

from decimal import Decimal
from typing import Literal, TypeAlias

from msgspec import Raw, field

from engine.core.events.attempt import Said, StepKind
from engine.core.records.records import JsonValue, fact, facts_of, shared_fields
from engine.core.records.values import Usage
from engine.core.specs.discovery import AgentDiscoveryMode
from engine.core.specs.spec import AgentSpec
from engine.core.state import PRIVATE, CallKind, ParkedFor

PersonKind: TypeAlias = Literal["ask", "approval", "permission"]
"""Kind of question to a person: of the agent, approval of a tool call, permission of a program."""


@shared_fields
class Signal:
    """Base of all signals."""

    __slots__ = ()


@shared_fields
class AttemptSignal(Signal):
    """A signal about an attempt."""

    __slots__ = ()
    task_id: str
    attempt: int
    generation: int | None = None
    """The generation of the agent that the attempt runs on."""


@shared_fields
class OrderSignal(Signal):
    """A signal about the archive that a command imports."""

    __slots__ = ()
    order_id: str
    sender: str
    role: str


@fact
class EngineBegan(Signal):
    """This process holds the lease and begins to decide; attempts that ran before are lost."""

    pid: int
    token: int
    version: str
    bound: list[str] | None = None
    """References to callables of this process; None leaves bound code unchecked."""
    lost: int = 0
    """Number of acknowledged events that are missing from the journal."""
    processes: int | None = None
    """Limit on attempts in processes of this computer; None means no limit."""
    heard_ms: int | None = None
    """Time of the last heartbeat of the engine before, in UTC milliseconds; None if it is not known."""


@fact
class EngineEnds(Signal):
    """This process is about to end on purpose."""

    reason: str


@fact
class EngineWoke(Signal):
    """The computer was suspended, or its clock was set ahead."""

    slept_ms: int


@fact
class StepFinished(AttemptSignal):
    """A step of an attempt succeeded."""

    what: StepKind = "code"
    name: str
    key: str
    input: JsonValue = None
    """Excerpt of its input, made by `excerpts.excerpt_of`."""
    output: JsonValue
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    """Usage since the last report of the attempt, without time, which the end of the attempt reports."""
    steers: list[str] = field(default_factory=list)
    """Messages of people that this step has read."""
    parts: list[str] = field(default_factory=list)
    """For a model: hashes of its prompt and tool schemas, each reported by a `PartTold` before."""
    reads: list[str] = field(default_factory=list)
    """Ids of the insights that it returned."""
    state_changes: dict[str, list[JsonValue]] = field(default_factory=dict)
    """Changes of the agent's own state since the last report: `[value]` sets a key, `[]` removes it."""
    state_versions: dict[str, int] = field(default_factory=dict)
    """The version of each of these values that the attempt has seen, 0 for none (`queries.team.kept.has_conflict`)."""


@fact
class PartTold(Signal):
    """A system prompt or tool schemas that are sent to a model for the first time."""

    hash: str
    value: JsonValue


@fact
class InsightNoted(AttemptSignal):
    """An attempt writes an insight; it waits until the insight is on disk."""

    key: str
    """Key of the step, whose output is the id of the insight, or `{"conflict": ID}` of one that is newer."""
    text: str
    tags: list[str] = field(default_factory=list)
    importance: float
    segment: str = PRIVATE
    supersedes: str | None = None
    """The insight whose newest version it takes the place of."""
    expect: int | None = None
    """The version that this one must have."""
    expires_s: float | None = None
    """When it is forgotten, in seconds from now."""


@fact
class ModelErred(AttemptSignal):
    """A call of a model failed."""

    model: str
    error: str
    """One line."""
    error_type: str
    retry_after_s: float | None = None
    duration_ms: int | None = None
    """From the request to the failure."""
    usage: Usage = field(default_factory=Usage)
    """Usage since the last report of the attempt."""


@fact
class StepCutOff(AttemptSignal):
    """A call of a model or a tool was cut off by a stop or a time limit."""

    what: StepKind
    name: str
    """Name of the step; for a call of a model, the model's name in the spec."""
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    """Usage since the last report of the attempt."""


@fact
class BudgetShort(AttemptSignal):
    """An attempt is about to call a model, and a budget has less left than the call needs; it waits to be stopped."""

    subject: str
    """Id of the task, run, agent or supervisor that has the budget."""
    amount: Literal["tokens", "cost_usd"]
    needs: Decimal
    """Estimated need of the call."""


@fact
class ToolBegan(AttemptSignal):
    """An attempt is about to call a tool that must not be called twice; it waits until this is on disk."""

    name: str
    key: str


@fact
class ToolRaised(AttemptSignal):
    """The call of a tool ended with an error."""

    key: str
    error: str


DUPLICATE = "duplicate of "
"""What the error of a task begins with that was cancelled for another of its plan."""


@fact
class PlannedItem:
    """A task of a delegated plan."""

    title: str
    target: str
    """The name of a member, or a capability."""
    input: JsonValue
    after: list[int] = field(default_factory=list)
    """Indices of the tasks of the plan that it waits for; it gets their outputs."""
    priority: int | None = None
    """0 is the most urgent, 9 the least; None is that of the task that delegates it."""
    duplicate_of: int | None = None
    """Index of the task of the plan that does the same; this one is cancelled before it begins."""


@fact
class DelegationAsked(AttemptSignal):
    """An attempt delegates work; it waits for the results."""

    call_key: str
    call_kind: CallKind
    target: str
    """The name of a member, or a capability; empty for a plan."""
    items: list[JsonValue]
    """One task each; empty for a plan."""
    plan: list[PlannedItem] = field(default_factory=list)
    """Tasks with dependencies between them, without a cycle."""
    busy: bool = False
    """Another step of the attempt still runs, so that the attempt keeps its slot."""


@fact
class StepsEnded(AttemptSignal):
    """The last running step of a waiting attempt ended."""

    why: ParkedFor = "call"
    """What the attempt waits for."""
    until_ms: int | None = None
    """When the wait times out."""


@fact
class PersonAsked(AttemptSignal):
    """An attempt asks a person and waits for the answer."""

    key: str
    """Key as of a step: a retried attempt finds its question, or the answer, by it."""
    kind: PersonKind
    question: str
    options: list[str]
    default: str | None = None
    """The answer if nobody answers in time."""
    due_s: float | None = None
    """How long to wait for a person, in seconds; None means no limit."""
    detail: dict[str, JsonValue] = field(default_factory=dict)
    """Data shown with the question, and needed for its answer."""


@fact
class AskGivenUp(AttemptSignal):
    """An attempt continues without waiting for the answer of a person."""

    key: str


@fact
class SlotAsked(AttemptSignal):
    """A waiting attempt without a slot is about to begin a step; it waits for a slot."""


@fact
class AttemptSucceeded(AttemptSignal):
    """An attempt returned its output."""

    output: JsonValue
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    said: list[Said] = field(default_factory=list)
    """Messages of the model, for later runs of the conversation."""
    state_changes: dict[str, list[JsonValue]] = field(default_factory=dict)
    """As those of `StepFinished`."""
    state_versions: dict[str, int] = field(default_factory=dict)


@fact
class AttemptErred(AttemptSignal):
    """An attempt raised, timed out, or its process died."""

    error: str
    """One line."""
    error_type: str
    """Name of the exception's class."""
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    """The thread of the attempt still runs."""
    error_types: list[str] = field(default_factory=list)
    """Names of the exception's class and its bases, without `object` and `BaseException`."""
    retryable: bool | None = None
    """Whether the exception asks for a retry or against one; None if it says nothing."""
    retry_after_s: float | None = None
    """The delay before a retry that the exception asks for, in seconds."""
    crashed: bool = False
    """The agent itself failed: its process died, its code reported it, or its runtime became unusable."""
    state_versions: dict[str, int] = field(default_factory=dict)
    """It returned, but its changes of the agent's state were refused: the versions that it had seen."""


@fact
class AttemptStopped(AttemptSignal):
    """An attempt that was asked to stop has stopped."""

    partial: JsonValue = None
    """Its output so far."""
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False


@fact
class ThreadCameBack(Signal):
    """Code that ran on after the end of its attempt has returned, such as a thread that cannot be stopped."""

    agent_id: str
    task_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    """Usage since the end of its attempt."""


@fact
class TimerDue(Signal):
    """A timer is due."""

    timer_id: str


@fact
class AgentUnusable(Signal):
    """The code of an agent's generation is missing or not callable."""

    agent_id: str
    generation: int
    error: str
    away: bool = False
    """The code is bound to another program, or was edited; it is available when that runs again, or is taken over."""


@fact
class AgentUsable(Signal):
    """The code of an agent's generation was found."""

    agent_id: str
    generation: int


@fact
class ArchiveChecked(OrderSignal):
    """The shell has checked the archive of an order; `PartRead`s and a `StateReady` follow."""

    path: str
    sha256: str
    counts: dict[str, int]
    """Number of entities per kind."""
    last: dict[str, int]
    """The highest number of an id in the archive, by letter."""
    references: list[str]
    """References to the code of its agents."""
    granted: dict[str, str] = field(default_factory=dict)
    """The references that may be imported here, with the hashes of their code."""


@fact
class PartRead(OrderSignal):
    """A part of the archive that is being imported."""

    state: Raw
    """A piece of the state document."""
    texts: list[JsonValue]
    """Texts, numbered on from those of the previous part."""


@fact
class StateReady(OrderSignal):
    """A checked state: all of it, or the rest of an archive after its parts."""

    path: str
    sha256: str
    paused: bool
    state: Raw
    texts: list[JsonValue]
    counts: dict[str, int] = field(default_factory=dict)
    """Number of entities per kind; this field and the following ones are set for a whole state only."""
    references: list[str] = field(default_factory=list)
    granted: dict[str, str] = field(default_factory=dict)


@fact
class StateUnusable(OrderSignal):
    """The archive of an order cannot be imported."""

    reason: str


@fact
class TextRead(Signal):
    """The text of a request was read from the journal: its graph can be planned."""

    task_id: str
    text: str


@fact
class FoundSpec:
    """A spec that a search outside the team has found."""

    source: AgentDiscoveryMode
    id: str
    """Its id in the catalogue; else the name of its server, its document or the need."""
    hash: str
    """Content hash of the spec."""
    spec: AgentSpec
    always_asks: bool = False
    """It never joins without a question."""


@fact
class AgentsFound(Signal):
    """Agents were looked for outside the team of a group, whose graph can be planned now."""

    task_id: str
    text: str
    """The whole request."""
    found: list[FoundSpec]
    granted: dict[str, str] = field(default_factory=dict)
    """Their references that may be imported here, with the hashes of their code."""
    faults: list[str] = field(default_factory=list)
    """Why a place could not be searched, one line each."""
    model: str | None = None
    """The model that described a new agent."""
    usage: Usage = field(default_factory=Usage)


SIGNALS: tuple[type[Signal], ...] = facts_of(Signal, globals())
"""Every class of signal."""
