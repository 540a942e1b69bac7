"""Deadlines and budgets in words: the time that is left, and the share of a budget that is spent."""

from typing import NamedTuple

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import duration, left, percent, spent_of, unit
from engine.core.queries.money.budget import Budget, budgets_of, deadline_of
from engine.core.state import State


class LimitLine(NamedTuple):
    """One limit of an agent, a task, a run or a supervisor."""

    label: str
    text: str
    tone: str
    share: float | None = None
    """How much of a budget is spent; None of what is none."""
    then: str = ""
    """What happens at its end."""

    @property
    def drawn(self) -> str:
        """Its text behind a bar, with what happens at the end."""
        if self.share is None:
            return self.text
        full = min(BAR, round(self.share * BAR))
        return f"{'█' * full}{'░' * (BAR - full)}  {self.text}; {self.then}"


BAR = 16
"""Characters of a bar."""
_THEN = {"stop": "then it stops", "ask": "then a person is asked", "fail": "then it fails"}


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
    whose = "" if found.own else ", inherited"
    if left_ms <= 0:
        return [LimitLine("deadline", f"passed {duration(-left_ms)} ago{whose}", "error")]
    tone = "warn" if found.own and found.warn_ms is None else ""
    return [LimitLine("deadline", f"in {duration(left_ms)}{whose}", tone)]


def _budget(budget: Budget) -> LimitLine:
    tone = "error" if budget.share >= 1 else "warn" if budget.warned else ""
    text = f"{spent_of(budget.spent, budget.limit, budget.name)}, {percent(budget.share)}"
    then = _THEN[budget.then] if budget.share < 1 else "spent"
    return LimitLine(
        "budget", text, tone, budget.share, f"warned, {then}" if budget.warned and then != "spent" else then
    )


def _spent(state: State, subject_id: str) -> list[LimitLine]:
    """Say that a budget is spent and what that means."""
    found = state.agents.get(subject_id) or state.supervisors.get(subject_id)
    if found is None or found.exhausted is None:
        return []
    then = "a person is asked" if found.held else "gets nothing more to do"
    return [LimitLine("spent", f"{found.exhausted}; {then}", "error")]


def due(state: State, subject_id: str, now_ms: int) -> Cell:
    """Return the time that is left until a deadline, for a column; empty where there is none."""
    found = deadline_of(state, subject_id)
    if found is None:
        return Cell("")
    if found.due_ms <= now_ms:
        return Cell("passed", "error")
    warned = found.own and (found.warn_ms is None or found.warn_ms <= now_ms)
    return Cell(left(found.due_ms - now_ms), "draining" if warned else "muted")


def budget_words(state: State, subject_id: str) -> Cell | None:
    """Return the budget that is nearest to its end in a few words; None while none is near."""
    near = [one for one in budgets_of(state, subject_id) if one.warned or one.share >= one.warn_at]
    if not near:
        return None
    worst = max(near, key=lambda one: one.share)
    return Cell(f"{percent(worst.share)} of its {unit(worst.name)} spent", "error" if worst.share >= 1 else "warn")
