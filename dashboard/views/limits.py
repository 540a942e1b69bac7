"""Deadlines and budgets in words: what is left of the time, and how much of what may be spent is."""

from decimal import Decimal
from typing import NamedTuple

from dashboard.views.amounts import duration, percent
from engine.core.budget import Budget, budgets_of, deadline_of
from engine.core.state import State


class LimitLine(NamedTuple):
    """One limit of an agent, a task, a run or a supervisor."""

    label: str
    text: str
    tone: str


_UNITS = {"attempts": "attempts", "time_s": "s of work", "tokens": "tokens", "cost_usd": "USD"}


def limit_lines(state: State, subject_id: str, *, now_ms: int) -> list[LimitLine]:
    """Return what limits something that is open, the deadline first; nothing where nothing does."""
    return [
        *_deadline(state, subject_id, now_ms),
        *(_budget(each) for each in budgets_of(state, subject_id, now_ms)),
        *_spent(state, subject_id),
    ]


def _deadline(state: State, subject_id: str, now_ms: int) -> list[LimitLine]:
    found = deadline_of(state, subject_id)
    if found is None:
        return []
    left_ms = found.due_ms - now_ms
    whose = "" if found.own else ", that of what it is part of"
    if left_ms <= 0:
        return [LimitLine("deadline", f"passed {duration(-left_ms)} ago{whose}", "error")]
    tone = "warn" if found.own and found.warn_ms is None else ""
    return [LimitLine("deadline", f"in {duration(left_ms)}{whose}", tone)]


def _budget(budget: Budget) -> LimitLine:
    spent, limit = number(budget.spent), number(budget.limit)
    tone = "error" if budget.share >= 1 else "warn" if budget.warned else ""
    return LimitLine("budget", f"{spent} of {limit} {_UNITS[budget.name]}, {percent(budget.share)}", tone)


def _spent(state: State, subject_id: str) -> list[LimitLine]:
    """Say that a budget is spent and what that means."""
    found = state.agents.get(subject_id) or state.supervisors.get(subject_id)
    if found is None or found.exhausted is None:
        return []
    then = "a person is asked" if found.held else "gets nothing more to do"
    return [LimitLine("spent", f"{found.exhausted}; {then}", "error")]


def number(amount: Decimal) -> str:
    """Return an amount as people write it."""
    return f"{amount.normalize():,f}"
