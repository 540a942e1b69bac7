"""Tokens and money in tables: two columns, which are there where any are known."""

from dashboard.views.amounts import is_known, money, tokens
from dashboard.views.rows import Cell, Column
from engine.core.state import State
from engine.core.values import Usage

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
