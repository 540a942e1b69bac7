"""The calls of one turn: made concurrently, each with one recorded outcome.

A call is keyed by name and arguments, and a recorded result counts even if tools, workers or their names have changed
since.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import anyio

from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.errors import AttemptInterrupted
from engine.models.records import Call, ToolSchema
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.ask_human import AskHuman
from engine.runtimes.model.builtin_tools import BuiltinTool, CallResult
from engine.runtimes.model.delegation import Workers
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.results import Results
from engine.runtimes.model.tools import Tool, call_tool, error_result, schema_of
from engine.runtimes.toolbox.kit import Kit

Handler: TypeAlias = Callable[[], Coroutine[Any, Any, CallResult]]


class Calls:
    """Performs the calls of one attempt.

    Args:
        builtin_tools: Built-in tools that it may use.
        workers: Its workers; None if it does not lead.
    """

    def __init__(
        self,
        work: Work,
        options: ModelOptions,
        *,
        kit: Kit | None = None,
        builtin_tools: Sequence[BuiltinTool] = (),
        workers: Workers | None = None,
    ) -> None:
        self._work = work
        self._builtin = {options.name_of(tool.name): tool for tool in builtin_tools}
        # Built-in tools win over the agent's tools of the same name.
        self._tools: dict[str, Tool] = {}
        self._set_tools({} if kit is None else kit.functions)
        self._kit = kit
        self.workers = workers
        self.results = Results(options)
        self._limit = anyio.CapacityLimiter(options.tools_at_once)

    async def refresh(self) -> None:
        """Refresh the list of available tools.

        Raises:
            EngineError: If a tool server cannot be reached; one line.
        """
        if self._kit is not None and self._kit.has_servers:
            self._set_tools(await self._kit.tools(self._work))

    def _set_tools(self, tools: Mapping[str, Tool]) -> None:
        self._tools = {name: tool for name, tool in tools.items() if name not in self._builtin}

    def schemas(self) -> list[ToolSchema]:
        """Return the tools for the next turn; those that change come last, for the provider's prompt cache."""
        changing = [tool.schema(name) for name, tool in self._builtin.items()]
        fixed = [schema_of(tool) for tool in self._tools.values()]
        return [*fixed, *(schema for schema in changing if schema is not None), *self.results.schemas()]

    def only_delegates(self, call: Call) -> bool:
        """Return True for a call that only delegates."""
        tool = self._builtin.get(call.name)
        return tool is not None and tool.only_delegates

    async def perform(self, calls: Sequence[Call], begun: Callable[[], None]) -> list[CallResult]:
        """Make calls concurrently and return their results in order; tools that run last are called after the rest.

        Args:
            calls: The calls of one turn.
            begun: Called in the iteration of the event loop in which the first call is made.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop, after all calls have reached their next step.
        """
        results: dict[int, CallResult] = {}
        # Before the calls are made, in their order, because a key contains the number of equal calls before it.
        jobs = [(place, *self._prepare(call), self._runs_last(call)) for place, call in enumerate(calls)]

        async def put(place: int, make: Handler) -> None:
            begun()
            results[place] = await make()

        def with_key(place: int) -> CallResult:
            return replace(results[place], key=jobs[place][1])

        for is_last in (False, True):
            waiting_jobs = []
            for place, key, make, is_late in jobs:
                if is_late is not is_last:
                    continue
                if self._work.attempt.is_recorded(key) or self._work.delegations.was_answered(key):
                    await put(place, make)  # from the journal, which needs no concurrency
                else:
                    waiting_jobs.append((place, make))
            await run_concurrently([partial(put, *job) for job in waiting_jobs])
        return [with_key(place) for place in range(len(calls))]

    def _runs_last(self, call: Call) -> bool:
        tool = self._builtin.get(call.name)
        return tool is not None and tool.runs_last

    def _prepare(self, call: Call) -> tuple[str, Handler]:
        """Return the key of a call, and a function that performs it."""
        tool = self._builtin.get(call.name)
        arguments = call.arguments
        is_read = call.name == self.results.tool and tool is None and call.name not in self._tools
        if is_read and isinstance(arguments, dict):
            return "", lambda: _return_result(CallResult(self.results.read(arguments), is_read=True))
        call_input = call.invalid if call.invalid is not None else arguments
        key = self._work.attempt.key(f"call:{call.name if tool is None else tool.name}", call_input)
        return key, self._handler(call, key, call_input)

    def _handler(self, call: Call, key: str, call_input: JsonValue) -> Handler:
        work = self._work
        arguments = call.arguments
        tool = self._builtin.get(call.name)
        is_recorded = work.attempt.is_recorded(key)
        if tool is None and self.workers is not None and self._work.delegations.has_delegated(key):
            # The tool was renamed since.
            tool = next((candidate for candidate in self._builtin.values() if candidate.name == call.name), None)
        if tool is None and not is_recorded and self._work.questions.has_asked(key):
            tool = AskHuman(self._work)  # an earlier attempt asked a person; the answer is the result
        if tool is not None and isinstance(arguments, dict) and (tool.runs_last or not is_recorded):
            return lambda: tool.answer(call.name, arguments, key)
        if is_recorded:
            return lambda: self._read_recorded_result(key)
        if call.invalid is not None or not isinstance(arguments, dict):
            error = f"the arguments of {call.name} are not a JSON object: {as_text(call_input)[:200]}"
            return lambda: self._record_refusal(call, key, error_result(error))
        return lambda: self._call_tool(call, arguments, key)

    async def _read_recorded_result(self, key: str) -> CallResult:
        return CallResult(await self._work.attempt.recorded_output(key))

    async def _record_refusal(self, call: Call, key: str, result: dict[str, JsonValue]) -> CallResult:
        """Record that a call could not be made."""
        call_input = call.invalid if call.invalid is not None else call.arguments
        await self._work.attempt.record(
            self._work.finished_step("tool", f"tool:{call.name}", key, result, step_input=call_input)
        )
        return CallResult(result)

    async def _call_tool(self, call: Call, arguments: dict[str, JsonValue], key: str) -> CallResult:
        if call.name not in self._tools:  # the answer is from an earlier attempt, with other tools
            await self.refresh()
        tool = self._tools.get(call.name)
        if tool is None:
            names: list[JsonValue] = [*self._tools, *self._builtin]
            error = f"there is no tool {call.name!r}" if call.name else "a call names no tool"
            return await self._record_refusal(call, key, error_result(error, tools=names))
        async with self._limit:
            return CallResult(await call_tool(self._work, tool, arguments, key))


async def _return_result(outcome: CallResult) -> CallResult:
    return outcome


async def run_concurrently(jobs: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    """Run jobs concurrently; if one ends the attempt, the others first reach their end or next step."""
    errors: list[AttemptInterrupted | Exception] = []

    async def run(job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await job()
        except (AttemptInterrupted, Exception) as error:
            errors.append(error)

    if len(jobs) <= 1:
        for job in jobs:
            await job()
        return
    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(run, job)
    if errors:
        raise next((error for error in errors if isinstance(error, AttemptInterrupted)), errors[0])
