"""Deadlines and budgets in words: the remaining time, and the spent share."""

from dashboard.views.drawing.facts import Fact
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import countdown, duration, percent, spent_text, unit
from engine.core.queries.money.budget import Budget, budgets_of, deadline_of
from engine.core.state import State

_METER = 8
"""Cells of the meter of a budget."""
_CONSEQUENCES = {"stop": "then it stops", "ask": "then a person is asked", "fail": "then it fails"}


def limit_facts(state: State, subject_id: str, *, now_ms: int) -> list[Fact]:
    """Return the limits of an open agent, supervisor, task or run, the deadline first."""
    return [
        *_deadline(state, subject_id, now_ms),
        *(_budget(each) for each in budgets_of(state, subject_id, now_ms)),
        *_spent_limit(state, subject_id),
    ]


def _deadline(state: State, subject_id: str, now_ms: int) -> list[Fact]:
    deadline = deadline_of(state, subject_id)
    if deadline is None:
        return []
    left_ms = deadline.due_ms - now_ms
    whose = "" if deadline.own else ", inherited"
    if left_ms <= 0:
        return [Fact("deadline", f"passed {duration(-left_ms)} ago{whose}", "error", "limits")]
    tone = "warn" if deadline.own and deadline.warn_ms is None else ""
    return [Fact("deadline", f"in {duration(left_ms)}{whose}", tone, "limits")]


def _budget(budget: Budget) -> Fact:
    tone = "error" if budget.share >= 1 else "warn" if budget.warned else ""
    text = f"{spent_text(budget.spent, budget.limit, budget.name)}, {percent(budget.share)}"
    consequence = _CONSEQUENCES[budget.then] if budget.share < 1 else "spent"
    if budget.warned and budget.share < 1:
        consequence = f"warned, {consequence}"
    bar = meter(budget.share, _METER, tone=tone or "busy")
    return Fact("budget", text, tone, "limits", drawn=bar, more=consequence)


def _spent_limit(state: State, subject_id: str) -> list[Fact]:
    """Return that a budget is spent, and the consequence."""
    member = state.agents.get(subject_id) or state.supervisors.get(subject_id)
    if member is None or member.exhausted is None:
        return []
    consequence = "a person is asked" if member.held else "gets nothing more to do"
    return [Fact("spent", f"{member.exhausted}; {consequence}", "error", "limits")]


def deadline_cell(state: State, subject_id: str, now_ms: int) -> Cell:
    """Return the time until a deadline, for a column; empty for none."""
    deadline = deadline_of(state, subject_id)
    if deadline is None:
        return Cell("")
    if deadline.due_ms <= now_ms:
        return Cell("passed", "error")
    warned = deadline.own and (deadline.warn_ms is None or deadline.warn_ms <= now_ms)
    return Cell(countdown(deadline.due_ms - now_ms), "draining" if warned else "muted")


def budget_words(state: State, subject_id: str) -> Cell | None:
    """Describe the budget with the largest spent share; None unless one has reached its warning."""
    near = [budget for budget in budgets_of(state, subject_id) if budget.warned or budget.share >= budget.warn_at]
    if not near:
        return None
    worst = max(near, key=lambda budget: budget.share)
    return Cell(f"{percent(worst.share)} of its {unit(worst.name)} spent", "error" if worst.share >= 1 else "warn")
