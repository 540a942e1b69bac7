"""The calls of one turn: who answers each, made at once, each with one recorded outcome.

Rule: the key of a call is its name and arguments, and what is recorded under it is its result, whoever could answer it
now: tools, workers and their names may have changed since.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio

from engine.core.fact import JsonValue
from engine.core.queries.workers import Worker
from engine.errors import AttemptInterrupted
from engine.models.records import Call, ToolSchema
from engine.runtimes.model.delegation import Delegation, Forwarded
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.results import Results
from engine.runtimes.model.tools import Tool, called_tool, error_result, schema_of, tool_step
from engine.runtimes.task import as_text
from engine.runtimes.work import Work


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call."""

    value: JsonValue
    forwarded: Forwarded | None = None
    """The answer of a worker that is that of the task."""
    is_read: bool = False
    """It is a part of an earlier result."""


Make: TypeAlias = Callable[[], Coroutine[Any, Any, Outcome]]


class Calls:
    """Makes the calls of one attempt.

    Args:
        work: The attempt.
        options: Of its agent.
        tools: What may be called, besides what follows.
        delegation: Of whoever leads; None of others.
    """

    def __init__(
        self, work: Work, options: ModelOptions, *, tools: Sequence[Tool], delegation: Delegation | None
    ) -> None:
        self._work = work
        self._tools = {tool.name: tool for tool in tools}
        self.delegation = delegation
        self.results = Results(options)
        self._limit = anyio.CapacityLimiter(options.tools_at_once)

    def schemas(self, workers: Sequence[Worker]) -> list[ToolSchema]:
        """Return what the model may call in the next turn; those that change come last."""
        own = [] if self.delegation is None else self.delegation.schemas(workers)
        return [*(schema_of(tool) for tool in self._tools.values()), *own, *self.results.schemas()]

    def is_delegated(self, call: Call) -> bool:
        """Return True for a call that gives work to others, and does nothing else."""
        return self.delegation is not None and self.delegation.delegates(call.name)

    async def made(self, calls: Sequence[Call], begun: Callable[[], None]) -> list[Outcome]:
        """Make calls at once, and return what became of each, in order; what forwards an answer comes after the rest.

        Args:
            calls: Those of one turn.
            begun: Called in the same turn of the event loop in which the first of them is made.

        Raises:
            AttemptInterrupted: If the attempt is asked to stop; once each of them has come to its next step.
        """
        found: dict[int, Outcome] = {}
        # Keys count how often the same was called before, so they are taken in the order of the calls.
        made = [(place, self._make(call), self._forwards(call)) for place, call in enumerate(calls)]

        async def put(place: int, make: Make) -> None:
            begun()
            found[place] = await make()

        for late in (False, True):
            await _at_once([(place, make) for place, make, is_late in made if is_late is late], put)
        return [found[place] for place in range(len(calls))]

    def _forwards(self, call: Call) -> bool:
        return self.delegation is not None and self.delegation.forwards(call.name)

    def _make(self, call: Call) -> Make:
        work, arguments = self._work, call.arguments
        said = call.invalid if call.invalid is not None else arguments
        if call.name == self.results.tool and call.name not in self._tools and isinstance(arguments, dict):
            return lambda: _given(Outcome(self.results.read(arguments), is_read=True))
        key = work.key(f"call:{call.name}", said)
        if self._forwards(call) and self.delegation is not None and isinstance(arguments, dict):
            forward = self.delegation.forward
            return lambda: _forwarded(forward(arguments, key))
        if work.is_recorded(key):
            return lambda: self._recorded(key)
        if self.delegation is not None and self.delegation.was_asked(key):
            rejoin = self.delegation.delegate
            return lambda: _value(rejoin(arguments if isinstance(arguments, dict) else {}, key))
        if call.invalid is not None or not isinstance(arguments, dict):
            error = f"the arguments of {call.name} are not a JSON object: {as_text(said)[:200]}"
            return lambda: self._refused(call, key, error_result(error))
        if self.delegation is not None and self.delegation.delegates(call.name):
            delegate = self.delegation.delegate
            return lambda: _value(delegate(arguments, key))
        tool = self._tools.get(call.name)
        if tool is None:
            names = [*self._tools, *(() if self.delegation is None else self.delegation.names)]
            return lambda: self._refused(call, key, error_result(f"there is no tool {call.name!r}", tools=[*names]))
        return lambda: self._limited(tool, arguments, key)

    async def _recorded(self, key: str) -> Outcome:
        return Outcome(await self._work.recorded(key))

    async def _refused(self, call: Call, key: str, result: dict[str, JsonValue]) -> Outcome:
        """Record that a call could not be made."""
        arguments = call.invalid if call.invalid is not None else call.arguments
        now_ms = self._work.now_ms()
        step = tool_step(self._work, call.name, key, arguments=arguments, result=result, began_ms=now_ms)
        await self._work.record(step)
        return Outcome(result)

    async def _limited(self, tool: Tool, arguments: dict[str, JsonValue], key: str) -> Outcome:
        async with self._limit:
            return Outcome(await called_tool(self._work, tool, arguments, key))


async def _given(outcome: Outcome) -> Outcome:
    return outcome


async def _value(made: Coroutine[Any, Any, JsonValue]) -> Outcome:
    return Outcome(await made)


async def _forwarded(made: Coroutine[Any, Any, tuple[JsonValue, Forwarded | None]]) -> Outcome:
    return Outcome(*await made)


async def _at_once(calls: Sequence[tuple[int, Make]], put: Callable[[int, Make], Coroutine[Any, Any, None]]) -> None:
    """Make calls together; where one is told that the attempt is to stop, the others come to their next step first."""
    interrupted: list[AttemptInterrupted] = []

    async def run(place: int, make: Make) -> None:
        try:
            await put(place, make)
        except AttemptInterrupted as stop:
            interrupted.append(stop)

    if len(calls) == 1:
        await put(*calls[0])
        return
    async with anyio.create_task_group() as group:
        for place, make in calls:
            group.start_soon(run, place, make)
    if interrupted:
        raise interrupted[0]
