"""Tokens and money in tables: two columns, which are there where any are known."""

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
USED = (TOKENS, COST)
"""In a narrow window the money stays longest."""


def is_metered(state: State) -> bool:
    """Tell whether anything in a team was paid for, or at least counted."""
    return any(is_known(root.usage) for root in state.roots)


def used(usage: Usage | None) -> tuple[Cell, Cell]:
    """Return the cells of `USED`."""
    return Cell(tokens(usage), "muted"), Cell(money(usage), "" if is_known(usage) else "muted")


def own_usage(state: State, task: Task) -> Usage | None:
    """Return what a task has spent itself, without what it delegated: that has rows of its own.

    What is nothing beside what it delegated is unknown.
    """
    children = [state.tasks[child] for child in task.children if child in state.tasks]
    whole, below = task.usage, [child.usage for child in children if child.usage is not None]
    if whole is None or not below:
        return whole
    return Usage(
        tokens_in=_less(whole.tokens_in, [one.tokens_in for one in below]),
        tokens_out=_less(whole.tokens_out, [one.tokens_out for one in below]),
        tokens_cached=_less(whole.tokens_cached, [one.tokens_cached for one in below]),
        cost_usd=_less(whole.cost_usd, [one.cost_usd for one in below]),
        time_ms=whole.time_ms - sum(one.time_ms for one in below),
        unpriced=whole.unpriced,
    )


def _less(whole: Amount | None, parts: Iterable[Amount | None]) -> Amount | None:
    if whole is None:
        return None
    for part in parts:
        whole -= part or 0
    return whole or None
