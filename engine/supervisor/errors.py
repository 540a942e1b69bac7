"""What can go wrong between a program and its supervisor, one class per decision that a caller can take."""

from collections.abc import Iterable
from difflib import get_close_matches

from engine.errors import EngineError


class UnknownOption(EngineError, TypeError):
    """Something was given an option that it does not have.

    Attributes:
        name: The option.
    """

    def __init__(self, where: str, name: str, known: Iterable[str]) -> None:
        names = list(known)
        near = get_close_matches(name, names, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names)}"
        super().__init__(f"{where} has no option {name!r}; {hint}")
        self.name = name


class NotInThisVersion(EngineError):
    """Something was asked for that this version of Quarterdeck does not do.

    Attributes:
        feature: What was asked for.
    """

    def __init__(self, feature: str, instead: str) -> None:
        super().__init__(f"{feature} is not part of this version; {instead}")
        self.feature = feature


class NotRunning(EngineError):
    """Work was handed over without an engine that would go on with it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"supervisor {name!r} is not running, so nobody would work on it;"
            " submit inside 'async with supervisor:', or use arun"
        )


class NotEmpty(EngineError):
    """A state was to be taken in by a supervisor that runs or has worked, or whose database holds a team."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"supervisor {name!r} runs, has worked, or its store holds a team;"
            " take a state into a new one with a new store, before 'async with'"
        )


class AlreadyStarted(EngineError):
    """A supervisor that has an engine or a store of its own was to join another."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"supervisor {name!r} has worked, runs, or has a store of its own, so it cannot join another;"
            " join it before its first request and without store="
        )


class WrongLoop(EngineError, RuntimeError):
    """A supervisor was called from one event loop while it is in use from another."""

    def __init__(self, what: str, thread: str, instead: str) -> None:
        super().__init__(
            f"{what} is in use from the event loop of thread {thread!r} and cannot be called from another; {instead}"
        )
