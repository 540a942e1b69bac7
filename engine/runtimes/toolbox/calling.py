"""Calling a tool once: how many at once, journaled before it begins where it must not be called twice, for so long."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import anyio

from engine.core.records import JsonValue
from engine.errors import AgentCrashed, AttemptInterrupted, EngineError, NotJson, ToolRejected
from engine.runtimes.toolbox.gate import Gate
from engine.runtimes.tools import KEY, ToolOptions, takes_key
from engine.runtimes.values import json_value, with_class
from engine.runtimes.work import Work


class ToolError(EngineError):
    """A call of a tool did not bring a result; one line, which a model is told in place of one."""


class ToolTimeout(ToolError):
    """A call of a tool took longer than it may.

    Attributes:
        name: The tool.
        timeout_s: How long it may take, in seconds.
    """

    def __init__(self, name: str, timeout_s: float) -> None:
        super().__init__(f"tool {name!r} took longer than its {timeout_s:g} s; what it does may still happen")
        self.name = name
        self.timeout_s = timeout_s


class Callee(Protocol):
    """What `performed` has to know of a tool."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def options(self) -> ToolOptions:
        """What is declared of it."""

    @property
    def gate(self) -> Gate:
        """How many calls of it are under way."""


async def performed(work: Work, tool: Callee, call: Callable[[], Any], *, key: str) -> JsonValue:
    """Return what a call of a tool brings, as JSON; the caller journals its end, whichever it is.

    Args:
        work: The attempt that calls; it holds a slot.
        tool: What is called.
        call: The call itself: async, or plain and then in a thread.
        key: Of the step that the call is.

    Raises:
        ToolTimeout: If it takes longer than it may.
        NotJson: If JSON cannot hold what it returns.
        AttemptInterrupted: If the attempt is asked to stop before the call begins.
        Exception: Whatever it raises.
    """
    async with tool.gate.passed(work):
        if not tool.options.idempotent:
            await work.tool_began(tool.name, key)
        elif takes_key(call):
            call = partial(call, **{KEY: f"{work.effect.task_id}:{key}"})
        with work.step_limit(f"tool:{tool.name}"), _limited(tool):
            return output_of(await called(work, call))


async def approved(
    work: Work, tool: Callee, arguments: JsonValue, *, name: str | None = None, version: str | None = None
) -> None:
    """Return when a tool may be called; a person is asked where the agent's spec says so, else where its author does.

    Args:
        work: The attempt that calls.
        tool: What is to be called.
        arguments: What with, by name.
        name: What the spec knows it by, if not by its own name.
        version: What a person allows for good is of this version of it alone.

    Raises:
        ToolRejected: If it may not.
        AttemptInterrupted: If the attempt is asked to stop meanwhile.
    """
    known = name or tool.name
    rule = work.spec.approve.get(known, tool.options.approve)
    if rule != "never":
        await work.approve(known if version is None else f"{known}#{version}", arguments, rule)


@contextmanager
def told() -> Iterator[None]:
    """Turn what a tool raises inside into a `ToolError`; what ends the attempt or the agent goes through."""
    try:
        yield
    except (ToolError, AttemptInterrupted, AgentCrashed):
        raise
    except ToolRejected as error:
        raise ToolError(str(error)) from error
    except NotJson as error:
        raise ToolError(f"its result cannot be told: {error}") from error
    except Exception as error:  # the tool is the user's: whatever it raises, the model is told
        raise ToolError(with_class(error)) from error


@contextmanager
def _limited(tool: Callee) -> Iterator[None]:
    limit_s = tool.options.timeout_s
    with anyio.move_on_after(limit_s) as scope:
        yield
    if scope.cancelled_caught and limit_s is not None:
        raise ToolTimeout(tool.name, limit_s)


def output_of(value: object) -> JsonValue:
    """Return what a tool returned as JSON; dataclasses, pydantic models, dates and the like as pydantic writes them.

    Raises:
        NotJson: If JSON cannot hold it.
    """
    try:
        return json_value(value)
    except NotJson as error:
        from pydantic_core import PydanticSerializationError, to_jsonable_python

        try:
            return json_value(to_jsonable_python(value))
        except (PydanticSerializationError, ValueError, RecursionError):
            raise error from None


async def called(work: Work, call: Callable[[], Any]) -> Any:
    """Call a user's callable: awaited if it is async, in a thread if it is not."""
    result = call() if is_async(call) else await work.in_thread(call)
    return await result if inspect.isawaitable(result) else result


def is_async(call: Callable[..., Any]) -> bool:
    """Return True when calling `call` gives a coroutine."""
    while isinstance(call, partial):
        call = call.func
    return inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
