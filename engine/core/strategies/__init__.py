"""Coordination strategies, one per file."""

from engine.core.errors import UnknownStrategy
from engine.core.strategies.parallel import Parallel
from engine.core.strategies.sequential import Sequential
from engine.core.strategies.wiring import Strategy

STRATEGIES: dict[str, Strategy] = {one.name: one for one in (Sequential(), Parallel())}
"""Every strategy by its name."""


def strategy_named(name: str) -> Strategy:
    """Return the strategy of that name.

    Raises:
        UnknownStrategy: If there is none; the message lists what there is.
    """
    if name not in STRATEGIES:
        raise UnknownStrategy(name, sorted(STRATEGIES))
    return STRATEGIES[name]
