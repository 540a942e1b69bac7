"""The public Python names, line by line: what `quarterdeck` exports, with parameters, members and bases.

Also what a package with a strategy of its own imports and defines. Modules stand here only where the documents tell
others to import from them.
"""

import dis
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, get_args, get_type_hints

from msgspec import NODEFAULT, Struct

import quarterdeck
from engine.core.strategies.wiring import Strategy
from engine.platform.strategies_plugins import GROUP
from engine.runtimes.base import Runtime
from tests.contract.frozen_records import fields_of, persisted_records, reached, spelled_value

ROOT = Path(__file__).resolve().parents[2]
STRATEGY_PAGE = ROOT / "docs/semantics/strategies.md"
_PACKAGES = ("dashboard", "engine", "quarterdeck", "store")
_INTERNAL = frozenset({"gives", "template", "verdict", "whose"})
"""Members for the engine alone: words of messages, and what failure policies decide."""
_DESCRIPTORS = (property, cached_property, classmethod, staticmethod)


def python_lines() -> Iterator[str]:
    """Every exported name with its parameters and members."""
    exported = {name: getattr(quarterdeck, name) for name in quarterdeck.__all__}
    known = {*exported.values(), *persisted_records()}
    for name, thing in exported.items():
        if isinstance(thing, type):
            yield from class_lines(name, thing)
            yield from _result_lines(name, thing, known)
        elif callable(thing):
            yield from _function_lines(name, thing)
        else:
            yield f"{name}: {thing}"


def plugin_lines() -> Iterator[str]:
    """What other packages import and define: strategies, as the page about them says, and the protocol of runtimes."""
    yield f"entry points {GROUP}"
    example = STRATEGY_PAGE.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    things: dict[str, Any] = {"Strategy": Strategy, "Runtime": Runtime}
    for module, names in re.findall(r"^from (engine\S*) import (.+)$", example, re.MULTILINE):
        yield from (f"from {module} import {name}" for name in names.split(", "))
        things |= {name: getattr(import_module(module), name) for name in names.split(", ")}
    classes = [thing for thing in things.values() if isinstance(thing, type)]
    records = [thing for thing in classes if issubclass(thing, Struct)]
    parts = [part for part in reached(*records) if issubclass(part, Struct)]
    for thing in dict.fromkeys([*classes, *parts]):
        yield from class_lines(thing.__name__, thing)


def class_lines(name: str, cls: type) -> Iterator[str]:
    """A class with its bases, the parameters that build it, and its public members."""
    bases = [base.__name__ for base in cls.__mro__[1:] if base in vars(quarterdeck).values() or _is_builtin(base)]
    yield f"{name} is {', '.join(bases)}" if bases else name
    if not getattr(cls, "_is_protocol", False):
        yield from _function_lines(name, cls)
    for member, thing in _members(cls).items():
        yield from _member_lines(f"{name}.{member}", thing)


def _is_builtin(base: type) -> bool:
    return base not in (object, BaseException) and base.__module__ == "builtins"


def _our_bases(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if base.__module__.partition(".")[0] in _PACKAGES]


def _members(cls: type) -> dict[str, Any]:
    """The public members of a class that are ours: None for an attribute, else what defines it."""
    members: dict[str, Any] = {}
    for base in reversed(_our_bases(cls)):
        members |= dict.fromkeys([*vars(base).get("__annotations__", ()), *_attributes_set_in(base)])
        members |= {
            name: thing if isinstance(thing, (FunctionType, *_DESCRIPTORS)) else None
            for name, thing in vars(base).items()
        }
    return {
        name: thing for name, thing in sorted(members.items()) if not name.startswith("_") and name not in _INTERNAL
    }


def _attributes_set_in(cls: type) -> set[str]:
    """The attributes that `__init__` sets."""
    init = vars(cls).get("__init__")
    if not isinstance(init, FunctionType):
        return set()
    return {str(each.argval) for each in dis.get_instructions(init) if each.opname == "STORE_ATTR"}


def _member_lines(name: str, thing: Any) -> Iterator[str]:
    """A method with its parameters, or what else a member is."""
    if isinstance(thing, property | cached_property):
        yield f"{name}: property{'' if getattr(thing, 'fset', None) is None else ', can be set'}"
    elif isinstance(thing, classmethod | staticmethod):
        yield f"{name}: {type(thing).__name__}"
        yield from _function_lines(name, thing.__func__)
    elif isinstance(thing, FunctionType):
        yield from _function_lines(name, thing)
    else:
        yield f"{name}: attribute"


def _function_lines(name: str, function: Any) -> Iterator[str]:
    """Each parameter of what can be called: its place, or that it goes by name alone, and its default."""
    if isinstance(function, FunctionType):
        yield f"{name}: {_kind_of(function)}"
    for place, parameter in enumerate(_parameters(function)):
        default = "" if parameter.default is parameter.empty else f", default {_shown(parameter.default)}"
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield f"{name}(*): any number"
        elif parameter.kind is parameter.VAR_KEYWORD:
            words = [word for each in get_args(parameter.annotation)[:1] for word in each.__annotations__]
            yield from (f"{name}({word}): by name, may be left out" for word in words)
        elif not parameter.name.startswith("_"):
            how = "by name" if parameter.kind is parameter.KEYWORD_ONLY else f"place {place + 1}"
            yield f"{name}({parameter.name}): {how}{default}"


def _parameters(function: Any) -> list[inspect.Parameter]:
    if isinstance(function, type) and issubclass(function, Struct):
        defaults = {field.name: field.default for field in fields_of(function)}
        given = function.__signature__.parameters.values()
        return [
            each.replace(default=each.empty if defaults[each.name] is NODEFAULT else defaults[each.name])
            for each in given
        ]
    if isinstance(function, type) and not any("__init__" in vars(base) for base in _our_bases(function)):
        return []
    parameters = list(inspect.signature(function).parameters.values())
    return parameters[1:] if parameters and parameters[0].name in ("self", "cls") else parameters


def _shown(default: object) -> str:
    """A default as a program would write it; a function is one of the system."""
    if isinstance(default, Struct):
        return spelled_value(default)
    if callable(default):
        return "a function"
    return repr(default.value if isinstance(default, Enum) else default)


def _kind_of(function: FunctionType) -> str:
    if inspect.isasyncgenfunction(function):
        return "async generator"
    return "coroutine" if inspect.iscoroutinefunction(function) else "function"


def _result_lines(name: str, cls: type, known: set[Any]) -> Iterator[str]:
    """What can be read of the results of methods, and of attributes, whose classes are not exported."""
    hints = {member: hint for base in reversed(_our_bases(cls)) for member, hint in _hints(base).items()}
    hints |= {member: _hints(_function_of(thing)).get("return") for member, thing in _members(cls).items() if thing}
    for member, hint in hints.items():
        for result in _our_classes(hint):
            if result not in known and member in _members(cls):
                yield from (f"{name}.{member} has {part}" for part in _members(result))


def _function_of(thing: Any) -> Any:
    if isinstance(thing, property):
        return thing.fget
    return thing.func if isinstance(thing, cached_property) else getattr(thing, "__func__", thing)


def _hints(thing: Any) -> dict[str, Any]:
    """The types of a class or function; those of imports for checkers alone are looked up among what is loaded."""
    found: dict[str, Any] = {}
    while True:
        try:
            return get_type_hints(thing, localns=found)
        except NameError as error:
            found[str(error.name)] = Any


def _our_classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.partition(".")[0] in _PACKAGES and not issubclass(hint, Enum):
        yield hint
    for part in get_args(hint):
        yield from _our_classes(part)
