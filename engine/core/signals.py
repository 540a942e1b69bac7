"""What the shell reports to the core: steps, ends of attempts, timers, the engine's own beginning.

A signal names the task and the attempt it is about; one about an attempt that is over is ignored.
So is one of a generation that the attempt has left; None is not asked about.
"""

from decimal import Decimal
from typing import Literal, TypeAlias

from msgspec import Raw, field

from engine.core.events.attempt import Said, StepKind
from engine.core.records import JsonValue, fact
from engine.core.state import CallKind, ParkedFor
from engine.core.values import Usage

PersonKind: TypeAlias = Literal["ask", "approval", "permission"]
"""What an attempt asks a person: a question of its agent, whether a tool may be called, what a program may do."""


@fact
class EngineBegan:
    """This process holds the lease and begins to decide; what ran before is lost."""

    pid: int
    token: int
    version: str
    bound: list[str] | None = None
    """References to callables of this process; None where it is not asked whose code is there."""
    lost: int = 0
    """Events that were acknowledged and are not in the journal any more."""
    processes: int | None = None
    """Attempts in processes that this computer bears; None is no limit."""


@fact
class EngineEnds:
    """This process is about to end on purpose."""

    reason: str


@fact
class StepFinished:
    """A step of an attempt ended well."""

    task_id: str
    attempt: int
    what: StepKind = "code"
    name: str
    key: str
    input: JsonValue = None
    """What it was called with, as `shown.shown` made it."""
    output: JsonValue
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    """What was spent since the last report of the attempt; its time is told at its end."""
    generation: int | None = None
    steers: list[str] = field(default_factory=list)
    """Messages of people that it takes."""
    parts: list[str] = field(default_factory=list)
    """Of a model: hashes of what it was told besides the messages, each reported by `PartTold` before."""


@fact
class PartTold:
    """A model is told something for the first time: a system prompt, or the schemas of its tools."""

    hash: str
    value: JsonValue


@fact
class InsightNoted:
    """An attempt wants something remembered for its agent; it waits until that is on disk."""

    task_id: str
    attempt: int
    generation: int | None = None
    key: str
    """Of the step that this is."""
    text: str
    tags: list[str] = field(default_factory=list)
    importance: float


@fact
class ModelErred:
    """A call of a model failed."""

    task_id: str
    attempt: int
    generation: int | None = None
    model: str
    error: str
    """One line."""
    error_type: str
    retry_after_s: float | None = None
    usage: Usage = field(default_factory=Usage)
    """What was spent since the last report of the attempt."""


@fact
class BudgetShort:
    """An attempt is about to call a model, and a budget has less left than that takes; it waits to be stopped."""

    task_id: str
    attempt: int
    generation: int | None = None
    subject: str
    """Whose budget it is: a task, a run, an agent or a supervisor."""
    amount: Literal["tokens", "cost_usd"]
    needs: Decimal
    """What the call takes, about."""


@fact
class ToolBegan:
    """An attempt is about to call a tool that must not be called twice; it waits until that is on disk."""

    task_id: str
    attempt: int
    generation: int | None = None
    name: str
    key: str


@fact
class ToolRaised:
    """The call of a tool ended with an error."""

    task_id: str
    attempt: int
    generation: int | None = None
    key: str
    error: str


@fact
class PlannedItem:
    """A task of a plan that an attempt asks for."""

    title: str
    target: str
    """The name of a member, or a capability."""
    input: JsonValue
    after: list[int] = field(default_factory=list)
    """The tasks of the plan that it comes after, by their places in it; it gets their outputs."""


@fact
class DelegationAsked:
    """An attempt asks others to work; it waits until they have."""

    task_id: str
    attempt: int
    call_key: str
    call_kind: CallKind
    target: str
    """The name of a member, or a capability; empty of a plan."""
    items: list[JsonValue]
    """One task each; none of a plan."""
    plan: list[PlannedItem] = field(default_factory=list)
    """Tasks that wait for each other, in no circle."""
    generation: int | None = None
    busy: bool = False
    """A step of the attempt runs besides, so that it keeps its slot."""


@fact
class StepsEnded:
    """No step of an attempt runs any more, and it waits."""

    task_id: str
    attempt: int
    generation: int | None = None
    why: ParkedFor = "call"
    """What it waits for."""
    until_ms: int | None = None
    """When that ends by itself."""


