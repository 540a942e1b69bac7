"""What the shell is asked to do. An effect carries everything that performing it needs."""

from typing import Any, Literal, TypeAlias

from msgspec import field

from engine.core.check import Check, Joining
from engine.core.entities.memory import Exchange
from engine.core.records import fact
from engine.core.spec import AgentSpec
from engine.core.values import StoredValue


@fact
class Input:
    """One output that a task gets from a task before it."""

    task_id: str
    agent: str
    """Name of the member that made it."""
    title: str
    output: StoredValue


@fact
class Look:
    """What a built-in node looks at."""

    task_id: str
    agent: str
    title: str
    status: str
    output: StoredValue
    error: str | None


@fact
class StartAttempt:
    """Run an attempt on an agent's runtime."""

    run_id: str
    task_id: str
    attempt: int
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
    conversation: list[Exchange] = field(default_factory=list)
    """The runs before its own that it remembers, the oldest first."""
    blueprint: AgentSpec | None = None
    """The spec itself; None looks it up by its hash."""


@fact
class StopAttempt:
    """Ask an attempt to stop: at its next step, or now."""

    task_id: str
    attempt: int
    now: bool
    grace_ms: int | None = None
    """How long it may go on to its next step; None is what the host allows."""
    patient: bool = False
    """It may go on to its next step however long that takes, and to its end where it takes none."""
    leave: bool = False
    """Nothing waits for it: what does not let itself be stopped now is left behind."""


@fact
class CallAnswer:
    """One outcome of a delegation."""

    task_id: str
    ok: bool
    output: StoredValue
    error: str | None


@fact
class AnswerCall:
    """Tell an attempt what its delegation brought."""

    task_id: str
    attempt: int
    call_key: str
    answers: list[CallAnswer]
    refused: str | None = None
    """Why nothing was delegated, if so."""
    has_slot: bool = True
    """False where it waits for others still, without a slot."""


@fact
class ResumeAttempt:
    """Tell an attempt that it holds a slot again: steps that waited for one begin."""

    task_id: str
    attempt: int


@fact
class TellAnswer:
    """Let an attempt go on that asked a person: the answer stands among the steps of its task."""

    task_id: str
    attempt: int
    key: str


@fact
class TellSteer:
    """Let an attempt know that a message waits for its next turn."""

    task_id: str
    attempt: int
    now: bool
    """A turn that cannot be joined is to be cut short."""


@fact
class JoinResults:
    """Join outputs of a graph; built-in work on the resolved texts."""

    run_id: str
    task_id: str
    attempt: int
    join: Joining
    inputs: list[Input]


@fact
class CheckOutputs:
    """Look at outputs of a graph; built-in work on the resolved texts, whose verdict is its output."""

    task_id: str
    attempt: int
    check: Check
    looks: list[Look]


@fact
class ReadText:
    """Read the text of a group's request and report `TextRead`."""

    task_id: str
    input: StoredValue


@fact
class StartTimer:
    """Report `TimerDue` at a moment."""

    timer_id: str
    due_ms: int


@fact
class CheckAgent:
    """Look whether the code of an agent's generation is there."""

    agent_id: str
    generation: int
    spec: str


@fact
class RestartAgents:
    """Make the runtimes of agents anew, with nothing left of what they held."""

    agent_ids: list[str]
    specs: list[str]
    """Content hashes that no other agent uses: what was prepared for them is dropped."""


@fact
class DropRuntimes:
    """Load code anew for the next attempts: there is another one behind the same references now."""

    specs: list[str]
    """Content hashes of the specs that refer to it."""


@fact
class Acknowledge:
    """Report the outcome of a command to its sender."""

    command_id: str
    seq: int
    applied: bool
    reason: str | None
    code: str | None
    result: dict[str, Any]
    summary: str


@fact
class EndRun:
    """Tell who waits for a run that it has its outcome."""

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
    | TellAnswer
    | TellSteer
    | JoinResults
    | CheckOutputs
    | ReadText
    | StartTimer
    | CheckAgent
    | RestartAgents
    | DropRuntimes
    | Acknowledge
    | EndRun
    | StopLoop
)
