"""Which screens there are: every file in `screens` is a place, every file in `pages` shows one object.

They are found by the names of their files and imported when they are first opened, so that a new screen is one file
and the first frame does not wait for those that are not open.
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
)
"""The places whose key never changes, in the order of the keys. A new one need not be here: it gets the next key."""
_NUMBERS = "1234567890"
_FUNCTION_KEYS = ("f4", "f7", "f8", "f9", "f10", *(f"f{number}" for number in range(13, 25)))
"""Of the places behind those with a number. The app has f1 and f2, a browser f3, f5, f6, f11 and f12; from f13 on
terminals send them for shift with f1 and so on.
"""
SHORT = {"network": "net", "timeline": "time"}
"""What tabs call a place where their names have no room: so much shorter all of them fit into 80 columns."""
_DASHBOARD = Path(__file__).resolve().parents[1]


@cache
def places() -> tuple[str, ...]:
    """Return the names of all places, those with a number key first."""
    screen_names = _files("screens")
    return tuple(name for name in dict.fromkeys((*_ORDER, *screen_names)) if name in screen_names)


@cache
def keys() -> dict[str, str]:
    """Return the key of every place, while there are keys: a number, else a function key."""
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
