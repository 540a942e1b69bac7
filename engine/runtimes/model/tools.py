"""What a model may call: the protocol of a tool, and how a call becomes one recorded step.

Rule: a call ends in exactly one recorded outcome, its result or its error; neither is made again. The step of a tool
that must not be called twice is announced before it begins, so that an engine that dies in the middle of it knows.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, get_type_hints

from engine.core.fact import JsonValue
from engine.core.signals import StepFinished
from engine.models.records import ToolSchema
from engine.runtimes.context import called
from engine.runtimes.task import as_text
from engine.runtimes.tools import KEY, is_idempotent, takes_key
from engine.runtimes.values import json_value, shown_input, with_class
from engine.runtimes.work import Work, of_attempt

Arguments = Mapping[str, JsonValue]


class Tool(Protocol):
    """A tool that a model may call; the loop records its calls."""

    @property
    def name(self) -> str:
        """What the model calls it: letters, digits, `_` and `-`."""

    @property
    def description(self) -> str:
        """What it does, for the model."""

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        """The JSON Schema of its arguments, an object."""

    @property
    def idempotent(self) -> bool:
        """Whether it may be called twice without harm."""

    async def call(self, work: Work, arguments: Arguments, key: str) -> JsonValue:
        """Call it and return its result; what it raises is the result's error.

        Args:
            work: The attempt that calls.
            arguments: An object, as the model wrote it: what does not fit `parameters` is the tool's to refuse.
            key: The key of the step, the same one when an idempotent tool is called again.
        """


class FunctionTool:
    """A function of the user's own, called with what the model says by the names of its arguments."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name = name
        self.description = inspect.getdoc(function) or ""
        self.idempotent = is_idempotent(function)
        self.parameters = _parameters(function)
        self._function = function

    async def call(self, work: Work, arguments: Arguments, key: str) -> JsonValue:
        """Call the function: in the loop where it is async, else in a thread."""
        call: Callable[[], Any] = partial(self._function, **arguments)
        if takes_key(call):
            call = partial(call, **{KEY: f"{work.effect.task_id}:{key}"})
        return json_value(await called(work, call))


_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


def _parameters(function: Callable[..., Any]) -> dict[str, JsonValue]:
    """Return what the signature of a function says of its arguments."""
    signature, hints = inspect.signature(function), get_type_hints(function)
    taken = [
        one
        for one in signature.parameters.values()
        if one.name != KEY and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    properties: dict[str, JsonValue] = {one.name: _schema(hints.get(one.name)) for one in taken}
    required: list[JsonValue] = [one.name for one in taken if one.default is one.empty]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _schema(hint: Any) -> dict[str, JsonValue]:
    kind = _JSON_TYPES.get(getattr(hint, "__origin__", hint))
    return {} if kind is None else {"type": kind}


def schema_of(tool: Tool) -> ToolSchema:
    """Return a tool as a model is told of it."""
    return ToolSchema(name=tool.name, description=tool.description, parameters=tool.parameters)


def result_text(result: JsonValue) -> str:
    """Return a result as a model reads it."""
    return as_text(result)


def error_result(error: str, **besides: JsonValue) -> dict[str, JsonValue]:
    """Return the result of a call that did not come about: what went wrong, and what the model may do instead."""
    return {"error": error, **besides}


async def called_tool(work: Work, tool: Tool, arguments: Arguments, key: str) -> JsonValue:
    """Call a tool once, as a recorded step, and return its result; one that is recorded is answered from there."""
    if work.is_recorded(key):
        return await work.recorded(key)
    async with work.step():
        began_ms = work.now_ms()
        if not tool.idempotent:
            await work.tool_began(tool.name, key)
        work.tool_started(tool.name, dict(arguments))
        with work.step_limit(tool.name):
            try:
                result = await tool.call(work, arguments, key)
            except Exception as error:  # the tool is the user's: what it raised is its outcome, and the model's to read
                result = error_result(with_class(error))
        work.tool_ended(tool.name, result)
        await work.record(tool_step(work, tool.name, key, arguments=arguments, result=result, began_ms=began_ms))
    return result


def tool_step(
    work: Work, name: str, key: str, *, arguments: Arguments, result: JsonValue, began_ms: int
) -> StepFinished:
    """Return what records a call of a tool."""
    return StepFinished(
        **of_attempt(work.effect),
        what="tool",
        name=f"tool:{name}",
        key=key,
        input=shown_input(dict(arguments)),
        output=result,
        duration_ms=work.now_ms() - began_ms,
        usage=work.take_spent(),
    )
