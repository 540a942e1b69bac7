"""Attempts: begun, parked, ended, made to wait for what is more urgent; steps recorded."""

from typing import Literal, TypeAlias

from msgspec import field

from engine.core.events.base import AttemptEvent, RunEvent
from engine.core.records import JsonValue, fact
from engine.core.state import ParkedFor
from engine.core.values import Usage

StepKind: TypeAlias = Literal["code", "model", "tool", "compact"]
"""What a step was: a piece of the agent's code, a call of a model or a tool, or the shortening of a conversation."""


@fact
class AttemptStarted(AttemptEvent):
    """An agent (or the engine itself, for a join) begins to work on a task."""

    type: Literal["attempt_started"] = "attempt_started"
    agent_id: str | None
    generation: int


@fact
class AttemptParked(AttemptEvent):
    """No step of an attempt runs any more, and it waits: it gives its slot back."""

    type: Literal["attempt_parked"] = "attempt_parked"
    agent_id: str
    why: ParkedFor = "call"
    until_ms: int | None = None
    """When the wait ends by itself; None where something has to happen."""


@fact
class SlotWanted(AttemptEvent):
    """An attempt that waits without a slot is about to begin a step: it waits for a slot too."""

    type: Literal["slot_wanted"] = "slot_wanted"
    agent_id: str


@fact
class AttemptResumed(AttemptEvent):
    """An attempt has a slot again: it goes on with what its delegations answered, or with a step beside them."""

    type: Literal["attempt_resumed"] = "attempt_resumed"
    agent_id: str
    call_keys: list[str]
    """The calls whose outcomes it is told; none where it goes on with a new generation, whose code asks again."""


@fact
class StepRecorded(AttemptEvent):
    """A step ended well; its output is never computed again."""

    type: Literal["step_recorded"] = "step_recorded"
    agent_id: str | None
    what: StepKind = "code"
    name: str
    key: str
    """Name, hash of the input and the number of its occurrence."""
    input: JsonValue = None
    """What it was called with, for a person to read: short, and without secrets (`shown.shown`)."""
    output: JsonValue
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    """What was spent since the report before; the end of the attempt carries the rest."""
    steers: list[str] = field(default_factory=list)
    """Messages of people that it takes; its output is their texts."""
    parts: list[str] = field(default_factory=list)
    """Of a model: hashes of what it was told besides the messages (`PartRecorded`)."""


@fact
class ModelFailed(AttemptEvent):
    """A call of a model failed; the attempt goes on with the next model of its list, or fails with this error."""

    type: Literal["model_failed"] = "model_failed"
    agent_id: str | None
    model: str
    """The name that the spec calls it by."""
    error: str
    """One line."""
    error_type: str
    """`rate_limit`, `timeout`, `connection`, `server`, `auth`, `bad_request`, `context`, `cut`, `content`."""
    retry_after_s: float | None = None
    """How long the provider asked to be left alone, in seconds."""
    usage: Usage = field(default_factory=Usage)
    """What was spent nevertheless, since the report before."""


@fact
class Said:
    """A message of the conversation that an attempt of a model came to, for later runs of the run's conversation."""

    role: Literal["user", "assistant", "tool", "summary"]
    key: str = ""
    """The step or the call that has it; empty where `text` does."""
    call_id: str = ""
    """Of a tool: the call of the message before it that this answers."""
    text: str = ""


@fact
class AttemptDone(AttemptEvent):
    """An attempt ended well, and with it the task."""

    type: Literal["attempt_done"] = "attempt_done"
    agent_id: str | None
    output: JsonValue
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    said: list[Said] = field(default_factory=list)
    """What was said in it after the request; of attempts of models whose run has a conversation."""


@fact
class AttemptFailed(AttemptEvent):
    """An attempt ended with an error; the failure policy decides what is next."""

    type: Literal["attempt_failed"] = "attempt_failed"
    agent_id: str | None
    error: str
    error_type: str
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    """Its thread has not returned and still takes a slot."""
    error_types: list[str] = field(default_factory=list)
    """Names of the class of its exception and the bases of that, the nearest first."""
    retryable: bool | None = None
    """What the exception itself said of being tried again."""
    retry_after_s: float | None = None
    """How long the exception asked to be left alone, in seconds."""
    crashed: bool = False
    """Not the task went wrong but the agent: it is started anew."""


@fact
class AttemptCancelled(AttemptEvent):
    """An attempt was stopped; what it had said so far is kept."""

    type: Literal["attempt_cancelled"] = "attempt_cancelled"
    agent_id: str | None
    partial: JsonValue
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    requeued: bool = False
    """The task is to be done by another attempt, and is not cancelled."""
    restarted: bool = False
    """With `requeued`: it begins again from its input, at its place, and what it had finished is thrown away."""
    limit: str | None = None
    """The deadline or the budget that it was stopped for, in words: the task has failed."""


@fact
class AttemptSetAside(AttemptEvent):
    """An attempt was stopped for a budget; its task waits again, with its finished steps."""

    type: Literal["attempt_set_aside"] = "attempt_set_aside"
    agent_id: str | None
    partial: JsonValue
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False


@fact
class AttemptLost(AttemptEvent):
    """An attempt ended with the engine that ran it; its finished steps are kept."""

    type: Literal["attempt_lost"] = "attempt_lost"
    agent_id: str | None


@fact
class PrioritySet(RunEvent):
    """A run or a task, and all below it, is more or less urgent than before."""

    type: Literal["priority_set"] = "priority_set"
    task_id: str | None = None
    """None for the whole run, and what it makes later."""
    priority: int
    previous: int


@fact
class PreemptionAsked(AttemptEvent):
    """An attempt is asked to stop, because its slot is for a task that is more urgent."""

    type: Literal["preemption_asked"] = "preemption_asked"
    agent_id: str
    for_task_id: str
    """The urgent task; one at a time stops for it."""
    now: bool = False
    """It stops at once, and not at its next step."""


@fact
class AttemptPreempted(AttemptEvent):
    """An attempt stopped for a more urgent task; its task waits again, and goes on from its finished steps."""

    type: Literal["attempt_preempted"] = "attempt_preempted"
    agent_id: str
    for_task_id: str | None
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    """Its thread has not returned and still takes a slot."""
