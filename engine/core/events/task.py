"""Facts about tasks: planned, asked for by an agent, ended, tried again."""

from typing import Literal

from msgspec import field

from engine.core.check import Check, Joining, Takes
from engine.core.events.base import AttemptEvent, TaskEvent
from engine.core.records import JsonValue, fact
from engine.core.state import CallKind, TaskStatus
from engine.core.values import StoredValue


@fact
class NodePlan:
    """One node of a graph, as it was planned."""

    task_id: str
    kind: Literal["agent", "group", "join", "check"]
    title: str
    worker_id: str | None
    """The agent or sub-supervisor that it is for; None for built-in work, and where any able agent may take it."""
    supervisor_id: str
    """Whose slots it takes: the supervisor of its agent, or the sub-supervisor itself."""
    after: list[str] = field(default_factory=list)
    takes: Takes = "request"
    join: Joining | None = None
    optional: bool = False
    queue: str | None = None
    """Where it waits, if not in the queue of its worker."""
    check: Check | None = None
    role: str = ""
    sees: list[str] | None = None
    need: int | None = None
    tolerated: bool = False
    input: StoredValue = None
    """Its own item, where it takes that."""


@fact
class GroupPlanned(TaskEvent):
    """A supervisor turned a request into a graph of tasks."""

    type: Literal["group_planned"] = "group_planned"
    mode: str
    nodes: list[NodePlan]
    outcome_id: str | None
    """The node whose output is the group's."""
    explanation: str
    """Why these members, in words."""
    settings: dict[str, JsonValue] = field(default_factory=dict)
    """Of the strategy, with what was left open filled in."""
    category: str | None = None
    """The kind of work that the strategy was chosen for."""


@fact
class GroupGrown(TaskEvent):
    """A built-in node looked at outputs, and the graph goes on in one of its ways."""

    type: Literal["group_grown"] = "group_grown"
    check_id: str
    """The node whose verdict it follows."""
    added: list[NodePlan] = field(default_factory=list)
    after: dict[str, list[str]] = field(default_factory=dict)
    """What nodes that have not started wait for from now on."""
    sees: dict[str, list[str]] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    """Nodes of ways that are not taken."""
    outcome_id: str | None = None
    """The node whose output is the group's from now on."""
    failed: str | None = None
    """Why the group cannot come to a good end, if so."""
    why: str


@fact
class GroupEnded(TaskEvent):
    """Every node of a graph has ended."""

    type: Literal["group_ended"] = "group_ended"
    status: TaskStatus
    output: StoredValue
    error: str | None = None


@fact
class ChildPlan:
    """One task that an agent asked for."""

    task_id: str
    kind: Literal["agent", "group"]
    title: str
    queue: str | None
    """Where it waits; None for a sub-supervisor's."""
    worker_id: str | None
    supervisor_id: str
    input: JsonValue
    optional: bool = False
    after: list[str] = field(default_factory=list)
    """Of a plan: tasks of it that have to end first, and whose outputs it gets."""


@fact
class Delegated(AttemptEvent):
    """An agent at work asked others; it holds no slot until they answer."""

    type: Literal["delegated"] = "delegated"
    agent_id: str
    call_key: str
    call_kind: CallKind
    children: list[ChildPlan]
    parks: bool = True
    """The attempt gives its slot back; False while a step of it runs besides."""


@fact
class CallRejoined(AttemptEvent):
    """An attempt asked again what an earlier one had asked; the same tasks answer it."""

    type: Literal["call_rejoined"] = "call_rejoined"
    agent_id: str
    call_key: str
    parks: bool = True
    """As in `Delegated`."""


@fact
class CallAnswered(AttemptEvent):
    """The outcomes of a call are told to the attempt that asked."""

    type: Literal["call_answered"] = "call_answered"
    call_key: str


@fact
class CallRefused(AttemptEvent):
    """No agent can do what an attempt asked for."""

    type: Literal["call_refused"] = "call_refused"
    call_key: str
    reason: str


@fact
class RetryScheduled(TaskEvent):
    """A task is tried again after a back-off; its slot is free until then."""

    type: Literal["retry_scheduled"] = "retry_scheduled"
    retry: int
    """1 for the first try after the first failure."""
    delay_ms: int
    due_ms: int
    jitter: float
    """The draw that the delay was made with, in [0, 1)."""
    retry_after_s: float | None = None
    """What the error asked for, in seconds; the delay is never shorter."""


@fact
class RetryDue(TaskEvent):
    """The back-off of a task is over, or an operator cut it short."""

    type: Literal["retry_due"] = "retry_due"


@fact
class TaskFailed(TaskEvent):
    """A task has failed for good."""

    type: Literal["task_failed"] = "task_failed"
    error: str
    optional: bool | None = None
    """Whether those who wait for it go on without its output; None leaves it as it was planned."""


@fact
class TaskSkipped(TaskEvent):
    """A task will not be done: what it needs did not come about, or it failed and others go on without it."""

    type: Literal["task_skipped"] = "task_skipped"
    reason: str
    optional: bool = False
    """Those who wait for it go on without its output: its failure policies say so, or a person."""


@fact
class NeedMet(TaskEvent):
    """As many answers are there as a node needs: it goes on with these, whatever becomes of the others."""

    type: Literal["need_met"] = "need_met"
    answers: list[str]
    """Those that came first, in the order of the plan: whose outputs the node gets."""
    after: list[str]
    """What the node still comes after."""


@fact
class ItemTaken(TaskEvent):
    """A team takes work from a queue that several members share, and does it by its own strategy."""

    type: Literal["item_taken"] = "item_taken"
    supervisor_id: str
    agent_id: str
    """Who of it was free."""


@fact
class ItemReturned:
    """A team gives an item back to those with whom it shares it: nobody of it has begun, and it may not go on.

    It is paused, or its budget is spent.
    """

    type: Literal["item_returned"] = "item_returned"
    at_ms: int
    run_id: str
    task_id: str
    supervisor_id: str
    queue: str
    dropped: list[str]
    """What it had planned for the item, at every level: nothing of that has begun."""


@fact
class TaskRequeued(TaskEvent):
    """A task waits somewhere else, or again."""

    type: Literal["task_requeued"] = "task_requeued"
    queue: str
    reason: str


@fact
class TaskReopened(TaskEvent):
    """An operator asked that a failed task is tried again; those that were skipped because of it wait for it again."""

    type: Literal["task_reopened"] = "task_reopened"
    reopened: list[str]
    """The task and every skipped one that depends on it."""


@fact
class PlanAsked(TaskEvent):
    """A graph can be planned once the whole text of its request was read."""

    type: Literal["plan_asked"] = "plan_asked"
