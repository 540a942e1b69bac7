"""Tools: functions that agents call by name, and whether calling one twice does any harm."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

KEY = "idempotency_key"
"""The argument that an idempotent tool gets the id of its step in, where it takes one of that name."""


def idempotent(tool: F) -> F:
    """Declare that calling `tool` again with the same arguments does no harm.

    Such a tool is called again after a crash without asking anybody. Where it takes an argument `idempotency_key`, it
    gets the id of the step, which is the same each time.
    """
    tool.idempotent = True  # type: ignore[attr-defined]
    return tool


def is_idempotent(tool: Callable[..., Any]) -> bool:
    """Return whether a tool was declared so."""
    return getattr(tool, "idempotent", False) is True


def takes_key(call: Callable[..., Any]) -> bool:
    """Return True for a call of an idempotent tool that takes the id of its step and was not given one."""
    if not isinstance(call, partial) or not is_idempotent(call.func) or KEY in call.keywords:
        return False
    try:
        return KEY in inspect.signature(call.func).parameters
    except (TypeError, ValueError):
        return False  # written in C, and does not say