@fact
class PersonAsked:
    """An attempt asks a person, and waits for the answer."""

    task_id: str
    attempt: int
    generation: int | None = None
    key: str
    """As that of a step: an attempt that asks again finds what was asked, or its answer."""
    kind: PersonKind
    question: str
    options: list[str]
    default: str | None = None
    """The answer when nobody gives one by then."""
    due_s: float | None = None
    """How long to wait for a person, in seconds; with None there is no limit."""
    detail: dict[str, JsonValue] = field(default_factory=dict)
    """What is shown with the question, and what its answer needs."""


@fact
class AskGivenUp:
    """An attempt goes on without the answer that it asked a person for."""

    task_id: str
    attempt: int
    generation: int | None = None
    key: str


@fact
class SlotAsked:
    """An attempt that waits for others without a slot is about to begin a step; it waits until it has one."""

    task_id: str
    attempt: int
    generation: int | None = None


@fact
class AttemptSucceeded:
    """An attempt returned its output."""

    task_id: str
    attempt: int
    output: JsonValue
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    generation: int | None = None
    said: list[Said] = field(default_factory=list)
    """Messages of a model, for later runs of the conversation."""


@fact
class AttemptErred:
    """An attempt raised, timed out, or its process died."""

    task_id: str
    attempt: int
    error: str
    """One line."""
    error_type: str
    """Name of the exception's class."""
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    """Its thread still runs."""
    error_types: list[str] = field(default_factory=list)
    """Names of the exception's class and its bases, without `object` and `BaseException`."""
    retryable: bool | None = None
    """What the exception says of being tried again, where it says it."""
    retry_after_s: float | None = None
    """How long it asks to be left alone, in seconds."""
    crashed: bool = False
    """The agent itself broke down: its process died, its code said so, or its runtime became unusable."""
    generation: int | None = None


@fact
class AttemptStopped:
    """An attempt that was asked to stop has stopped."""

    task_id: str
    attempt: int
    partial: JsonValue = None
    """What it had emitted so far."""
    duration_ms: int = 0
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    generation: int | None = None


@fact
class ThreadCameBack:
    """Code whose attempt had ended has returned: a thread, or what did not let itself be stopped."""

    agent_id: str
    task_id: str | None = None
    usage: Usage = field(default_factory=Usage)
    """What it has spent since its attempt ended."""


@fact
class TimerDue:
    """The moment of a timer has come."""

    timer_id: str


@fact
class AgentUnusable:
    """The code of an agent's generation cannot be found or called."""

    agent_id: str
    generation: int
    error: str
    away: bool = False
    """It is bound to another program, and there when that program runs again."""


@fact
class AgentUsable:
    """The code of an agent's generation was found."""

    agent_id: str
    generation: int


@fact
class ArchiveChecked:
    """The shell read and checked the archive that an order names; its parts follow, and then `StateReady`."""

    order_id: str
    sender: str
    role: str
    path: str
    sha256: str
    counts: dict[str, int]
    """How many entities of each kind it holds."""
    last: dict[str, int]
    """The highest number of an id in it, by its letter."""
    references: list[str]
    """Code that its agents call."""
    granted: dict[str, str] = field(default_factory=dict)
    """What of it may be imported here, each with the hash of its code."""


@fact
class PartRead:
    """A part of the archive that is being taken in."""

    order_id: str
    sender: str
    role: str
    state: Raw
    """A piece of the state document."""
    texts: list[JsonValue]
    """Texts, whose numbers go on where those of the part before ended."""


@fact
class StateReady:
    """A checked state: all of it, or what is left of an archive after its parts."""

    order_id: str
    sender: str
    role: str
    path: str
    sha256: str
    paused: bool
    state: Raw
    texts: list[JsonValue]
    counts: dict[str, int] = field(default_factory=dict)
    """How many entities of each kind it holds; this and what follows is said of a whole state alone."""
    references: list[str] = field(default_factory=list)
    granted: dict[str, str] = field(default_factory=dict)


@fact
class StateUnusable:
    """The archive that an order names cannot be imported."""

    order_id: str
    sender: str
    role: str
    reason: str


@fact
class TextRead:
    """The text of a request was read, so that its graph can be planned."""

    task_id: str
    text: str


Signal: TypeAlias = (
    EngineBegan
    | EngineEnds
    | StepFinished
    | ModelErred
    | BudgetShort
    | PartTold
    | InsightNoted
    | ToolBegan
    | ToolRaised
    | DelegationAsked
    | StepsEnded
    | SlotAsked
    | PersonAsked
    | AskGivenUp
    | AttemptSucceeded
    | AttemptErred
    | AttemptStopped
    | ThreadCameBack
    | TimerDue
    | AgentUnusable
    | AgentUsable
    | ArchiveChecked
    | PartRead
    | StateReady
    | StateUnusable
    | TextRead
)
