"""Tools for models: their protocol, and how a call becomes one recorded step.

Rule: a call ends with exactly one recorded outcome, its result or its error, and is not repeated. The call of a tool
that must not run twice is journaled before it begins, so that the next engine knows about an interrupted one.
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
        """Its name for the model: letters, digits, `_` and `-`."""

    @property
    def description(self) -> str:
        """Its description for the model."""

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        """The JSON Schema of its arguments, an object."""

    async def call(self, work: Work, arguments: Arguments, key: str) -> JsonValue:
        """Call it and return its result.

        A tool that must not run twice calls `Work.tool_began` before it begins.

        Args:
            arguments: The object that the model wrote; the tool itself checks it against `parameters`.
            key: Key of the step; the same when an idempotent tool is called again.

        Raises:
            ToolError: If there is no result; the model gets the reason.
            AgentCrashed: If the tool raised it; the call has ended.
        """


def schema_of(tool: Tool) -> ToolSchema:
    """Return the schema of a tool for a model."""
    return ToolSchema(name=tool.name, description=tool.description, parameters=tool.parameters)


def error_result(error: str, **details: JsonValue) -> dict[str, JsonValue]:
    """Return the result of a failed call: the error, and details with which the model can correct it."""
    return {"error": error, **details}


def object_schema(optional: Arguments | None = None, /, **needed: JsonValue) -> dict[str, JsonValue]:
    """Return the JSON Schema of an object with required and optional properties."""
    properties = {**needed, **(optional or {})}
    return {"type": "object", "properties": properties, "required": [*needed], "additionalProperties": False}


async def call_tool(work: Work, tool: Tool, arguments: Arguments, key: str) -> JsonValue:
    """Call a tool once, as a recorded step, and return its result."""
    async with work.slot.step("tool", f"tool:{tool.name}"):
        began_ms = work.attempt.now_ms()
        work.live.tool_started(tool.name, dict(arguments))
        try:
            result = await tool.call(work, arguments, key)
        except ToolError as error:
            result = error_result(str(error))
        except AgentCrashed as crash:  # ends the call and the attempt
            work.live.tool_ended(tool.name, one_line(crash))
            await work.tool_raised(key, crash)
            raise
        work.live.tool_ended(tool.name, result)
        step_input = dict(arguments)
        await work.attempt.record(
            work.finished_step("tool", f"tool:{tool.name}", key, result, step_input=step_input, began_ms=began_ms)
        )
    return result
