"""Finds handlers by their annotations: the second argument of a function says which kinds it handles.

`def _run_paused(state: State, event: events.RunPaused) -> None` in a file of `fold/` folds every `RunPaused`; `A | B`
handles two kinds. So a kind is named once, where it is handled. Annotations are compared as objects: quoted ones, or
those under `from __future__ import annotations`, are not found. Every function with the annotations of a handler is
taken for one, so a helper needs other annotations.

`tests/unit/test_handlers.py` checks that every kind has a handler.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import FunctionType
from typing import Any, TypeAlias, get_args

from engine.core.state import State

Handlers: TypeAlias = dict[type, Callable[..., Any]]


def handlers_in(
    files: Iterable[Mapping[str, Any]], kinds: Collection[type], *extra_hints: Any, result_hint: Any
) -> Handlers:
    """Return the function of some files that handles each kind.

    Args:
        files: The `vars` of modules; imported functions are ignored.
        kinds: The classes that may be handled.
        extra_hints: Annotations of the required arguments after the state and the handled object; arguments with a
            default are ignored.
        result_hint: The annotation of the result.

    Raises:
        TypeError: If two functions handle one kind.
    """
    handlers: Handlers = {}
    for file in files:
        for function in file.values():
            if not isinstance(function, FunctionType) or function.__module__ != file["__name__"]:
                continue
            required = function.__code__.co_argcount - len(function.__defaults__ or ())
            hints = list(function.__annotations__.values())
            signature = [required, hints[0], *hints[2:required], hints[-1]]
            if signature != [len(extra_hints) + 2, State, *extra_hints, result_hint]:
                continue
            handled = get_args(hints[1]) or (hints[1],)
            if any(kind not in kinds for kind in handled):
                continue
            for kind in handled:
                if handlers.setdefault(kind, function) is not function:
                    both = " and ".join(f"{each.__module__}.{each.__name__}" for each in (handlers[kind], function))
                    raise TypeError(f"{kind.__name__} has two handlers, {both}; a helper needs other annotations")
    return handlers
