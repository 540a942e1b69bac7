"""A Python function as a tool."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.core.records.records import JsonValue
from engine.errors import Unusable
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.tools import options_of
from engine.runtimes.toolbox.call_limit import CallLimit
from engine.runtimes.toolbox.call_value import function_value
from engine.runtimes.toolbox.calling import (
    BadArguments,
    ToolError,
    perform_call,
    translate_tool_errors,
    wait_for_approval,
)

if TYPE_CHECKING:
    from engine.runtimes.toolbox.schemas import FunctionSchema


class FunctionTool:
    """A function that agents call by name.

    Args:
        name: Its name, unless its author declares another.
        call_limit: Limits its concurrent calls.
    """

    def __init__(self, name: str, function: Callable[..., Any], call_limit: CallLimit) -> None:
        self.options = options_of(function)
        self.name = self.options.name or name
        self.function = function
        self.call_limit = call_limit
        self._function_schema: FunctionSchema | None = None

    def describe(self) -> None:
        """Build its schema, once; blocks while pydantic does so.

        Raises:
            Unusable: If no schema can be built.
        """
        from engine.runtimes.toolbox.schemas import FunctionSchema

        if self._function_schema is None:
            self._function_schema = FunctionSchema(self.name, self.function)

    @property
    def description(self) -> str:
        """Its description for a model."""
        return self._get_schema().schema.description

    @property
    def parameters(self) -> Mapping[str, JsonValue]:
        """The JSON Schema of its arguments."""
        return self._get_schema().schema.parameters

    async def call(self, work: Work, arguments: Mapping[str, JsonValue], key: str) -> JsonValue:
        """Return the result of one call by a model: `model.tools.Tool.call`."""
        with translate_tool_errors():
            positional, named = await self._bind(work, arguments)
            await self._approve(work, positional, named)
            return await perform_call(work, self, partial(self.function, *positional, **named), key=key)

    async def perform(
        self, work: Work, args: Sequence[JsonValue], named: Mapping[str, JsonValue], *, key: str
    ) -> JsonValue:
        """Return the result of a call by code; errors of the function are raised."""
        call = partial(self.function, *args, **named)
        await self._approve(work, args, named)
        try:
            return await perform_call(work, self, call, key=key)
        except Exception as error:  # user code may raise anything; an error ends the call, unlike an interruption
            if not self.options.idempotent:
                await work.tool_raised(key, error)
            raise

    async def _bind(self, work: Work, arguments: Mapping[str, JsonValue]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of the function for a call by a model; in a thread if the check runs user code."""
        described = self._get_schema()
        try:
            if described.runs_code:
                return await work.in_thread(partial(described.bind, arguments))
            return described.bind(arguments)
        except BadArguments as bad:
            raise ToolError(str(bad)) from bad

    async def _approve(self, work: Work, args: Sequence[Any], named: Mapping[str, Any]) -> None:
        value = partial(function_value, work, self.function, args, named)
        await wait_for_approval(work, self.name, self.options, value)

    def _get_schema(self) -> "FunctionSchema":
        if self._function_schema is None:
            raise Unusable(f"tool {self.name!r} was not described")
        return self._function_schema
