"""Coordination strategies, one per file; `wiring` says what one is. See docs/semantics/strategies.md."""

from collections.abc import Mapping, Sequence

from engine.core.errors import UnknownStrategy
from engine.core.records.records import JsonValue
from engine.core.strategies.conditional import Conditional
from engine.core.strategies.delegate import Delegate
from engine.core.strategies.graph import DrawnGraph
from engine.core.strategies.hierarchical_review import HierarchicalReview
from engine.core.strategies.iterative_refinement import IterativeRefinement
from engine.core.strategies.map import Map
from engine.core.strategies.parallel import Parallel
from engine.core.strategies.parallel_then_synthesis import ParallelThenSynthesis
from engine.core.strategies.sequential import Sequential
from engine.core.strategies.sequential_with_validation import SequentialWithValidation
from engine.core.strategies.wiring import Strategy

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Sequential(),
        Parallel(),
        ParallelThenSynthesis(),
        SequentialWithValidation(),
        IterativeRefinement(),
        HierarchicalReview(),
        Conditional(),
        Delegate(),
        Map(),
        DrawnGraph(),
    )
}
"""Every strategy by its name; strategies of installed packages are added when a program begins."""
BUILT_IN = frozenset(STRATEGIES)


def strategy_named(name: str) -> Strategy:
    """Return a strategy by its name; raises UnknownStrategy, with the known names, if there is none."""
    if name not in STRATEGIES:
        raise UnknownStrategy(name, sorted(STRATEGIES))
    return STRATEGIES[name]


def is_sparse(name: str) -> bool:
    """Return whether a strategy may leave members out; True for one that does not say, and for one that is gone."""
    return getattr(STRATEGIES.get(name), "is_sparse", True)


def check_settings(name: str, settings: Mapping[str, JsonValue], member_names: Sequence[str] = ()) -> None:
    """Check `settings` against the strategy `name`.

    Settings for the strategies of categories stand in objects under the names of these strategies.

    Args:
        settings: As written.
        member_names: Names of the supervisor's members; empty leaves names unchecked.

    Raises:
        UnknownStrategy: If there is no such strategy.
        Refused: At the first unknown or invalid setting.
    """
    others = {key: value for key, value in settings.items() if key in STRATEGIES and isinstance(value, dict)}
    strategy_named(name).check(settings_for(name, settings, name), member_names)
    for other, value in others.items():
        if isinstance(value, dict) and other != name:
            STRATEGIES[other].check(value, member_names)


def settings_for(name: str, settings: Mapping[str, JsonValue], mode: str) -> dict[str, JsonValue]:
    """Return the settings for the strategy `name` of a supervisor whose own strategy is `mode`."""
    under = settings.get(name)
    if isinstance(under, dict):
        return dict(under)
    if name != mode:
        return {}
    return {key: value for key, value in settings.items() if not (key in STRATEGIES and isinstance(value, dict))}
