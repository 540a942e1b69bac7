"""Declaration of tools with `@tool`. See docs/reference/tools.md."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, overload

from engine.core.errors import Refused
from engine.core.records.records import JsonValue
from engine.core.specs.approval import check_approval
from engine.core.validation.bounds import MAX_DURATION_S
from engine.errors import Unusable

F = TypeVar("F", bound=Callable[..., Any])

KEY = "idempotency_key"
"""Name of the parameter in which an idempotent tool receives the id of its step, if it has one."""
_OPTIONS = "__tool__"


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """Options that the author of a tool declares."""

    name: str | None = None
    """Its name; None is the name of the function."""
    approve: JsonValue = "never"
    """When a person is asked before it is called: `never`, `always`, or a guard over its arguments."""
    timeout_s: float | None = None
    """Time limit of a call, in seconds."""
    at_once: int | None = None
    """Limit on concurrent calls in one engine."""
    idempotent: bool = False
    """Whether it may be called again with the same arguments."""


@overload
def tool(name: F) -> F: ...
@overload
def tool(
    name: str | None = None,
    *,
    approve: JsonValue = "never",
    timeout_s: float | None = None,
    at_once: int | None = None,
    idempotent: bool = False,
) -> Callable[[F], F]: ...
def tool(
    name: Any = None,
    *,
    approve: JsonValue = "never",
    timeout_s: float | None = None,
    at_once: int | None = None,
    idempotent: bool = False,
) -> Any:
    """Declare how a function is called as a tool; `@tool` alone changes nothing.

    Args:
        name: Its name; by default the name of the function.
        approve: When a person is asked first: `never`, `always`, or a guard over its arguments, such as
            `{"json": "account", "equals": "main"}`. A rule under `approve` in an agent's spec takes precedence.
        timeout_s: Time limit of a call, in seconds; after it the call ends with an error.
        at_once: Limit on concurrent calls in one engine; others wait.
        idempotent: It may be called again with the same arguments: after a crash it is called again without asking a
            person. If it has a parameter `idempotency_key`, it receives the id of the step.

    Raises:
        Unusable: If an option is invalid, or the object cannot be marked.
    """
    if callable(name):
        return declare(name)
    _check(name, timeout_s, at_once)
    if approve != "never":
        _check_rule(approve)
    return partial(
        declare,
        name=name,
        approve=approve,
        timeout_s=None if timeout_s is None else float(timeout_s),
        at_once=at_once,
        idempotent=idempotent,
    )


def idempotent(tool: F) -> F:
    """Declare a tool idempotent; the same as `@tool(idempotent=True)`."""
    return declare(tool, idempotent=True)


def declare(function: F, **options: Any) -> F:
    """Add declared options to a function, and return it.

    Raises:
        Unusable: If the object takes no attributes.
    """
    try:
        setattr(function, _OPTIONS, replace(options_of(function), **options))
    except (AttributeError, TypeError):
        raise Unusable(f"{function!r:.60} cannot be marked as a tool; write a function that calls it") from None
    return function


def options_of(function: Callable[..., Any]) -> ToolOptions:
    """Return the declared options of a function."""
    while isinstance(function, partial) and not hasattr(function, _OPTIONS):
        function = function.func
    options = getattr(function, _OPTIONS, None)
    return options if isinstance(options, ToolOptions) else ToolOptions()


def takes_key(call: Callable[..., Any]) -> bool:
    """Return True if a call of an idempotent tool has a free `idempotency_key` parameter."""
    if not isinstance(call, partial) or not options_of(call.func).idempotent or KEY in call.keywords:
        return False
    try:
        return KEY in inspect.signature(call.func).parameters
    except (TypeError, ValueError):
        return False  # written in C, without a signature


def _check_rule(rule: JsonValue) -> None:
    try:
        check_approval("@tool: approve", rule)
    except Refused as refused:
        raise Unusable(refused.reason) from refused


def _check(name: object, timeout_s: object, at_once: object) -> None:
    if name is not None and not isinstance(name, str):
        raise Unusable(f"@tool: name must be a text, not {name!r:.60}")
    if timeout_s is not None and not (_is_number(timeout_s) and 0 < float(str(timeout_s)) <= MAX_DURATION_S):
        raise Unusable(f"@tool: timeout_s must be a number of seconds above 0, not {timeout_s!r:.60}")
    if at_once is not None and not (isinstance(at_once, int) and not isinstance(at_once, bool) and at_once >= 1):
        raise Unusable(f"@tool: at_once must be a whole number, 1 or more, not {at_once!r:.60}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
