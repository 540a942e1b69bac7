"""Deadlines and budgets in words: the remaining time, and the spent share."""

from typing import NamedTuple

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import countdown, duration, percent, spent_text, unit
from engine.core.queries.money.budget import Budget, budgets_of, deadline_of
from engine.core.state import State


class LimitLine(NamedTuple):
    """One limit of an agent, a task, a run or a supervisor."""

    label: str
    text: str
    tone: str
    share: float | None = None
    """Spent share of a budget; None if the limit is not a budget."""
    consequence: str = ""
    """What happens when the budget is spent."""

    @property
    def bar_text(self) -> str:
        """The text of a budget after a bar, with the consequence."""
        if self.share is None:
            return self.text
        full = min(BAR_WIDTH, round(self.share * BAR_WIDTH))
        return f"{'█' * full}{'░' * (BAR_WIDTH - full)}  {self.text}; {self.consequence}"


BAR_WIDTH = 16
"""Characters of a bar."""
_CONSEQUENCES = {"stop": "then it stops", "ask": "then a person is asked", "fail": "then it fails"}


def limit_lines(state: State, subject_id: str, *, now_ms: int) -> list[LimitLine]:
    """Return the limits of an open object, the deadline first."""
    return [
        *_deadline(state, subject_id, now_ms),
        *(_budget(each) for each in budgets_of(state, subject_id, now_ms)),
        *_spent_limit(state, subject_id),
    ]


def _deadline(state: State, subject_id: str, now_ms: int) -> list[LimitLine]:
    deadline = deadline_of(state, subject_id)
    if deadline is None:
        return []
    left_ms = deadline.due_ms - now_ms
    whose = "" if deadline.own else ", inherited"
    if left_ms <= 0:
        return [LimitLine("deadline", f"passed {duration(-left_ms)} ago{whose}", "error")]
    tone = "warn" if deadline.own and deadline.warn_ms is None else ""
    return [LimitLine("deadline", f"in {duration(left_ms)}{whose}", tone)]


def _budget(budget: Budget) -> LimitLine:
    tone = "error" if budget.share >= 1 else "warn" if budget.warned else ""
    text = f"{spent_text(budget.spent, budget.limit, budget.name)}, {percent(budget.share)}"
    consequence = _CONSEQUENCES[budget.then] if budget.share < 1 else "spent"
    return LimitLine(
        "budget",
        text,
        tone,
        budget.share,
        f"warned, {consequence}" if budget.warned and consequence != "spent" else consequence,
    )


def _spent_limit(state: State, subject_id: str) -> list[LimitLine]:
    """Return that a budget is spent, and the consequence."""
    member = state.agents.get(subject_id) or state.supervisors.get(subject_id)
    if member is None or member.exhausted is None:
        return []
    consequence = "a person is asked" if member.held else "gets nothing more to do"
    return [LimitLine("spent", f"{member.exhausted}; {consequence}", "error")]


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
