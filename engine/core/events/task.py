"""Events of tasks: planned, delegated, ended, retried."""

from typing import Literal

from msgspec import field

from engine.core.discovery.match import Match
from engine.core.events.base import AttemptEvent, TaskEvent
from engine.core.records.records import JsonValue, fact
from engine.core.records.values import StoredValue, Usage
from engine.core.specs.check import Check, Joining, Takes
from engine.core.specs.discovery import AgentDiscoveryMode
from engine.core.state import CallKind, TaskStatus


@fact
class NodePlan:
    """A planned node of a graph."""

    task_id: str
    kind: Literal["agent", "group", "join", "check"]
    title: str
    worker_id: str | None
    """The agent or sub-supervisor that does it; None for built-in work, and if any able agent may take it."""
    supervisor_id: str
    """The supervisor whose slots it uses: that of its agent, or the sub-supervisor itself."""
    after: list[str] = field(default_factory=list)
    takes: Takes = "request"
    join: Joining | None = None
    optional: bool = False
    queue: str | None = None
    """The queue in which it waits; None is the queue of its worker."""
    check: Check | None = None
    role: str = ""
    sees: list[str] | None = None
    need: int | None = None
    tolerated: bool = False
    input: StoredValue = None
    """Its own item, if `takes` is `own`."""


@fact
class GroupPlanned(TaskEvent):
    """A supervisor planned a request as a graph of tasks."""

    mode: str
    nodes: list[NodePlan]
    outcome_id: str | None
    """The node whose output is the group's."""
    explanation: str
    """Why these members were chosen, for people."""
    settings: dict[str, JsonValue] = field(default_factory=dict)
    """Settings of the strategy, with defaults filled in."""
    category: str | None = None
    """The category of work for which the strategy was chosen."""


@fact
class GroupGrown(TaskEvent):
    """A check inspected outputs, and the graph continues according to its verdict."""

    check_id: str
    """The check whose verdict decided."""
    added: list[NodePlan] = field(default_factory=list)
    after: dict[str, list[str]] = field(default_factory=dict)
    """New predecessors of nodes that have not started."""
    sees: dict[str, list[str]] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    """Nodes of branches that are not taken."""
    outcome_id: str | None = None
    """The node whose output becomes the group's; None leaves it as it is."""
    failed: str | None = None
    """Why the group cannot succeed; None if it can."""
    why: str


@fact
class GroupEnded(TaskEvent):
    """Every node of a graph has ended."""

    status: TaskStatus
    output: StoredValue
    error: str | None = None


@fact
class ChildPlan:
    """A task that an agent delegates."""

    task_id: str
    kind: Literal["agent", "group"]
    title: str
    queue: str | None
    """The queue in which it waits; None for a task of a sub-supervisor."""
    worker_id: str | None
    supervisor_id: str
    input: JsonValue
    optional: bool = False
    after: list[str] = field(default_factory=list)
    """For a task of a plan: tasks that must end first, and whose outputs it gets."""


@fact
class Delegated(AttemptEvent):
    """An attempt delegated work and waits for the outcomes."""

    agent_id: str
    call_key: str
    call_kind: CallKind
    children: list[ChildPlan]
    parks: bool = True
    """The attempt gives its slot back; False while another step of it runs."""


@fact
class CallRejoined(AttemptEvent):
    """An attempt repeated a call of an earlier attempt, and gets the outcomes of the same tasks."""

    agent_id: str
    call_key: str
    parks: bool = True
    """As in `Delegated`."""


@fact
class CallAnswered(AttemptEvent):
    """The outcomes of a call were delivered to its attempt."""

    call_key: str


@fact
class CallRefused(AttemptEvent):
    """A call was refused, because no agent is able to do the work."""

    call_key: str
    reason: str


@fact
class RetryScheduled(TaskEvent):
    """A task will be retried after a back-off, and holds no slot until then."""

    retry: int
    """1 for the first retry."""
    delay_ms: int
    due_ms: int
    jitter: float
    """The random draw that the delay was computed from, in [0, 1)."""
    retry_after_s: float | None = None
    """The delay that the error asked for, in seconds; the actual delay is never shorter."""


@fact
class RetryDue(TaskEvent):
    """The back-off of a task ended, or an operator cut it short."""


@fact
class TaskFailed(TaskEvent):
    """A task has failed for good."""

    error: str
    optional: bool | None = None
    """Whether dependents continue without its output; None keeps what was planned."""


@fact
class TaskSkipped(TaskEvent):
    """A task was skipped: a predecessor failed, or it failed itself and its dependents continue without it."""

    reason: str
    optional: bool = False
    """Dependents continue without its output, by its failure policies or a person's answer."""


@fact
class NeedMet(TaskEvent):
    """A node has as many answers as it needs, and continues without waiting for the others."""

    answers: list[str]
    """The first tasks that answered, in the order of the plan; the node gets their outputs."""
    after: list[str]
    """The predecessors that the node keeps."""


@fact
class ItemTaken(TaskEvent):
    """A team took a task from a queue that several members share, and does it by its own strategy."""

    supervisor_id: str
    agent_id: str
    """The free agent of the team."""


@fact
class ItemReturned(TaskEvent):
    """A team that was paused, or whose budget is exhausted, returned a task that it had taken but not begun."""

    supervisor_id: str
    queue: str
    dropped: list[str]
    """Tasks that it had planned for this one, at every level; none has begun."""


@fact
class TaskRequeued(TaskEvent):
    """A task was put into a queue again, or into another one."""

    queue: str
    reason: str


@fact
class TaskReopened(TaskEvent):
    """An operator retried a failed task; tasks that were skipped because of it wait for it again."""

    reopened: list[str]
    """The task and every skipped task that depends on it."""


@fact
class PlanAsked(TaskEvent):
    """A graph can be planned once the full text of its request has been read, or agents were looked for."""

    words: list[str] = field(default_factory=list)
    """Words that no agent of the team knows: agents are looked for by them; empty where the text is read alone."""


@fact
class Discovered(TaskEvent):
    """Agents were looked for outside the team, once for a graph; those chosen join or are offered to a person."""

    supervisor_id: str
    matches: list[Match]
    """Those that match the request best, in the team and outside, best first."""
    chosen: list[str]
    """Ids of those outside that join, or that a person is asked about."""
    modes: list[AgentDiscoveryMode]
    """Where was searched."""
    faults: list[str] = field(default_factory=list)
    """Why a place could not be searched, one line each."""
    model: str | None = None
    """The model that described a new agent."""
    usage: Usage = field(default_factory=Usage)
    """Usage of that call."""
