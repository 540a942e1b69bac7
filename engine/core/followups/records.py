"""What there is to look at: a followup is decided like a message, and is never journaled."""

from typing import TypeAlias

from engine.core.records import JsonValue, fact
from engine.core.state import RunStatus


@fact
class Dispatch:
    """There is a ready task with a free agent and slots at every level."""


@fact
class TakeSlot:
    """A task is urgent and ready, and nothing could start it: a less urgent one may have to wait."""

    task_id: str


@fact
class GiveSlot:
    """An attempt that was asked to stop for a task has ended: that one has the slot before all others."""

    task_id: str


@fact
class FollowRun:
    """A run has finished for which another waits."""

    run_id: str
    """The one that waits."""
    previous_id: str
    status: RunStatus


@fact
class PlanGroup:
    """A group can be turned into a graph."""

    task_id: str
    text: str | None = None
    """The whole text of its request, where it is at hand."""


@fact
class LookAt:
    """A node waits for nothing any more: plan a group, start a join."""

    task_id: str


@fact
class AfterEnd:
    """A task has its outcome."""

    task_id: str


@fact
class CheckGroup:
    """A graph changed; it may have ended."""

    task_id: str


@fact
class GrowGroup:
    """A built-in node has looked at outputs: its graph goes on in one of its ways."""

    check_id: str
    verdict: JsonValue
    seq: int
    """The event that carries the verdict."""


@fact
class Tune:
    """A run of a supervisor that may change its coordination by itself has ended."""

    supervisor_id: str


@fact
class FinishRun:
    """The last attempt of a run whose outcome stands has ended."""

    run_id: str


@fact
class ApplyPolicy:
    """An attempt failed: its policies say what is next."""

    task_id: str
    error_types: list[str]
    """Names of the class of its exception and the bases of that."""
    retryable: bool | None
    """What the exception said of being tried again."""
    retry_after_s: float | None
    """How long it asked to be left alone, in seconds."""


@fact
class LookAtCircuit:
    """An attempt on an agent ended, well or not."""

    agent_id: str
    well: bool


@fact
class MemberCrashed:
    """An agent, or a whole supervisor, broke down and has to be started anew."""

    member_id: str
    because: str


@fact
class AskDoubt:
    """A task may have been cut off in the middle of a tool call."""

    task_id: str


@fact
class AnswerNow:
    """A call is answered while its attempt holds a slot."""

    task_id: str
    call_key: str


@fact
class Requeue:
    """The work of an agent that leaves has to be done by another."""

    task_id: str


@fact
class PlaceAgain:
    """Which agents are able may have changed: work that no able agent can take is placed again."""

    queue: str | None = None
    """The one queue to look at; None looks at all."""


@fact
class StopLeftOver:
    """A task begins again from its input: what it had asked for is of no use any more."""

    task_id: str


@fact
class CheckGeneration:
    """An attempt on an agent ended: a swap may be drained, or its new generation fail too often."""

    agent_id: str


@fact
class LookAtPool:
    """A pool has to grow, or an instance of it has nothing to do."""

    agent_id: str


@fact
class CheckLeaving:
    """Agents and supervisors that are being removed may go, or those under them may."""


@fact
class ActOnAnswer:
    """A question to a person has its answer."""

    escalation_id: str
    kind: str
    subject: str
    run_id: str | None
    answer: str
    output: JsonValue
    by: str
    detail: dict[str, JsonValue]


@fact
class CheckBudget:
    """A task, a run, an agent or a supervisor has spent something, or may spend another amount."""

    subject: str


@fact
class ReturnItems:
    """A supervisor may begin nothing now, or stands elsewhere: what was shared and not begun is for others."""

    supervisor_id: str


FollowUp: TypeAlias = (
    Dispatch
    | Tune
    | TakeSlot
    | GiveSlot
    | FollowRun
    | PlanGroup
    | LookAt
    | AfterEnd
    | CheckGroup
    | GrowGroup
    | FinishRun
    | ApplyPolicy
    | AskDoubt
    | LookAtCircuit
    | MemberCrashed
    | AnswerNow
    | Requeue
    | PlaceAgain
    | StopLeftOver
    | CheckGeneration
    | ActOnAnswer  # keep one a line
    | LookAtPool
    | CheckLeaving
    | CheckBudget
    | ReturnItems
)
