"""No class inherits from more than three classes of ours, or has more than 40 methods with theirs: it holds parts."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache, cached_property
from types import FunctionType
from typing import NamedTuple

from tests.contract.test_names import packages

PACKAGES = packages()
MAX_BASES, MAX_METHODS = 3, 40
HANDLERS = ("action_", "on_", "watch_")
"""Beginnings of the names of methods that Textual calls by name; they do not count, nor does `compose`."""
FACADES = {
    "engine.supervisor.attached.AttachedSupervisor",
    "engine.supervisor.dynamic.DynamicSupervisor",
}
"""Classes of the Python API, whose methods are one call to a part."""
BOOKS = "engine.simulation."
"""Books of the simulation, with one method for each event."""


class ClassSize(NamedTuple):
    """How much a class is."""

    bases: int
    """Bases of ours, but for those that only declare fields."""
    methods: int
    """Methods, with those of its bases of ours."""


@cache
def functions_of(kind: type) -> set[str]:
    """Return the names of the functions and properties that a class itself defines in its source."""
    names = set()
    for name, value in [*vars(kind).items()]:
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        function = function.func if isinstance(function, cached_property) else function
        function = inspect.unwrap(function) if callable(function) else function
        if isinstance(function, FunctionType) and not function.__code__.co_filename.startswith("<"):
            names.add(name)
    return names


def classes() -> Iterator[type]:
    """Yield every class of the product."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith(("__main__", "tab_process")):  # which run when they are imported
                values = [*vars(importlib.import_module(module.name)).values()]
                yield from (kind for kind in values if isinstance(kind, type) and kind.__module__ == module.name)


def sizes() -> dict[str, ClassSize]:
    found = {}
    for kind in classes():
        own = [each for each in kind.__mro__ if each.__module__.partition(".")[0] in PACKAGES and functions_of(each)]
        names = set[str]().union(*map(functions_of, own))
        methods = [name for name in names if not name.startswith(HANDLERS) and name != "compose"]
        bases = len([each for each in own if each is not kind])
        found[f"{kind.__module__}.{kind.__qualname__}"] = ClassSize(bases, len(methods))
    return found


def test_a_class_holds_parts_in_place_of_bases() -> None:
    large = {name: size for name, size in sizes().items() if size.bases > MAX_BASES or size.methods > MAX_METHODS}

    assert {name: size for name, size in large.items() if name not in FACADES and not name.startswith(BOOKS)} == {}
