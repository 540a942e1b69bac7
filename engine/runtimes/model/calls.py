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
from engine.runtimes.model.builtin_tools import CallResult, OwnTool
from engine.runtimes.model.delegation import Workers
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.people import AskHuman
from engine.runtimes.model.results import Results
from engine.runtimes.model.tools import Tool, called_tool, error_result, schema_of
from engine.runtimes.toolbox.kit import Kit

Make: TypeAlias = Callable[[], Coroutine[Any, Any, CallResult]]


class Calls:
    """Performs the calls of one attempt.

    Args:
        own: Built-in tools that it may use.
        workers: Its workers; None if it does not lead.
    """

    def __init__(
        self,
        work: Work,
        options: ModelOptions,
        *,
        kit: Kit | None = None,
        own: Sequence[OwnTool] = (),
        workers: Workers | None = None,
    ) -> None:
        self._work = work
        self._own = {options.name_of(tool.name): tool for tool in own}
        # Built-in tools win over the agent's tools of the same name.
        self._tools: dict[str, Tool] = {}
        self._take({} if kit is None else kit.functions)
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
            self._take(await self._kit.tools(self._work))

    def _take(self, tools: Mapping[str, Tool]) -> None:
        self._tools = {name: tool for name, tool in tools.items() if name not in self._own}

    def schemas(self) -> list[ToolSchema]:
        """Return the tools for the next turn; those that change come last, for the provider's prompt cache."""
        own = [tool.schema(name) for name, tool in self._own.items()]
        fixed = [schema_of(tool) for tool in self._tools.values()]
        return [*fixed, *(schema for schema in own if schema is not None), *self.results.schemas()]

    def asks_others(self, call: Call) -> bool:
        """Return True for a call that only delegates."""
        own = self._own.get(call.name)
        return own is not None and own.asks_others

    async def made(self, calls: Sequence[Call], begun: Callable[[], None]) -> list[CallResult]:
        """Make calls at once, and return what became of each, in order; what forwards an answer comes after the rest.

        Args:
            calls: Those of one turn.
            begun: Called in the same turn of the event loop in which the first of them is made.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop; once each of them has come to its next step.
        """
        found: dict[int, CallResult] = {}
        # Keys count how often the same was called before, so they are taken in the order of the calls.
        made = [(place, *self._make(call), self._comes_last(call)) for place, call in enumerate(calls)]

        async def put(place: int, make: Make) -> None:
            begun()
            found[place] = await make()

        def keyed(place: int) -> CallResult:
            return replace(found[place], key=made[place][1])

        for late in (False, True):
            due = []
            for place, key, make, is_late in made:
                if is_late is not late:
                    continue
                if self._work.is_recorded(key) or self._work.was_answered(key):
                    await put(place, make)  # from the journal: fifty tasks of the loop would only wait for each other
                else:
                    due.append((place, make))
            await at_once([partial(put, *one) for one in due])
        return [keyed(place) for place in range(len(calls))]

    def _comes_last(self, call: Call) -> bool:
        own = self._own.get(call.name)
        return own is not None and own.comes_last

    def _make(self, call: Call) -> tuple[str, Make]:
        """Return the key of a call, and a function that performs it."""
        own, arguments = self._own.get(call.name), call.arguments
        is_read = call.name == self.results.tool and own is None and call.name not in self._tools
        if is_read and isinstance(arguments, dict):
            return "", lambda: _given(CallResult(self.results.read(arguments), is_read=True))
        said = call.invalid if call.invalid is not None else arguments
        key = self._work.key(f"call:{call.name if own is None else own.name}", said)
        return key, self._keyed(call, key, said)

    def _keyed(self, call: Call, key: str, said: JsonValue) -> Make:
        work, arguments, own = self._work, call.arguments, self._own.get(call.name)
        is_recorded = work.is_recorded(key)
        if own is None and self.workers is not None and self._work.was_asked(key):
            own = next((one for one in self._own.values() if one.name == call.name), None)  # it was renamed since
        if own is None and not is_recorded and self._work.has_asked(key):
            own = AskHuman(self._work)  # a person is asked since an attempt that might: the answer is its result
        if own is not None and isinstance(arguments, dict) and (own.comes_last or not is_recorded):
            return lambda: own.answer(call.name, arguments, key)
        if is_recorded:
            return lambda: self._recorded(key)
        if call.invalid is not None or not isinstance(arguments, dict):
            error = f"the arguments of {call.name} are not a JSON object: {as_text(said)[:200]}"
            return lambda: self._refused(call, key, error_result(error))
        return lambda: self._called(call, arguments, key)

    async def _recorded(self, key: str) -> CallResult:
        return CallResult(await self._work.recorded(key))

    async def _refused(self, call: Call, key: str, result: dict[str, JsonValue]) -> CallResult:
        """Record that a call could not be made."""
        given = call.invalid if call.invalid is not None else call.arguments
        await self._work.record(self._work.finished("tool", f"tool:{call.name}", key, result, given=given))
        return CallResult(result)

    async def _called(self, call: Call, arguments: dict[str, JsonValue], key: str) -> CallResult:
        if call.name not in self._tools:  # the turn was answered by an attempt before this one
            await self.refresh()
        tool = self._tools.get(call.name)
        if tool is None:
            names: list[JsonValue] = [*self._tools, *self._own]
            error = f"there is no tool {call.name!r}" if call.name else "a call names no tool"
            return await self._refused(call, key, error_result(error, tools=names))
        async with self._limit:
            return CallResult(await called_tool(self._work, tool, arguments, key))


async def _given(outcome: CallResult) -> CallResult:
    return outcome


async def at_once(jobs: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    """Run jobs concurrently; if one ends the attempt, the others first reach their end or next step."""
    ended: list[AttemptInterrupted | Exception] = []

    async def run(job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await job()
        except (AttemptInterrupted, Exception) as error:
            ended.append(error)

    if len(jobs) <= 1:
        for job in jobs:
            await job()
        return
    async with anyio.create_task_group() as group:
        for job in jobs:
            group.start_soon(run, job)
    if ended:
        raise next((one for one in ended if isinstance(one, AttemptInterrupted)), ended[0])
