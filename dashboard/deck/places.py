"""The list of screens: every file in `screens` is a place, every file in `pages` shows one object.

They are discovered by file name and imported when first opened, so that a new screen is one file, and the first frame
does not wait for closed screens.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

HOME = "network"
_ORDER = (
    "network",
    "graph",
    "timeline",
    "metrics",
    "tasks",
    "events",
    "runs",
    "inbox",
    "state",
    "agents",
    "audit",
    "engines",
    "log",
    "teams",
    "costs",
    "catalogue",
    "memory",
    "recipes",
)
"""Places with a fixed key, in the order of the keys; any other place gets the next key."""
_NUMBERS = "1234567890"
_FUNCTION_KEYS = ("f4", "f7", "f8", "f9", "f10", *(f"f{number}" for number in range(13, 25)))
"""Keys of the places after `_NUMBERS`. The app uses f1 and f2, browsers f3, f5, f6, f11 and f12; terminals send f13 and
above for shift with f1 and so on.
"""
SHORT = {"network": "net", "timeline": "time"}
"""Short names for narrow tabs; with them all tabs fit into 80 columns."""
_DASHBOARD = Path(__file__).resolve().parents[1]


@cache
def places() -> tuple[str, ...]:
    """Return the names of all places, those with a number key first."""
    screen_names = _files("screens")
    return tuple(name for name in dict.fromkeys((*_ORDER, *screen_names)) if name in screen_names)


@cache
def keys() -> dict[str, str]:
    """Return the key of each place, a number or a function key, as far as there are keys."""
    names = dict.fromkeys((*_ORDER, *places()))
    return {name: key for name, key in zip(names, (*_NUMBERS, *_FUNCTION_KEYS), strict=False) if name in places()}


@cache
def tabs() -> dict[str, str]:
    """Return the places that have a number key, each with its key."""
    return {name: key for name, key in keys().items() if key in _NUMBERS}


@cache
def pages() -> tuple[str, ...]:
    """Return the names of the pages about one object."""
    return _files("pages")


def screen_class_of(package: str, name: str) -> Any:
    """Return `SCREEN` of a place, or `PAGE` of the page about one kind of object."""
    module = import_module(f"dashboard.{package}.{name}")
    return module.SCREEN if package == "screens" else module.PAGE


def _files(package: str) -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in (_DASHBOARD / package).glob("*.py") if file.stem != "__init__"))
