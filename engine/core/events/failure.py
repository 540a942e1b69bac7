"""Failures: policies applied, circuits, restarts, questions to a person, tool calls in doubt."""

from decimal import Decimal
from typing import Literal

from msgspec import field

from engine.core.events.base import AgentEvent, AttemptEvent, Event, SupervisorEvent, TaskEvent
from engine.core.records.records import JsonValue, fact


@fact
class TaskFailedOver(TaskEvent):
    """A task that failed on one agent was given to another; its recorded steps are kept."""

    from_id: str | None
    """The last agent that failed at it."""
    to_id: str
    queue: str
    """The other agent's own queue, in which the task now waits."""
    reason: str


@fact
class TaskTriedAnew(TaskEvent):
    """A failed task is retried by the answer to its question; its chain of failure policies starts over."""

    queue: str
    by: str
    """Whose answer: `person` or `default`."""


@fact
class TaskAnswered(TaskEvent):
    """A person supplied the output of a task in place of its agent."""


@fact
class CircuitOpened(AgentEvent):
    """The circuit of an agent opened after repeated failures: it gets no work until `due_ms`."""

    failures: int
    """Failed attempts in a row."""
    cool_s: float
    """Cooling time in seconds; doubles each time that the trial attempt fails too."""
    due_ms: int


@fact
class CircuitHalfOpened(AgentEvent):
    """The cooling time of an agent's circuit is over: one trial attempt may start."""


@fact
class CircuitClosed(AgentEvent):
    """The circuit of an agent closed: it takes tasks as before."""

    reason: str


@fact
class AgentsRestarted(SupervisorEvent):
    """An agent crashed, and is restarted with the agents that its supervisor's restart strategy selects."""

    agent_ids: list[str]
    """Agents of the supervisor and of supervisors below it, in declared order."""
    strategy: Literal["one_for_one", "one_for_all", "rest_for_one"]
    because: str
    """Which agent crashed, and its error."""
    period_s: float | None = None
    """Period in seconds in which restarts count towards the limit; None does not count this one."""


@fact
class SupervisorFailed(SupervisorEvent):
    """A supervisor exceeded its restart limit: its requests fail, and its parent treats this as a crash."""

    error: str
    """Such as `supervisor chief failed: 4 restarts in 60 s`."""
    because: str
    """The crash that exceeded the limit."""
    groups: list[str]
    """Open groups of it and of supervisors below it, which fail."""


@fact
class SupervisorMended(SupervisorEvent):
    """An operator resumed a failed supervisor."""


@fact
class AgentCheckAsked(AgentEvent):
    """An operator asked to check again whether the code of a broken agent can be loaded."""


@fact
class Escalated(Event):
    """A question was put to a person; its subject waits for the answer."""

    escalation_id: str
    kind: str
    """Kind of question, such as `failure`, `budget` or `drain`."""
    subject: str
    """Id of the task, run, agent or supervisor that the question is about."""
    run_id: str | None
    task_id: str | None
    question: str
    """One line."""
    options: list[str]
    default: str | None
    """The answer if nobody answers by `due_ms`."""
    due_ms: int | None
    detail: dict[str, JsonValue] = field(default_factory=dict)


@fact
class EscalationAnswered(Event):
    """A question was answered; the events that follow carry the answer out."""

    escalation_id: str
    kind: str
    subject: str
    run_id: str | None
    answer: str
    output: JsonValue
    """With the answer `use`: the output of the task."""
    by: str
    """Whose answer: `person`, or `default` if nobody answered in time."""
    detail: dict[str, JsonValue] = field(default_factory=dict)
    """The detail of the question."""
    scope: Literal["task", "run", "until", "always"] | None = None
    """With `allow_always` and `reject_always`: what the answer holds for; None is always."""
    minutes: float | None = None
    where: list[str] = field(default_factory=list)
    """The names of the arguments whose values it holds for."""
    amount: Decimal | None = None
    """With `continue`: what a budget is raised by, in its unit; None grants the original limit again."""


@fact
class QuestionWithdrawn(AttemptEvent):
    """Nobody waits for the answer of a person any more, and the question is closed.

    Its attempt goes on without, or somebody may take the work that nobody could take (key `nobody`).
    """

    agent_id: str | None
    escalation_id: str
    key: str


@fact
class ToolStarted(AttemptEvent):
    """An attempt is about to call a tool that must not be called twice; a `StepRecorded` follows if it succeeds."""

    agent_id: str | None
    name: str
    key: str


@fact
class ToolFailed(AttemptEvent):
    """A tool call raised an error, which the agent's code handles."""

    agent_id: str | None
    name: str
    key: str
    error: str


@fact
class DoubtSettled(TaskEvent):
    """A person decided whether a tool call without a recorded end took place."""

    name: str
    key: str
    ran: bool
    """True does not call it again and uses the output that the person gave; False calls it again."""
