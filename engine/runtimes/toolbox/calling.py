"""One call of a tool: its concurrency limit, its record before the call if it must not run twice, and its timeout."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import anyio

from engine.core.records.records import JsonValue
from engine.errors import AgentCrashed, AttemptInterrupted, EngineError, NotJson, ToolRejected, TooManyValues
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.tools import KEY, ToolOptions, takes_key
from engine.runtimes.toolbox.call_limit import CallLimit
from engine.runtimes.toolbox.call_value import CallValue
from engine.runtimes.values import json_value, with_class

MAX_FAULTS = 5
"""Wrong arguments that a message names."""


class BadArguments(EngineError):
    """Arguments of a call do not fit the schema of the tool; one line, for the model."""


class ToolError(EngineError):
    """A tool call failed; the model gets this one line in place of a result."""


class ToolTimeout(ToolError):
    """A tool call exceeded its timeout.

    Attributes:
        name: The tool.
        timeout_s: The timeout in seconds.
    """

    def __init__(self, name: str, timeout_s: float) -> None:
        super().__init__(f"tool {name!r} took longer than its {timeout_s:g} s; what it does may still happen")
        self.name = name
        self.timeout_s = timeout_s


class CalledTool(Protocol):
    """The properties of a tool that a call needs."""

    @property
    def name(self) -> str:
        """Its name in the spec."""

    @property
    def options(self) -> ToolOptions:
        """The options that its author declared."""

    @property
    def call_limit(self) -> CallLimit:
        """Its limit on concurrent calls."""


async def perform_call(work: Work, tool: CalledTool, call: Callable[[], Any], *, key: str) -> JsonValue:
    """Return the result of a tool call as JSON; the caller records the end of the call.

    Args:
        work: The calling attempt; it holds a slot.
        call: The call itself: an async function, or a plain one that runs in a thread.
        key: Key of the step.

    Raises:
        ToolTimeout: If it exceeds its timeout.
        NotJson: If its result cannot be represented in JSON.
        AttemptInterrupted: If the attempt is asked to stop before the call begins.
        ToolError: If it raises a `BaseException` such as `SystemExit`.
        Exception: Any other error that the tool raises.
    """
    async with tool.call_limit.enter(work):
        if not tool.options.idempotent:
            await work.tool_began(tool.name, key)
        elif takes_key(call):
            call = partial(call, **{KEY: f"{work.effect.task_id}:{key}"})
        with work.limits.step(f"tool:{tool.name}"), _limit_time(tool.name, tool.options.timeout_s), _translate_exits():
            return output_of(await call_user_code(work, call))


@contextmanager
def _translate_exits() -> Iterator[None]:
    """Turn a `BaseException` of a tool, such as that of `sys.exit`, into a `ToolError`.

    A cancelled call is not translated, because its outcome is unknown.
    """
    try:
        yield
    except (Exception, AttemptInterrupted, GeneratorExit, anyio.get_cancelled_exc_class()):
        raise
    except BaseException as error:
        raise ToolError(with_class(error)) from error


async def wait_for_approval(
    work: Work,
    name: str,
    options: ToolOptions,
    value: Callable[[], Awaitable[CallValue]],
    *,
    version: str | None = None,
) -> None:
    """Return once a tool may be called; a person is asked if the agent's spec, or else the tool's author, requires it.

    Args:
        name: Name of the tool in the spec.
        options: The options that its author declared.
        value: Returns the arguments of the call.
        version: Standing permissions hold for this version of the tool only.

    Raises:
        ToolRejected: If the call is rejected.
        AttemptInterrupted: If the attempt is asked to stop meanwhile.
    """
    rule = work.spec.approve.get(name, options.approve)
    if rule != "never":
        call = await value()
        tool = name if version is None else f"{name}#{version}"
        await work.questions.approve(tool, call.arguments, rule, is_exact=call.is_exact)


@contextmanager
def translate_tool_errors() -> Iterator[None]:
    """Turn errors of a tool into `ToolError`; errors that end the attempt or the agent pass through."""
    try:
        yield
    except (ToolError, AttemptInterrupted, AgentCrashed):
        raise
    except ToolRejected as error:
        raise ToolError(str(error)) from error
    except NotJson as error:
        raise ToolError(f"its result cannot be told: {error}") from error
    except Exception as error:  # user code may raise anything; the model gets the error
        raise ToolError(with_class(error)) from error


@contextmanager
def _limit_time(name: str, limit_s: float | None) -> Iterator[None]:
    with anyio.move_on_after(limit_s) as scope:
        yield
    if scope.cancelled_caught and limit_s is not None:
        raise ToolTimeout(name, limit_s)


def output_of(value: object) -> JsonValue:
    """Return the result of a tool as JSON; dataclasses, pydantic models and dates are converted by pydantic.

    Raises:
        NotJson: If it cannot be represented in JSON.
    """
    try:
        return json_value(value)
    except TooManyValues:
        raise
    except NotJson as error:
        from pydantic_core import PydanticSerializationError, to_jsonable_python

        try:
            return json_value(to_jsonable_python(value))
        except (PydanticSerializationError, ValueError, RecursionError):
            raise error from None


async def call_user_code(work: Work, call: Callable[[], Any]) -> Any:
    """Call a user's callable: awaited if it is async, in a thread if it is not."""
    result = call() if is_async(call) else await work.in_thread(call)
    return await result if inspect.isawaitable(result) else result


def is_async(call: Callable[..., Any]) -> bool:
    """Return True when calling `call` gives a coroutine."""
    while isinstance(call, partial):
        call = call.func
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
