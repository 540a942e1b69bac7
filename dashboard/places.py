"""Which screens there are: every file in `screens` is a place, every file in `pages` shows one object.

They are found by the names of their files and imported when they are first opened, so that a new screen is one file
and the first frame does not wait for those that are not open.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

HOME = "network"
_TABS = ("network", "graph", "timeline", "metrics", "tasks", "events", "runs", "inbox", "state", "agents")
"""Places with a number key, 1 to 9 and 0, in the order of the tabs."""
SHORT = {"network": "net", "timeline": "time"}
"""What tabs call a place where their names have no room: so much shorter all of them fit into 80 columns."""
_FUNCTION_KEYS = {"audit": "f4", "engines": "f7", "log": "f8", "teams": "f9"}
"""Those of other places: no more than one key away either. A browser keeps f3, f5 and f6 for itself."""
_HERE = Path(__file__).resolve().parent


@cache
def places() -> tuple[str, ...]:
    """Return the names of all places, those with a number key first."""
    there = _files("screens")
    return (*(name for name in _TABS if name in there), *(name for name in there if name not in _TABS))


@cache
def tabs() -> dict[str, str]:
    """Return the places that have a number key, each with its key."""
    return {name: str((number + 1) % 10) for number, name in enumerate(_TABS) if name in places()}


@cache
def keys() -> dict[str, str]:
    """Return the key of every place that has one: a number, else a function key."""
    return tabs() | {name: key for name, key in _FUNCTION_KEYS.items() if name in places()}


@cache
def pages() -> tuple[str, ...]:
    """Return the names of the pages about one object."""
    return _files("pages")


def part_of(package: str, name: str) -> Any:
    """Return `SCREEN` of a place, or `PAGE` of the page about one kind of object."""
    module = import_module(f"dashboard.{package}.{name}")
    return module.SCREEN if package == "screens" else module.PAGE


def _files(package: str) -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in (_HERE / package).glob("*.py") if file.stem != "__init__"))
