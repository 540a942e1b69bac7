"""Tokens and money in tables: two columns, which are there where any are known."""

from decimal import Decimal
from typing import TypeVar

from dashboard.views.amounts import is_known, money, tokens
from dashboard.views.rows import Cell, Column
from engine.core.state import State, Task
from engine.core.values import Usage

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
    whole = task.usage
    for child in task.children if whole is not None else ():
        if child in state.tasks and (below := state.tasks[child].usage) is not None and whole is not None:
            whole = Usage(
                tokens_in=_less(whole.tokens_in, below.tokens_in), tokens_out=_less(whole.tokens_out, below.tokens_out),
                tokens_cached=_less(whole.tokens_cached, below.tokens_cached),
                cost_usd=_less(whole.cost_usd, below.cost_usd), time_ms=whole.time_ms - below.time_ms,
            )  # fmt: skip
    return whole


def _less(whole: Amount | None, part: Amount | None) -> Amount | None:
    return whole if whole is None or part is None else whole - part or None
