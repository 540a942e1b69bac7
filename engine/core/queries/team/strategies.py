"""Which coordination strategies there are, and what they ask for; those of installed packages once they are loaded."""

from engine.core.strategies import STRATEGIES


def known_strategies() -> dict[str, str]:
    """Return what every strategy does, in one line each, by name."""
    return {name: strategy.about for name, strategy in STRATEGIES.items()}


def describe_settings(name: str) -> str:
    """Return the settings that a strategy knows, in the words of its own check; empty for an unknown one."""
    strategy = STRATEGIES.get(name)
    return ((strategy.check.__doc__ if strategy is not None else "") or "").strip().partition("\n")[0]
