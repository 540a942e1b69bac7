"""Failures: policies applied, circuits, restarts, questions to a person, tool calls in doubt."""

from typing import Literal

from msgspec import field

from engine.core.events.base import AgentEvent, AttemptEvent, EventBase, SupervisorEvent, TaskEvent
from engine.core.records import JsonValue, fact


@fact
class TaskFailedOver(TaskEvent):
    """A task that failed on one agent was given to another; its finished steps are kept."""

    type: Literal["task_failed_over"] = "task_failed_over"
    from_id: str | None
    """The agent that failed on it last."""
    to_id: str
    queue: str
    """Where it waits: the other agent's own queue."""
    reason: str


@fact
class TaskTriedAnew(TaskEvent):
    """A failed task is tried again because a person said so, or the default; its failure policies begin anew."""

    type: Literal["task_tried_anew"] = "task_tried_anew"
    queue: str
    by: str
    """`person` or `default`."""


@fact
class TaskAnswered(TaskEvent):
    """A person gave the output of a task in place of its agent."""

    type: Literal["task_answered"] = "task_answered"


@fact
class CircuitOpened(AgentEvent):
    """An agent keeps failing: it gets nothing to do until it has cooled down."""

    type: Literal["circuit_opened"] = "circuit_opened"
    failures: int
    """Failed attempts in a row."""
    cool_s: float
    """Twice as long each time that the one attempt that was let through failed too."""
    due_ms: int


@fact
class CircuitHalfOpened(AgentEvent):
    """An agent has cooled down: one attempt is let through."""

    type: Literal["circuit_half_opened"] = "circuit_half_opened"


@fact
class CircuitClosed(AgentEvent):
    """An agent takes tasks again as before."""

    type: Literal["circuit_closed"] = "circuit_closed"
    reason: str


@fact
class AgentsRestarted(SupervisorEvent):
    """An agent crashed: it is restarted, with the agents that its supervisor's restart strategy names."""

    type: Literal["agents_restarted"] = "agents_restarted"
    agent_ids: list[str]
    """Of the supervisor and of those below it, in declared order."""
    strategy: Literal["one_for_one", "one_for_all", "rest_for_one"]
    because: str
    """Who crashed, and what it said."""
    period_s: float | None = None
    """Restarts within this time are counted; None counts none."""


@fact
class SupervisorFailed(SupervisorEvent):
    """A supervisor had to restart its agents too often: its requests fail, and the one above it has a crash."""

    type: Literal["supervisor_failed"] = "supervisor_failed"
    error: str
    """Such as `supervisor chief failed: 4 restarts in 60 s`."""
    because: str
    """The crash that was one too many."""
    groups: list[str]
    """Its graphs in progress, and those of supervisors below it; they fail."""


@fact
class SupervisorMended(SupervisorEvent):
    """An operator let a supervisor work again that had failed."""

    type: Literal["supervisor_mended"] = "supervisor_mended"


@fact
class AgentCheckAsked(AgentEvent):
    """An operator asked that an agent in error is looked at again."""

    type: Literal["agent_check_asked"] = "agent_check_asked"


@fact
class Escalated(EventBase):
    """A person is asked; what it is about waits."""

    type: Literal["escalated"] = "escalated"
    escalation_id: str
    kind: str
    """What it is about, such as `failure`, `budget` or `drain`."""
    subject: str
    """Id of the task, run, agent or supervisor that it is about."""
    run_id: str | None
    task_id: str | None
    question: str
    """One line."""
    options: list[str]
    default: str | None
    """The answer when none is given by `due_ms`."""
    due_ms: int | None
    detail: dict[str, JsonValue] = field(default_factory=dict)


@fact
class EscalationAnswered(EventBase):
    """A question has its answer; what it brings about follows."""

    type: Literal["escalation_answered"] = "escalation_answered"
    escalation_id: str
    kind: str
    subject: str
    run_id: str | None
    answer: str
    output: JsonValue
    """With the answer `use`: what stands for the work."""
    by: str
    """`person`, or `default` when the question was not answered in time."""
    detail: dict[str, JsonValue] = field(default_factory=dict)
    """What was asked with it."""


@fact
class QuestionWithdrawn(AttemptEvent):
    """An attempt does not wait any more for the answer of a person: the question is closed."""

    type: Literal["question_withdrawn"] = "question_withdrawn"
    agent_id: str | None
    escalation_id: str
    key: str


@fact
class ToolStarted(AttemptEvent):
    """An attempt is about to call a tool that must not be called twice; a step that is recorded is its good end."""

    type: Literal["tool_started"] = "tool_started"
    agent_id: str | None
    name: str
    key: str


@fact
class ToolFailed(AttemptEvent):
    """A tool that was called raised: it has ended, and what is next is a matter of the agent's code."""

    type: Literal["tool_failed"] = "tool_failed"
    agent_id: str | None
    name: str
    key: str
    error: str


@fact
class DoubtSettled(TaskEvent):
    """A person said of a tool call without an end whether it has happened."""

    type: Literal["doubt_settled"] = "doubt_settled"
    name: str
    key: str
    ran: bool
    """True: it is not called again, and its output is what the person gave. False: it is called again."""
