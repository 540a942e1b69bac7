"""Facts about deadlines and budgets: set, warned about, passed or spent, extended."""

from decimal import Decimal
from typing import Literal

from engine.core.events.base import EventBase, RunEvent
from engine.core.records import fact, shared_fields


@shared_fields
class DeadlineEvent(RunEvent):
    """An event of a deadline."""

    __slots__ = ()
    task_id: str | None
    """The task whose deadline it is; None for that of the whole run."""


@shared_fields
class BudgetEvent(EventBase):
    """An event of a budget."""

    __slots__ = ()
    subject: str
    """Id of the task, run, agent or supervisor whose budget it is."""
    run_id: str | None
    task_id: str | None


@fact
class DeadlineSet(DeadlineEvent):
    """A run or a task has to have ended by a moment; or need not any more."""

    type: Literal["deadline_set"] = "deadline_set"
    deadline_ms: int | None
    """None takes its own deadline away; that of what it is part of stays."""
    after_ms: int | None
    """How long that is from the moment when it was set."""
    warn_ms: int | None
    """When it is warned about."""


@fact
class DeadlineWarned(DeadlineEvent):
    """Most of the time until a deadline is over."""

    type: Literal["deadline_warned"] = "deadline_warned"
    deadline_ms: int


@fact
class DeadlinePassed(DeadlineEvent):
    """Time is up: what had not started ended, what is at work stops at its next step, and what is done is kept."""

    type: Literal["deadline_passed"] = "deadline_passed"
    ended: list[str]
    """Tasks that ended at once because nothing of them was at work."""
    stopping: list[str]
    """Tasks whose attempts are asked to stop."""
    grace_due_ms: int | None
    """When those are stopped where they are; None where nothing is at work."""
    error: str
    """What is said of the run or the task."""


@fact
class GraceEnded(DeadlineEvent):
    """What was asked to stop at its next step has not come to one; it is stopped where it is."""

    type: Literal["grace_ended"] = "grace_ended"
    stopping: list[str]
    """Tasks whose attempts are stopped now."""


@fact
class BudgetWarned(BudgetEvent):
    """Most of a budget is spent."""

    type: Literal["budget_warned"] = "budget_warned"
    agent_id: str | None
    amount: Literal["attempts", "time_s", "tokens", "cost_usd"]
    spent: Decimal
    limit: Decimal


@fact
class BudgetExhausted(BudgetEvent):
    """A budget is spent: what spends it stops, and nothing more of it starts."""

    type: Literal["budget_exhausted"] = "budget_exhausted"
    agent_id: str | None
    amount: Literal["attempts", "time_s", "tokens", "cost_usd"]
    spent: Decimal
    limit: Decimal
    then: Literal["stop", "ask", "fail"]
    """`stop`: at the next step, for good. `ask`: at the next step, until a person has decided. `fail`: now."""
    ended: list[str]
    """Tasks that ended at once because nothing of them was at work."""
    stopping: list[str]
    """Tasks whose attempts are asked to stop."""
    grace_ms: int
    """How long those may go on to their next step."""
    error: str
    """What is said of what ends because of it."""
    needs: Decimal = Decimal(0)
    """What the next call of a model would take, where the budget is not spent and that is more than what is left."""


@fact
class BudgetExtended(BudgetEvent):
    """There is something left of a budget again: a person granted more, or it was set anew."""

    type: Literal["budget_extended"] = "budget_extended"
    agent_id: str | None
    amount: Literal["attempts", "time_s", "tokens", "cost_usd"] | None
    """What was granted; None where the budget was set anew."""
    granted: int
    """How many times the amount, on top of the first, in all."""
    limit: Decimal | None
    """What may be spent now."""


@fact
class BudgetTimed(BudgetEvent):
    """A budget of time will be spent at a moment, if what is at work goes on."""

    type: Literal["budget_timed"] = "budget_timed"
    due_ms: int | None
    """None where nothing is at work."""
