"""Follow-ups: decisions that an event makes necessary. They are not journaled, because they follow from the events.

A follow-up is decided like a message. `table.py` maps events to follow-ups.
"""

from engine.core.events import EscalationAnswered
from engine.core.records.records import JsonValue, fact, facts_of, shared_fields
from engine.core.state import RunStatus


@shared_fields
class FollowUp:
    """Base of all follow-ups."""

    __slots__ = ()


@fact
class Dispatch(FollowUp):
    """A ready task has a free agent and slots at every level: start it."""


@fact
class TakeSlot(FollowUp):
    """An urgent task is ready and dispatch could not start it: preempt a less urgent attempt."""

    task_id: str


@fact
class GiveSlot(FollowUp):
    """A preempted attempt has ended: give its slot to the task for which it was stopped."""

    task_id: str


@fact
class FollowRun(FollowUp):
    """A run that another run waits for has finished."""

    run_id: str
    """The waiting run."""
    previous_id: str
    status: RunStatus


@fact
class PlanGroup(FollowUp):
    """A group is ready to be planned as a graph."""

    task_id: str
    text: str | None = None
    """The full text of its request, if it is in memory; else it is read from the journal first."""


@fact
class StartUnblocked(FollowUp):
    """A node has no blockers left: plan the group, or start the join or check."""

    task_id: str


@fact
class AfterEnd(FollowUp):
    """A task has ended: continue its dependents, its group and its asker."""

    task_id: str


@fact
class CheckGroup(FollowUp):
    """A graph changed and may have ended."""

    task_id: str


@fact
class GrowGroup(FollowUp):
    """A check has given its verdict: extend the graph accordingly."""

    check_id: str
    verdict: JsonValue
    seq: int
    """The event that carries the verdict."""


@fact
class Tune(FollowUp):
    """A run of a supervisor with `optimize` has ended: adjust its coordination."""

    supervisor_id: str


@fact
class FinishRun(FollowUp):
    """The root of a run has its outcome and its last attempt has ended: finish the run."""

    run_id: str


@fact
class ApplyPolicy(FollowUp):
    """An attempt failed: apply the failure policies."""

    task_id: str
    error_types: list[str]
    """Names of the exception's class and of its bases."""
    retryable: bool | None
    """Whether the exception declared itself retryable; None if it did not say."""
    retry_after_s: float | None
    """Delay requested by the exception, in seconds."""


@fact
class CheckCircuit(FollowUp):
    """An attempt ended, and the agent's circuit may open or close."""

    agent_id: str
    succeeded: bool


@fact
class MemberCrashed(FollowUp):
    """An agent or a supervisor crashed: restart members, or fail the supervisor above."""

    member_id: str
    because: str


@fact
class AskDoubt(FollowUp):
    """A task may have been cut off inside a tool call: ask a person."""

    task_id: str


@fact
class AnswerNow(FollowUp):
    """A call has ended while its attempt holds a slot: answer it at once."""

    task_id: str
    call_key: str


@fact
class Requeue(FollowUp):
    """A task of an agent that is being removed needs another agent."""

    task_id: str


@fact
class PlaceAgain(FollowUp):
    """The set of able agents may have changed: move tasks that no able agent can take."""

    queue: str | None = None
    """The only queue to check; None checks all."""


@fact
class StopDelegations(FollowUp):
    """A task restarts from its input: stop what it had delegated."""

    task_id: str


@fact
class CheckGeneration(FollowUp):
    """An attempt ended: a swap may be drained, or the new generation may have failed too often."""

    agent_id: str


@fact
class CheckPool(FollowUp):
    """A pool may have to grow, or needs an idle timer."""

    agent_id: str


@fact
class CheckLeaving(FollowUp):
    """Agents and supervisors that are being removed may have no work left."""


@fact
class CheckUnserved(FollowUp):
    """Who may take from a queue may have changed: ask a person about work that nobody may take."""

    of_leaving: bool = False
    """Only queues of leaving agents are concerned."""


@fact
class ActOnAnswer(FollowUp):
    """An escalation was answered: carry out the answer."""

    event: EscalationAnswered


@fact
class CheckBudget(FollowUp):
    """Spending or limits of a task, run, agent or supervisor changed."""

    subject: str
    reporter: str | None = None
    """The task that has reported a finished step or was resumed, if that is the reason."""


@fact
class ReturnItems(FollowUp):
    """A supervisor can start nothing now, or was moved: return the shared items that it has taken but not begun."""

    supervisor_id: str


FOLLOWUPS: tuple[type[FollowUp], ...] = facts_of(FollowUp, globals())
"""Every class of follow-up."""
