"""Errors of the engine outside its core, one class per decision that a caller can take."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from engine.core.errors import did_you_mean
from engine.core.queries.team.kept import describe_conflict
from store.errors import format_message, format_path

if TYPE_CHECKING:
    from engine.memory.pages import Insight


class EngineError(Exception):
    """Base of the errors that this package raises."""

    template: ClassVar[str] = ""
    __str__ = format_message


@dataclass(eq=False)
class CommandRefusedError(EngineError):
    """The supervisor did not carry out a command, and nothing changed."""

    code: str
    """The kind of refusal, such as `unknown_agent`."""
    reason: str
    """What, why, and what to do, in one line."""
    template = "{reason}"


@dataclass(eq=False)
class HostStopped(EngineError):
    """The engine ended before it could answer."""

    reason: str
    template = "the engine has ended: {reason}"


@dataclass(eq=False)
class DiskStayedFull(EngineError):
    """The disk had no room for so long that the engine gave up; nothing that was acknowledged is lost."""

    waited_s: float
    """How long the engine retried, in seconds."""
    template = (
        "the disk has been full for {waited_s:.0f} s; free some space and start the engine again, nothing is lost"
    )


class DiskStayedBroken(DiskStayedFull):
    """The disk has reported I/O errors for so long that the engine gave up; nothing that was acknowledged is lost."""

    template = (
        "the disk has reported I/O errors for {waited_s:.0f} s; look at it and start the engine again, nothing is lost"
    )


@dataclass(eq=False)
class ToolRejected(EngineError):
    """A person rejected the call of a tool, or did not approve it in time."""

    tool: str
    template = "a person rejected the call of {tool}"


@dataclass(eq=False)
class NotShown(ToolRejected):
    """A call needs approval, but its arguments cannot be shown to a person in full."""

    reason: str
    template = "{tool} was not called: a person has to allow that, and {reason}"


@dataclass(eq=False)
class UnknownRun(EngineError):
    """The journal has no run with this id."""

    run_id: str
    template = "no run {run_id!r}; list them with: quarterdeck runs"


@dataclass(eq=False)
class OpenRun(UnknownRun):
    """An operation needs a finished run, and this one is still open."""

    template = "run {run_id!r} is still open; ask again when it has ended"


class Unusable(EngineError):
    """An agent cannot work as its spec says.

    Attributes:
        reason: What is wrong and what to do, in one line.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotImported(Unusable):
    """The module of an agent's code cannot be imported, so nothing else in it can be used either."""


class CodeChanged(Unusable):
    """The code of an agent differs from the recorded one: it was edited while no engine ran; `up` accepts it."""


class BoundElsewhere(Unusable):
    """An agent calls code that is bound to another program; it works while that program runs on the team's file.

    Attributes:
        name: Short name of the code.
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is code that a program gave to this team, and it is not here; run the program that has it,"
            " or swap the agent for one whose code is here"
        )
        self.name = name


class UnknownRuntime(Unusable):
    """No runtime is registered for an agent type.

    Attributes:
        name: The unknown type.
    """

    def __init__(self, name: str, near: Iterable[str], known: Iterable[str]) -> None:
        hint = did_you_mean(near, f"there are {', '.join(known)}")
        super().__init__(f"no runtime for the agent type {name!r}; {hint}")
        self.name = name


class NotJson(EngineError):
    """A value cannot be represented in JSON."""


@dataclass(eq=False)
class TooManyValues(NotJson):
    """An output, result or input contains too many values."""

    most: int
    """The limit."""
    template = "the value holds more than {most:,} values; write it to a file, and pass the name of that"


@dataclass(eq=False)
class DelegationFailed(EngineError):
    """A task that an agent delegated failed, or no agent is able to do it."""

    target: str
    """Name of the member, or the capability."""
    reason: str
    """Why it failed."""
    task_id: str | None = None
    """The task that failed; None if none was created."""
    template = "{target}: {reason}"


@dataclass(eq=False)
class InsightConflict(EngineError):
    """An insight was not written, because the newest version of what it supersedes is another than expected."""

    insight_id: str
    """Id of the newest version."""
    expected: int | None
    """The version that was expected."""
    current: "Insight | None"
    """The newest version; None if it is forgotten by now, or the agent may not read it."""
    template = "the newest version is {insight_id}, not version {expected}: read it, and write again with its version"


@dataclass(eq=False)
class InsightTimeout(EngineError):
    """No insight came that a wait was for."""

    due_s: float
    """How long it waited, in seconds."""
    template = "no insight matched within {due_s:g} s"


class ProcessDied(EngineError):
    """A process that ran a function ended without an answer.

    Attributes:
        killed: A signal ended it, which may have come from outside and says little about the function.
    """

    def __init__(self, text: str, *, killed: bool = False) -> None:
        super().__init__(text)
        self.killed = killed


class CallFailed(EngineError):
    """A function that ran in another process raised.

    Attributes:
        error_type: Name of the class of its exception.
        traits: Properties of the exception: `types`, `retryable`, `retry_after_s`.
    """

    def __init__(self, error_type: str, text: str, traits: Mapping[str, object] | None = None) -> None:
        super().__init__(text)
        self.error_type = error_type
        self.traits: Mapping[str, Any] = traits or {}


class PermanentFailure(EngineError):
    """Raised by an agent's code: a retry cannot help, so none is made."""

    retryable = False


