"""Strategies of packages that are installed: found by their entry points in the group `quarterdeck.strategies`.

Called once where a program begins. One rule holds inside: a package that cannot be loaded is told in one line, and
takes nothing with it.

    [project.entry-points."quarterdeck.strategies"]
    relay = "relay.strategy:Relay"
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from engine.core.strategies import BUILT_IN, STRATEGIES
from engine.core.strategies.wiring import Strategy

GROUP = "quarterdeck.strategies"
NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""What names of strategies look like."""


def load_strategies(points: Iterable[EntryPoint] | None = None) -> list[str]:
    """Make the strategies of installed packages known, beside those that are built in.

    An entry point names a class without arguments, or an instance, with what `engine.core.strategies.wiring.Strategy`
    asks for; `is_sparse` may be missing and is then True. Called again it changes nothing.

    Args:
        points: Where to look; None is what is installed.

    Returns:
        A line for each that cannot be used, which says why; the others are in `STRATEGIES`.
    """
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
    """Make the strategies of installed packages known, once in a process; return what cannot be used, in lines."""
    return tuple(load_strategies())


def _register(loaded: object, point: EntryPoint) -> str | None:
    """Make one strategy known; return what is wrong with it, if something is."""
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
