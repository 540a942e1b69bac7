"""Tokens and money in tables, for teams whose usage is known."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import TypeVar

from dashboard.views.drawing.facts import Fact
from dashboard.views.drawing.lines import Span
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import UNKNOWN, cost_text, count, is_known, money, short_money, tokens
from engine.core.queries.money.spending import cost_budget
from engine.core.records.values import Usage
from engine.core.state import State, Task

Amount = TypeVar("Amount", int, Decimal)
USAGE_TITLES = ("TOKENS", "COST")
"""Columns that a list has only if usage is known."""


def is_metered(state: State) -> bool:
    """Return whether any usage of a team is known."""
    return any(is_known(root.usage) for root in state.roots)


def budget_spans(state: State, width: int) -> tuple[Span, ...]:
    """Return what a team has spent, as `$0.54 ━━━── of $2.00`; without a budget the sum alone, empty without any.

    Args:
        width: Cells of the meter; 0 leaves it out.
    """
    if not is_metered(state):
        return ()
    budget = cost_budget(state)
    if budget is None:
        text = cost_text(state.usage)
        return () if text == UNKNOWN else (Span(text, "strong"),)
    tone = "error" if budget.share >= 1 else "draining" if budget.share >= budget.warn_at else "busy"
    picture = (*meter(budget.share, width, tone=tone), Span(" ")) if width else ()
    unpriced = "≥" if state.usage.unpriced else ""
    spent = Span(f"{unpriced}{short_money(budget.spent)} ", "strong" if width else tone)
    return (spent, *picture, Span(f"of {short_money(budget.limit)}", "muted"))


def tokens_cell(usage: Usage | None) -> Cell:
    """Return tokens for a column."""
    return Cell(tokens(usage), "muted")


def cost_cell(usage: Usage | None) -> Cell:
    """Return money for a column."""
    return Cell(money(usage), "" if is_known(usage) else "muted")


def tokens_rank(usage: Usage | None) -> int:
    """Return the sort key of tokens, the most first."""
    return -((usage.tokens_in or 0) + (usage.tokens_out or 0)) if usage is not None else 0


def cost_rank(usage: Usage | None) -> float:
    """Return the sort key of money, the most first."""
    return -float(usage.cost_usd or 0) if usage is not None else 0.0


def usage_facts(usage: Usage) -> Iterator[Fact]:
    """Yield the tokens and the cost of an agent, a supervisor, a task or a run, as far as they are known."""
    if not is_known(usage):
        return
    yield Fact("in", count(usage.tokens_in), "strong", "tokens", rank=1)
    yield Fact("out", count(usage.tokens_out), "strong", "tokens", rank=1)
    if usage.tokens_cached:
        yield Fact("cached", count(usage.tokens_cached), "strong", "tokens", rank=8)
    yield Fact("cost", cost_text(usage), "strong", "cost", rank=2)


def own_usage(state: State, task: Task) -> Usage | None:
    """Return the usage of a task without delegated tasks, which have rows of their own.

    A difference of zero counts as unknown.
    """
    children = [state.tasks[child] for child in task.children if child in state.tasks]
    whole, below = task.usage, [child.usage for child in children if child.usage is not None]
    if whole is None or not below:
        return whole
    return Usage(
        tokens_in=_subtract(whole.tokens_in, [usage.tokens_in for usage in below]),
        tokens_out=_subtract(whole.tokens_out, [usage.tokens_out for usage in below]),
        tokens_cached=_subtract(whole.tokens_cached, [usage.tokens_cached for usage in below]),
        cost_usd=_subtract(whole.cost_usd, [usage.cost_usd for usage in below]),
        time_ms=whole.time_ms - sum(usage.time_ms for usage in below),
        unpriced=whole.unpriced,
    )


def _subtract(whole: Amount | None, parts: Iterable[Amount | None]) -> Amount | None:
    if whole is None:
        return None
    for part in parts:
        whole -= part or 0
    return whole or None
