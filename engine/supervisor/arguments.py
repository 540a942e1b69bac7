"""Arguments of a supervisor's methods: what is misspelled or cannot be right is refused, never swallowed."""

from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from engine.core.commands import Command
from engine.core.errors import BadValue, Refused
from engine.core.spec import AgentSpec
from engine.core.validation.records import check_arguments, checked
from engine.core.validation.rules import shown
from engine.errors import CommandRefusedError, UnknownOption
from engine.registry import SpecifiedAgent

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def refusals() -> Iterator[None]:
    """Raise what the core refuses as what a program catches."""
    try:
        yield
    except Refused as refused:
        raise CommandRefusedError(refused.code, refused.reason) from refused


def check_names(where: str, given: Iterable[str], known: Collection[str]) -> None:
    """Check that all options exist.

    Raises:
        UnknownOption: For the first that does not, with the nearest names.
    """
    for name in given:
        if name not in known:
            raise UnknownOption(where, name, known)


def checks_arguments(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Refuse arguments that are not of the annotated types, before a method looks into them.

    For methods that read their arguments before a command is made of them; `checked_command` checks the command.
    """
    parameters = signature(method)

    @wraps(method)
    async def call(*args: P.args, **named: P.kwargs) -> T:
        with refusals():
            check_arguments(method.__name__, method, parameters.bind(*args, **named).arguments)
        return await method(*args, **named)

    return call


def checked_command(make: Callable[[], Command]) -> Command:
    """Return the command that a call makes, with every value in it checked.

    Raises:
        CommandRefusedError: If a value cannot be right.
    """
    with refusals():
        command = make()
        return checked(command, str(command.type))


def spec_of(agent: AgentSpec | SpecifiedAgent) -> AgentSpec:
    """Return the spec of what a program passes as an agent.

    Raises:
        BadValue: If it is no agent.
    """
    spec = agent.spec if isinstance(agent, SpecifiedAgent) else agent
    if not isinstance(spec, AgentSpec):
        raise BadValue("an agent", (), f"must be AgentSpec(…), not {shown(spec)}")
    return spec
