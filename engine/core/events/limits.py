"""Events of deadlines and budgets: set, warned about, passed or exhausted, extended."""

from decimal import Decimal
from typing import Literal

from engine.core.events.base import Event, RunEvent
from engine.core.records.records import fact, shared_fields


@shared_fields
class DeadlineEvent(RunEvent):
    """An event of a deadline."""

    __slots__ = ()
    task_id: str | None
    """The task whose deadline it is; None for that of the whole run."""


@shared_fields
class BudgetEvent(Event):
    """An event of a budget."""

    __slots__ = ()
    subject: str
    """Id of the task, run, agent or supervisor whose budget it is."""
    run_id: str | None
    task_id: str | None


@fact
class DeadlineSet(DeadlineEvent):
    """The deadline of a run or a task was set or removed."""

    deadline_ms: int | None
    """UTC milliseconds; None removes its own deadline, but not the inherited one."""
    after_ms: int | None
    """Milliseconds from setting it until the deadline."""
    warn_ms: int | None
    """When to warn, UTC milliseconds."""


@fact
class DeadlineWarned(DeadlineEvent):
    """The warning time of a deadline was reached."""

    deadline_ms: int


@fact
class DeadlinePassed(DeadlineEvent):
    """A deadline passed: tasks not started end, attempts at work stop at their next step, results are kept."""

    ended: list[str]
    """Tasks that ended at once, because no attempt of them was at work."""
    stopping: list[str]
    """Tasks whose attempts are asked to stop."""
    grace_due_ms: int | None
    """When those attempts are aborted, UTC milliseconds; None if none is at work."""
    error: str
    """The error of the run or task."""


@fact
class GraceEnded(DeadlineEvent):
    """Attempts that were asked to stop did not reach a step within the grace period, and are aborted."""

    stopping: list[str]
    """Tasks whose attempts are aborted."""


@fact
class BudgetWarned(BudgetEvent):
    """Spending reached the warning share of a budget."""

    agent_id: str | None
    amount: Literal["attempts", "time_s", "tokens", "cost_usd"]
    spent: Decimal
    limit: Decimal


@fact
class BudgetReached(BudgetEvent):
    """Attempts at work have spent a budget: they stop at their next step, and one that returns before that is done.

    The budget ends nothing yet: `BudgetExhausted` follows only if some of the work is left undone.
    """

    agent_id: str | None
    amount: Literal["attempts", "time_s", "tokens", "cost_usd"]
    spent: Decimal
    limit: Decimal
    then: Literal["stop", "ask", "fail"]
    """With `fail` the attempts are aborted, all but that of `reporter`."""
    stopping: list[str]
    """Tasks whose attempts are asked to stop."""
    reporter: str | None
    """The task whose step has spent the rest: its attempt may return until its next step."""
    grace_ms: int
    """How long those attempts may run to their next step, in milliseconds."""


@fact
class BudgetExhausted(BudgetEvent):
    """A budget is exhausted: work that spends it stops, and no more of it starts."""

    agent_id: str | None
    amount: Literal["attempts", "time_s", "tokens", "cost_usd"]
    spent: Decimal
    limit: Decimal
    then: Literal["stop", "ask", "fail"]
    """`stop` ends the work at its next step, `ask` pauses it there until a person decides, `fail` aborts it."""
    ended: list[str]
    """Tasks that ended at once, because no attempt of them was at work."""
    stopping: list[str]
    """Tasks whose attempts are asked to stop."""
    grace_ms: int
    """How long those attempts may run to their next step, in milliseconds."""
    error: str
    """The error of tasks that end because of it."""
    needs: Decimal = Decimal(0)
    """Estimated need of the next model call, if that exceeds what is left; 0 if the budget is fully spent."""
    reporter: str | None = None
    """The task whose step has spent the rest: its attempt stops at its next step, also with `fail`."""


@fact
class BudgetExtended(BudgetEvent):
    """A budget has something left again, because a person extended it or its limit was changed."""

    agent_id: str | None
    amount: Literal["attempts", "time_s", "tokens", "cost_usd"] | None
    """The amount that was extended; None if the limit was changed."""
    granted: int
    """How often the original limit was granted again, in all."""
    limit: Decimal | None
    """The limit that holds now."""
    raised: Decimal = Decimal(0)
    """What a person has added to the limit besides, in all."""


@fact
class BudgetTimed(BudgetEvent):
    """A time budget will be exhausted at `due_ms` if its current attempts continue."""

    due_ms: int | None
    """None if no attempt is at work."""
