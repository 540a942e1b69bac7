"""The coordination strategies and their settings; those of installed packages once they are loaded."""

from engine.core.strategies import STRATEGIES


def known_strategies() -> dict[str, str]:
    """Return a one-line description of every strategy, by name."""
    return {name: strategy.about for name, strategy in STRATEGIES.items()}


def describe_settings(name: str) -> str:
    """Return the settings of a strategy, from the docstring of its `check`; empty for an unknown strategy."""
    strategy = STRATEGIES.get(name)
    return ((strategy.check.__doc__ if strategy is not None else "") or "").strip().partition("\n")[0]