class MissingCapability(PermanentFailure):
    """An agent that an agent made has a capability in its recipe that its maker has no more.

    Attributes:
        path: Names from the agent at the top down to this one.
        name: The capability.
    """

    def __init__(self, path: str, name: str) -> None:
        super().__init__(f"{path} has no {name!r} any more: give it back to its maker, or change the recipe")
        self.path = path
        self.name = name


class TaskMismatch(EngineError):
    """The input or the output of a made agent does not fit the schema of its task."""


class RecipeGone(EngineError):
    """A made agent cannot be called: its recipe, or the agent that made it, is not in the team any more."""


class RetryLater(EngineError):
    """Raised by an agent's code: a retry may succeed after some time, as after a Retry-After header.

    Any exception with a number in its attribute `retry_after_s` has the same effect.

    Attributes:
        retry_after_s: Minimum delay of the retry, in seconds.
    """

    retryable = True

    def __init__(self, after_s: float, reason: str = "") -> None:
        super().__init__(reason or f"asks to wait {after_s:g} s")
        self.retry_after_s = float(after_s)


class StateConflict(EngineError):
    """Changes of `ctx.state` were not applied, because another attempt of the agent had changed the values since.

    Raised by the step that should have carried them; `ctx.state` has the present values then, to be read and changed
    again. An attempt whose last changes are refused fails with it, and its failure policies may retry it.

    Attributes:
        keys: The keys of the changes.
    """

    retryable = True

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = list(keys)
        super().__init__(describe_conflict(self.keys))


class AgentCrashed(EngineError):
    """Raised by an agent's code: the agent failed, not the task, and has to be restarted."""


class Defect(EngineError):
    """A bug in the engine itself; the rest of the team keeps running."""


class UnknownOption(EngineError, TypeError):
    """An option does not exist.

    Attributes:
        name: The unknown option.
    """

    def __init__(self, where: str, name: str, known: Iterable[str]) -> None:
        names = list(known)
        hint = did_you_mean(get_close_matches(name, names, n=2), f"there are {', '.join(names)}")
        super().__init__(f"{where} has no option {name!r}; {hint}")
        self.name = name


@dataclass(eq=False)
class NotInThisVersion(EngineError):
    """A feature is not part of this version of Quarterdeck."""

    feature: str
    """Name of the feature."""
    instead: str
    """What to do instead."""
    template = "{feature} is not part of this version; {instead}"


class NotRunning(EngineError):
    """Work was submitted while no engine runs that would execute it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"supervisor {name!r} is not running, so nothing would work on it;"
            " submit inside 'async with supervisor:', or use arun"
        )


class NotEmpty(EngineError):
    """A state cannot be restored: the supervisor runs or has worked, or its database contains a team."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"supervisor {name!r} runs, has worked, or its store holds a team;"
            " restore the state into a new supervisor with a new store, before 'async with'"
        )


class AlreadyStarted(EngineError):
    """A supervisor cannot join another because it has started, or is kept running already."""

    def __init__(self, name: str, *, is_kept: bool = False) -> None:
        join_text = (
            "has worked, runs, is part of another, or has a store, so it cannot join another;"
            " join it before its first request and without store="
        )
        kept_text = "is kept running by another 'async with' already; call it as it is"
        super().__init__(f"supervisor {name!r} {kept_text if is_kept else join_text}")


class AttemptOver(EngineError, RuntimeError):
    """`ctx` was used after the function that received it had returned."""

    def __init__(self, agent: str, task_id: str) -> None:
        super().__init__(
            f"this ctx is of an attempt of {agent!r} at {task_id} that is over; use the one that the function is given"
        )


class BlocksLoop(EngineError, RuntimeError):
    """The `ctx` of a plain `def` was called in the engine's event loop."""

    template = (
        "the ctx of a plain def blocks, and cannot be called in the engine's event loop, where its async steps run;"
        " make the agent an async def, or the step a plain def"
    )


class BlocksPool(BlocksLoop):
    """A pool was called in its own event loop, where its async workers run."""

    template = (
        "a call of a pool blocks, and cannot be made in its own event loop, where its async workers run;"
        " make the worker a plain def, or call with anyio.to_thread.run_sync"
    )


class WrongLoop(EngineError, RuntimeError):
    """A supervisor or `ctx` was called from one event loop while it is in use from another."""

    def __init__(self, subject: str, thread: str, instead: str) -> None:
        super().__init__(
            f"{subject} is in use from the event loop of thread {thread!r} and cannot be called from another; {instead}"
        )


class ArchiveError(EngineError):
    """Base of errors about archives.

    Attributes:
        path: The file; None for a state that was passed as a value.
    """

    def __init__(self, path: Path | None, detail: str) -> None:
        super().__init__(detail if path is None else f"{format_path(path)} {detail}")
        self.path = path


class ImportRefused(ArchiveError):
    """The file is not an archive, or an inconsistent one; nothing was written."""


class ExportRefused(ArchiveError):
    """An archive cannot be written to this path; an existing file there is unchanged."""


class CatalogueError(EngineError):
    """The catalogue of the user, or what is to be added to it, cannot be used; nothing was changed."""


class AttemptInterrupted(BaseException):
    """Raised by the next call on `ctx` of an attempt that is asked to stop.

    Not an `Exception`, so that a function that handles its own errors is stopped all the same; clean up in `finally`.
    """


def first_error(error: BaseException) -> BaseException:
    """Return the first error inside nested exception groups; any other error as it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
