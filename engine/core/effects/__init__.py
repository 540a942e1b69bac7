"""Effects: actions of the shell that an event causes, once the event is on disk.

An effect carries all the data it needs, because the state may have changed by then. `table.py` maps events to effects.
"""

from typing import Any, Literal, TypeAlias

from msgspec import field

from engine.core.entities.kept import KeptValue, TaskChanges
from engine.core.entities.memory import Exchange
from engine.core.records.records import fact, shared_fields
from engine.core.records.values import StoredValue
from engine.core.specs.check import Check, Joining
from engine.core.specs.spec import AgentSpec


@shared_fields
class AttemptEffect:
    """An effect on one attempt."""

    __slots__ = ()
    task_id: str
    attempt: int


@fact
class Input:
    """An output that a task receives from an earlier task."""

    task_id: str
    agent: str
    """Name of the member that produced it."""
    title: str
    output: StoredValue


@fact
class Inspection:
    """An output that a check inspects."""

    task_id: str
    agent: str
    title: str
    status: str
    output: StoredValue
    error: str | None


@fact
class StartAttempt(AttemptEffect):
    """Run an attempt on an agent's runtime."""

    run_id: str
    agent_id: str
    agent: str
    generation: int
    spec: str
    """Content hash."""
    title: str
    request: StoredValue
    input: StoredValue
    takes: Literal["request", "previous", "context"]
    inputs: list[Input]
    """Outputs of the tasks before it in its graph, in order."""
    steps: dict[str, StoredValue]
    """Steps that earlier attempts finished."""
    agent_state: dict[str, KeptValue] = field(default_factory=dict)
    """The state of its agent."""
    changes: TaskChanges | None = None
    """How these steps have changed it."""
    conversation: list[Exchange] = field(default_factory=list)
    """Earlier exchanges of its conversation, oldest first."""
    labels: dict[str, str] = field(default_factory=dict)
    """Labels of its run."""
    blueprint: AgentSpec | None = None
    """The spec itself; None looks it up by its hash."""
    lacks: str | None = None
    """A capability of its recipe that its maker has no more; the attempt fails with it."""


@fact
class StopAttempt(AttemptEffect):
    """Ask an attempt to stop: at its next step, or now."""

    now: bool
    grace_ms: int | None = None
    """Grace period until it is stopped between steps; None is the host's default, or no limit if `patient`."""
    patient: bool = False
    """Wait for the next step, also of a program; without `grace_ms` as long as that takes."""
    leave: bool = False
    """Abandon it if it cannot be stopped at once."""


@fact
class CallAnswer:
    """One outcome of a delegation."""

    task_id: str
    ok: bool
    output: StoredValue
    error: str | None


@fact
class AnswerCall(AttemptEffect):
    """Deliver the outcomes of a delegation to an attempt."""

    call_key: str
    answers: list[CallAnswer]
    refused: str | None = None
    """Why nothing was delegated; None if it was."""
    has_slot: bool = True
    """False if the attempt still waits for other calls, without a slot."""


@fact
class ResumeAttempt(AttemptEffect):
    """Tell an attempt that it holds a slot again, so that waiting steps begin."""


@fact
class EndPause(AttemptEffect):
    """Tell an attempt that it is not paused any more, so that it may ask for a slot."""


@fact
class TellAnswer(AttemptEffect):
    """Tell an attempt that its question was answered; the answer is among the steps of its task."""

    key: str


@fact
class TellSteer(AttemptEffect):
    """Tell an attempt that a message waits for its next turn."""

    now: bool
    """Cut the present turn short."""


@fact
class TellInsight:
    """Wake the attempts that may wait for an insight."""

    insight_id: str


@fact
class JoinResults(AttemptEffect):
    """Join outputs of a graph; built-in work on the resolved texts."""

    run_id: str
    join: Joining
    inputs: list[Input]


@fact
class CheckOutputs(AttemptEffect):
    """Inspect outputs of a graph; built-in work on the resolved texts, whose output is the verdict."""

    check: Check
    looks: list[Inspection]


@fact
class ReadText:
    """Read the text of a group's request and report `TextRead`."""

    task_id: str
    input: StoredValue


@fact
class FindAgents:
    """Look for agents outside the team by words, and report `AgentsFound` with the text of the group's request."""

    task_id: str
    supervisor_id: str
    input: StoredValue
    words: list[str]


@fact
class StartTimer:
    """Report `TimerDue` at `due_ms`, replacing an earlier timer of the same id."""

    timer_id: str
    due_ms: int


@fact
class CheckAgent:
    """Check that the code of an agent's generation can be loaded."""

    agent_id: str
    generation: int
    spec: str


@fact
class RestartAgents:
    """Discard the runtimes of restarted agents, with all their state."""

    agent_ids: list[str]
    specs: list[str]
    """Content hashes of specs that no other agent uses."""


@fact
class DropRuntimes:
    """Discard runtimes whose code has changed behind the same references."""

    specs: list[str]
    """Content hashes of the specs that refer to it."""


@fact
class Acknowledge:
    """Report the outcome of a command to its sender."""

    command_id: str
    seq: int
    applied: bool
    reason: str | None = None
    code: str | None = None
    result: dict[str, Any] = field(default_factory=dict)
    summary: str = ""


@fact
class EndRun:
    """Tell the waiters for a run that it has ended."""

    run_id: str
    seq: int


@fact
class StopLoop:
    """End the loop after this batch."""

    reason: str


Effect: TypeAlias = (
    StartAttempt
    | StopAttempt
    | AnswerCall
    | ResumeAttempt
    | EndPause
    | TellAnswer
    | TellSteer
    | TellInsight
    | JoinResults
    | CheckOutputs
    | ReadText
    | FindAgents
    | StartTimer
    | CheckAgent
    | RestartAgents
    | DropRuntimes
    | Acknowledge
    | EndRun
    | StopLoop
)
