"""Events of attempts: started, parked, ended, preempted; steps recorded."""

from typing import Literal, TypeAlias

from msgspec import field

from engine.core.events.base import AttemptEvent, RunEvent
from engine.core.records.records import JsonValue, fact
from engine.core.records.values import Usage
from engine.core.state import ParkedFor

StepKind: TypeAlias = Literal["code", "model", "tool", "compact"]
"""What a step did: run a piece of the agent's code, call a model or a tool, or compact a conversation."""


@fact
class AttemptStarted(AttemptEvent):
    """An attempt at a task starts, on an agent or, for a join or check, in the engine itself."""

    agent_id: str | None
    generation: int


@fact
class AttemptParked(AttemptEvent):
    """An attempt waits with no step running, and gives its slot back.

    One that has given it back already waits for the end of a pause from now on.
    """

    agent_id: str
    why: ParkedFor = "call"
    until_ms: int | None = None
    """When the wait times out; None waits for the result without a limit."""


@fact
class SlotWanted(AttemptEvent):
    """A parked attempt is about to begin a step, and queues for a slot."""

    agent_id: str


@fact
class AttemptResumed(AttemptEvent):
    """A parked attempt got a slot: it continues with the outcomes of its calls, or with a step of its own."""

    agent_id: str
    call_keys: list[str]
    """The calls whose outcomes it gets; empty on a new generation of the agent, whose code makes its calls again."""


@fact
class StepRecorded(AttemptEvent):
    """A step succeeded; its output is recorded and never computed again."""

    agent_id: str | None
    what: StepKind = "code"
    name: str
    key: str
    """Name, hash of the input, and number of the occurrence."""
    input: JsonValue = None
    """Excerpt of its input for people, without secrets (`excerpts.excerpt_of`)."""
    output: JsonValue
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    """Usage since the last report of the attempt; the end of the attempt reports the rest."""
    steers: list[str] = field(default_factory=list)
    """Ids of the messages of people that this step delivers; its output is their texts."""
    parts: list[str] = field(default_factory=list)
    """For a model: hashes of its system prompt and tool schemas (`PartRecorded`)."""
    reads: list[str] = field(default_factory=list)
    """Ids of the insights that it returned."""
    state_changes: dict[str, list[JsonValue]] = field(default_factory=dict)
    """Changes of the agent's own state since the last event with any: `[value]` sets a key, `[]` removes it."""
    state_versions: dict[str, int] = field(default_factory=dict)
    """The versions of these values that the attempt had seen. Without `state_changes`: its changes were refused."""


@fact
class ModelFailed(AttemptEvent):
    """A model call failed; the attempt continues with the next model of its list, or fails with this error."""

    agent_id: str | None
    model: str
    """Its name in the spec."""
    error: str
    """One line."""
    error_type: str
    """`rate_limit`, `timeout`, `connection`, `server`, `auth`, `bad_request`, `context`, `cut`, `content`."""
    retry_after_s: float | None = None
    """The delay before a retry that the provider asked for, in seconds."""
    duration_ms: int | None = None
    """From the request to the failure; None in older journals."""
    usage: Usage = field(default_factory=Usage)
    """Usage since the last report of the attempt; failed calls may cost too."""


@fact
class StepStopped(AttemptEvent):
    """A call of a model or a tool was cut off by a stop or a time limit: it has no result, but took time and money."""

    agent_id: str | None
    what: StepKind
    name: str
    """Name of the step; for a call of a model, the model's name in the spec."""
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    """Usage since the last report of the attempt; of the call, an estimate."""


@fact
class Said:
    """A message of a model attempt, kept for later runs of the same conversation."""

    role: Literal["user", "assistant", "tool", "summary"]
    key: str = ""
    """Key of the step or call that carries its text; empty if `text` does."""
    call_id: str = ""
    """For a tool result: id of the call, in the message before, that it answers."""
    text: str = ""


@fact
class AttemptDone(AttemptEvent):
    """An attempt succeeded, and its task is done."""

    agent_id: str | None
    output: JsonValue
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    said: list[Said] = field(default_factory=list)
    """Messages after the request; only of model attempts whose run belongs to a conversation."""
    state_changes: dict[str, list[JsonValue]] = field(default_factory=dict)
    """As those of `StepRecorded`."""
    state_versions: dict[str, int] = field(default_factory=dict)


@fact
class AttemptFailed(AttemptEvent):
    """An attempt failed; the failure policies decide what follows."""

    agent_id: str | None
    error: str
    error_type: str
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    """Its thread still runs and occupies a slot."""
    error_types: list[str] = field(default_factory=list)
    """Names of the exception's class and its bases, nearest first."""
    retryable: bool | None = None
    """Whether the exception asks for a retry or against one; None if it says nothing."""
    retry_after_s: float | None = None
    """The delay before a retry that the exception asks for, in seconds."""
    crashed: bool = False
    """The agent itself broke down, so that it is restarted."""
    state_versions: dict[str, int] = field(default_factory=dict)
    """It returned, but its changes of the agent's state were refused: the versions that it had seen."""


@fact
class AttemptCancelled(AttemptEvent):
    """An attempt was stopped; its partial output is kept."""

    agent_id: str | None
    partial: JsonValue
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    requeued: bool = False
    """The task is not cancelled: it waits for another attempt."""
    restarted: bool = False
    """With `requeued`: the task starts over from its input, keeps its place, and loses its recorded steps."""
    limit: str | None = None
    """The deadline or budget that it was stopped for, as text; the task fails with it. None cancels the task."""


@fact
class AttemptSetAside(AttemptEvent):
    """An attempt was stopped for a budget or a pause; its task waits again and keeps its recorded steps."""

    agent_id: str | None
    partial: JsonValue
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    paused: bool = False
    """It was stopped for a pause."""


@fact
class AttemptLost(AttemptEvent):
    """An attempt ended with the engine that ran it; its recorded steps are kept."""

    agent_id: str | None


@fact
class PrioritySet(RunEvent):
    """The priority of a run or a task, with everything below it, changed."""

    task_id: str | None = None
    """None is the whole run, with tasks that it creates later."""
    priority: int
    previous: int


@fact
class PreemptionAsked(AttemptEvent):
    """An attempt is asked to stop to free its slot for a more urgent task."""

    agent_id: str
    for_task_id: str
    """The urgent task; only one attempt at a time is stopped for it."""
    now: bool = False
    """Stop at once instead of at the next step."""


@fact
class AttemptPreempted(AttemptEvent):
    """An attempt stopped for a more urgent task; its task waits again and keeps its recorded steps."""

    agent_id: str
    for_task_id: str | None
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    """Its thread still runs and occupies a slot."""
