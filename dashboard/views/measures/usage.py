"""Tokens and money in tables: two columns, for teams whose usage is known."""

from collections.abc import Iterable
from decimal import Decimal
from typing import TypeVar

from dashboard.views.drawing.rows import Cell, Column
from dashboard.views.words.amounts import is_known, money, tokens
from engine.core.records.values import Usage
from engine.core.state import State, Task

Amount = TypeVar("Amount", int, Decimal)
TOKENS = Column("TOKENS", 9, right=True, drop=3)
COST = Column("COST", 8, right=True, drop=1)
USAGE_COLUMNS = (TOKENS, COST)
"""In a narrow window the cost is dropped last."""


def is_metered(state: State) -> bool:
    """Tell whether any usage of a team is known."""
    return any(is_known(root.usage) for root in state.roots)


def usage_cells(usage: Usage | None) -> tuple[Cell, Cell]:
    """Return the cells of `USAGE_COLUMNS`."""
    return Cell(tokens(usage), "muted"), Cell(money(usage), "" if is_known(usage) else "muted")


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
