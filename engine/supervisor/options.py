"""Options of a supervisor: what is misspelled and what this version does not do is said, never swallowed."""

import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from engine.core.commands import Command
from engine.core.errors import Refused
from engine.core.options import SupervisorOptions
from engine.core.validation.records import check_arguments, checked
from engine.errors import CommandRefusedError
from engine.supervisor.errors import NotInThisVersion, UnknownOption

P = ParamSpec("P")
T = TypeVar("T")


def refuse_unknown(where: str, unknown: Mapping[str, object], function: Callable[..., Any]) -> None:
    """Pass where nothing unknown was given.

    Args:
        where: What was called, for the message.
        unknown: What it was given besides its own options.
        function: Its signature has the names that there are.

    Raises:
        UnknownOption: With the names that are nearest.
    """
    for name in unknown:
        known = [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
        raise UnknownOption(where, name, known)


def refuse_later_features(*, enable_auto_evolution: bool) -> None:
    """Pass where nothing is asked for that this version does not do.

    Raises:
        NotInThisVersion: With what to do instead.
    """
    if enable_auto_evolution:
        raise NotInThisVersion("enable_auto_evolution", "look at get_supervision_metrics and change the team yourself")


def checks_arguments(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Have a method refuse arguments that are not of its annotated types, before it looks into them.

    For methods that read their arguments before a command is made of them; `checked_command` checks the command.
    """
    signature = inspect.signature(method)

    @wraps(method)
    async def call(*args: P.args, **named: P.kwargs) -> T:
        with refusals():
            check_arguments(method.__name__, method, signature.bind(*args, **named).arguments)
        return await method(*args, **named)

    return call


def checked_command(make: Callable[[], Command]) -> Command:
    """Return the command that a call makes, with every value in it checked, before anything looks into it.

    Raises:
        CommandRefusedError: If a value cannot be right.
    """
    with refusals():
        command = make()
        return checked(command, str(command.type))


@contextmanager
def refusals() -> Iterator[None]:
    """Raise what the core refuses as what a program catches."""
    try:
        yield
    except Refused as refused:
        raise CommandRefusedError(refused.code, refused.reason) from refused


def merged_options(options: SupervisorOptions | None, **named: Any) -> SupervisorOptions:
    """Return `options` with those that were named by themselves; an empty one is none.

    Raises:
        ValueError: If a number cannot be right.
    """
    return replace(options or SupervisorOptions(), **{name: value for name, value in named.items() if value})
