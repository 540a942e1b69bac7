"""Sentences about deadlines and budgets."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from dashboard.views.amounts import counted, duration
from dashboard.views.names import Names
from engine.core.events import (
    AttemptSetAside,
    BudgetExhausted,
    BudgetExtended,
    BudgetTimed,
    BudgetWarned,
    DeadlinePassed,
    DeadlineSet,
    DeadlineWarned,
    GraceEnded,
)


def _what(run_id: str, task_id: str | None, names: Names) -> str:
    return f"run {names.of(run_id)}" if task_id is None else f"task {names.of(task_id)}"


def _set(event: DeadlineSet, names: Names) -> str:
    what = _what(event.run_id, event.task_id, names)
    if event.after_ms is None:
        return f"{what} has no deadline of its own any more"
    return f"{what} has to have ended in {duration(event.after_ms)}"


def _warned(event: DeadlineWarned, names: Names) -> str:
    left_ms = max(0, event.deadline_ms - event.at_ms)
    return f"{_what(event.run_id, event.task_id, names)} has {duration(left_ms)} left until its deadline"


def _passed(event: DeadlinePassed, names: Names) -> str:
    what = _what(event.run_id, event.task_id, names)
    return f"{what}: {event.error}; {len(event.ended)} ended, {len(event.stopping)} stopping"


def _grace(event: GraceEnded, names: Names) -> str:
    what = _what(event.run_id, event.task_id, names)
    if not event.stopping:
        return f"{what} has come to rest after its deadline"
    return f"{what} did not stop in time: {counted(len(event.stopping), 'attempt')} ended where it was"


_UNITS = {"attempts": "attempts", "time_s": "s of work", "tokens": "tokens", "cost_usd": "USD", None: ""}
_THEN = {"stop": "it stops", "ask": "a person is asked", "fail": "it ends now"}


def _amount(amount: Decimal | None, unit: str | None) -> str:
    return "" if amount is None else f"{amount.normalize():,f} {_UNITS[unit]}".rstrip()


def _budget_warned(event: BudgetWarned, names: Names) -> str:
    spent = f"{event.spent.normalize():,f} of {_amount(event.limit, event.amount)}"
    return f"{names.of(event.subject)} has spent {spent}"


def _budget_exhausted(event: BudgetExhausted, names: Names) -> str:
    return f"{names.of(event.subject)}: {event.error}; {_THEN[event.then]}"


def _budget_extended(event: BudgetExtended, names: Names) -> str:
    if event.amount is None:
        return f"{names.of(event.subject)} goes on: its budget was changed"
    return f"{names.of(event.subject)} goes on: it may spend {_amount(event.limit, event.amount)} in all"


def _budget_timed(event: BudgetTimed, names: Names) -> str:
    if event.due_ms is None:
        return f"{names.of(event.subject)} spends no time now"
    left_ms = max(0, event.due_ms - event.at_ms)
    return f"{names.of(event.subject)} has spent its time in {duration(left_ms)}, as it works now"


def _set_aside(event: AttemptSetAside, names: Names) -> str:
    return f"{names.of(event.agent_id)} laid {names.of(event.task_id)} aside: a budget is spent"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    DeadlineSet: _set,
    DeadlineWarned: _warned,
    DeadlinePassed: _passed,
    GraceEnded: _grace,
    BudgetWarned: _budget_warned,
    BudgetExhausted: _budget_exhausted,
    BudgetExtended: _budget_extended,
    BudgetTimed: _budget_timed,
    AttemptSetAside: _set_aside,
}
