"""Loads strategies of installed packages by their entry points in the group `quarterdeck.strategies`.

Rule: a package that cannot be loaded is reported in one line, and does not affect the others.

    [project.entry-points."quarterdeck.strategies"]
    relay = "relay.strategy:Relay"
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from engine.core.strategies import BUILT_IN, STRATEGIES
from engine.core.strategies.wiring import Strategy

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "quarterdeck.strategies"
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""Pattern of names of strategies."""


def load_strategies(points: "Iterable[EntryPoint] | None" = None) -> list[str]:
    """Register the strategies of installed packages in `STRATEGIES`; a second call changes nothing.

    An entry point names a class without arguments, or an instance, that implements
    `engine.core.strategies.wiring.Strategy`; `is_sparse` may be missing and is then True.

    Args:
        points: Entry points; None takes those of the installed packages.

    Returns:
        A line for each strategy that cannot be used, with the reason.
    """
    from importlib.metadata import entry_points  # 20 ms

    faults = []
    for point in entry_points(group=GROUP) if points is None else points:
        try:
            fault = _register(point.load(), point)
        except Exception as error:  # importing a foreign package may raise anything
            fault = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        if fault is not None:
            package = point.dist.name if point.dist is not None else point.value
            faults.append(f"the strategy {point.name!r} of {package} cannot be used: {fault}")
    return faults


@cache
def installed_strategies() -> tuple[str, ...]:
    """Register the strategies of installed packages once in a process; return a line for each unusable one."""
    return tuple(load_strategies())


def _register(loaded: object, point: "EntryPoint") -> str | None:
    """Register one strategy; return its fault, or None."""
    candidate = loaded() if isinstance(loaded, type) else loaded
    missing = [name for name in ("check", "wire", "grow") if not callable(getattr(candidate, name, None))]
    if missing:
        return f"it has no {missing[0]}"
    name, about = getattr(candidate, "name", None), getattr(candidate, "about", None)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        return f"{name!r:.60} is not a name for a strategy; use small letters, digits and '_'"
    if not isinstance(about, str) or not about.strip():
        return "it has no about, the line that says what it does"
    is_sparse = getattr(candidate, "is_sparse", True)
    if not isinstance(is_sparse, bool):
        return f"its is_sparse is {is_sparse!r:.60}; it is true or false"
    if name in BUILT_IN:
        return f"{name} is built in; choose another name"
    registered = STRATEGIES.get(name)
    if registered is not None and type(registered).__qualname__ != type(candidate).__qualname__:
        return f"there is a strategy {name} already, {type(registered).__module__}:{type(registered).__qualname__}"
    strategy: Strategy = candidate  # type: ignore[assignment]
    STRATEGIES[name] = strategy
    return None
