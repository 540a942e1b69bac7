"""Tools for models: their protocol, and how a call becomes one recorded step.

Rule: a call ends in exactly one recorded outcome, its result or its error; neither is made again. The step of a tool
that must not be called twice is announced before it begins, so that an engine that dies in the middle of it knows.
"""

from collections.abc import Mapping
from typing import Protocol

from engine.core.records.records import JsonValue
from engine.errors import AgentCrashed
from engine.models.records import ToolSchema
from engine.runtimes.attempts.work import Work
from engine.runtimes.toolbox.calling import ToolError
from engine.runtimes.values import one_line

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

    async def call(self, work: Work, arguments: Arguments, key: str) -> JsonValue:
        """Call it and return its result.

        A tool that must not be called twice announces itself (`Work.tool_began`) before it begins.

        Args:
            arguments: An object, as the model wrote it: what does not fit `parameters` is the tool's to refuse.
            key: The key of the step, the same one when an idempotent tool is called again.

        Raises:
            ToolError: If there is no result; the model is told why.
            AgentCrashed: If it says that the agent broke down; the call has ended all the same.
        """


def schema_of(tool: Tool) -> ToolSchema:
    """Return a tool as a model is told of it."""
    return ToolSchema(name=tool.name, description=tool.description, parameters=tool.parameters)


def error_result(error: str, **details: JsonValue) -> dict[str, JsonValue]:
    """Return the result of a call that did not come about: what went wrong, and what the model may do instead."""
    return {"error": error, **details}


def object_schema(optional: Arguments | None = None, /, **needed: JsonValue) -> dict[str, JsonValue]:
    """Return the JSON Schema of an object with properties that are needed, and others that are not."""
    properties = {**needed, **(optional or {})}
    return {"type": "object", "properties": properties, "required": [*needed], "additionalProperties": False}


async def call_tool(work: Work, tool: Tool, arguments: Arguments, key: str) -> JsonValue:
    """Call a tool once, as a recorded step, and return its result."""
    async with work.slot.step():
        began_ms = work.attempt.now_ms()
        work.live.tool_started(tool.name, dict(arguments))
        try:
            result = await tool.call(work, arguments, key)
        except ToolError as error:
            result = error_result(str(error))
        except AgentCrashed as crash:  # the call has ended, and the attempt ends with it
            work.live.tool_ended(tool.name, one_line(crash))
            await work.tool_raised(key, crash)
            raise
        work.live.tool_ended(tool.name, result)
        step_input = dict(arguments)
        await work.attempt.record(
            work.finished_step("tool", f"tool:{tool.name}", key, result, step_input=step_input, began_ms=began_ms)
        )
    return result
