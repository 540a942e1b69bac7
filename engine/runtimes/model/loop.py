"""The loop of a model agent: the model answers, its calls are made, their results go back to it, until it is done.

Rule: everything that was asked or called is a recorded step, and what is recorded is not done again: an attempt that
goes on walks through the same turns and comes to where the one before it was cut off.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from engine.core.fact import JsonValue
from engine.core.queries.workers import leads
from engine.core.signals import StepFinished
from engine.errors import AttemptInterrupted
from engine.models.records import Answer, Call, Message, ToolSchema
from engine.runtimes.model.conversation import Conversation
from engine.runtimes.model.delegation import Delegation, Forwarded
from engine.runtimes.model.endings import AnswerCut, AnswerRefused, EmptyAnswer, InvalidOutput, Looping, TurnLimit
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.output import Unfit, fitting
from engine.runtimes.model.prompt import system_text
from engine.runtimes.model.tools import Tool, called_tool, error_result, result_text, schema_of
from engine.runtimes.model.turn import Turns
from engine.runtimes.task import as_text
from engine.runtimes.work import Work

SAME = 3
"""Turns in a row with the same calls and results after which it is a loop."""


@dataclass(frozen=True, slots=True)
class _Result:
    """What became of a call."""

    value: JsonValue
    forwarded: Forwarded | None = None


class Loop:
    """One attempt of a model agent.

    Args:
        work: The attempt.
        options: Of its agent.
        turns: Who answers.
        tools: What the model may call besides what the engine gives it.
    """

    def __init__(self, work: Work, options: ModelOptions, turns: Turns, tools: Sequence[Tool]) -> None:
        self._work = work
        self._options = options
        self._turns = turns
        self._tools = {tool.name: tool for tool in tools}
        self._said = Conversation()
        task = work.state.tasks.get(work.effect.task_id)
        self._delegation = Delegation(work, options) if task is not None and leads(work.state, task) else None
        self._limit = anyio.CapacityLimiter(options.tools_at_once)
        self._past: list[tuple[object, object]] = []
        self._asked_again = False
        self._unreported: StepFinished | None = None

    async def run(self) -> JsonValue:
        """Return the output of the task.

        Raises:
            ModelStopped: If it comes to none by itself.
            ModelError: If no model answers.
        """
        try:
            return await self._turns_of()
        finally:
            if not self._work.over:  # an answer that was paid for is kept, wherever it is stopped
                self._report()

    async def _turns_of(self) -> JsonValue:
        self._said.say(*await self._work.conversation())
        self._said.user(as_text(await self._work.value()))
        for turn in range(1, self._options.turns + 1):
            answer = await self._answer(turn)
            self._said.answered(answer)
            if not answer.calls:
                self._report()
            if answer.calls and answer.finish != "length":
                results = await self._results(answer.calls)
                forwarded = next((one.forwarded for one in results if one.forwarded is not None), None)
                if forwarded is not None:
                    return forwarded.output
                self._hear(answer.calls, results)
                continue
            ended, output = self._end(answer)
            if ended:
                return output
        raise TurnLimit(self._options.turns)

    async def _answer(self, turn: int) -> Answer:
        """Return the answer of a turn; a new one is journaled, with what it asks others to do in the same batch."""
        work, name = self._work, f"turn:{turn}"
        work.raise_if_stopping()
        key = work.key(name, self._said.digest)
        recorded = await self._turns.recorded(key)
        if recorded is not None:
            return recorded
        workers = None if self._delegation is None else self._delegation.workers
        system = Message(role="system", text=system_text(work.spec, self._options, workers))
        schemas = self._schemas(workers)
        answer, step = await self._turns.ask(name, key, messages=(system, *self._said.messages), tools=schemas)
        if all(self._own_name(call) == "delegate" for call in answer.calls):
            self._unreported = step
        else:
            await work.record(step)
        return answer

    def _report(self) -> None:
        """Report an answer that was not reported yet: together with what follows from it, so that one commit has both.

        A report wakes the engine's loop, and what is asked a turn of the event loop later comes too late for its batch.
        """
        if self._unreported is not None:
            step, self._unreported = self._unreported, None
            self._work.record_soon(step)

    def _schemas(self, workers: Sequence[Any] | None) -> list[ToolSchema]:
        own = [] if self._delegation is None else self._delegation.schemas(workers or ())
        return [schema_of(tool) for tool in self._tools.values()] + own

    def _own_name(self, call: Call) -> str | None:
        """Return which of the engine's own tools is called, if it is one."""
        return None if self._delegation is None else self._delegation.names.get(call.name)

    async def _results(self, calls: Sequence[Call]) -> list[_Result]:
        """Make the calls of a turn at once, and return their results in order; what is forwarded is after the rest."""
        results: list[_Result | None] = [None] * len(calls)
        # Keys count how often the same was called before, so they are taken in the order of the calls.
        made = [
            (place, self._called(call), self._own_name(call) == "forward_message") for place, call in enumerate(calls)
        ]
        for late in (False, True):
            await _at_once([self._put(results, place, make) for place, make, is_late in made if is_late is late])
        return [one for one in results if one is not None]

    def _called(self, call: Call) -> Callable[[], Coroutine[Any, Any, _Result]]:
        """Return what makes a call."""
        arguments = call.arguments
        if call.invalid is not None or not isinstance(arguments, dict):
            written = call.invalid if call.invalid is not None else str(arguments)
            wrong = error_result(f"the arguments of {call.name} are not a JSON object: {written[:200]}")
            return lambda: _given(wrong)
        own, delegation = self._own_name(call), self._delegation
        if own is not None and delegation is not None:
            key = delegation.key(arguments) if own == "delegate" else self._work.key(call.name, arguments)
            if own == "delegate":
                return lambda: _result(delegation.delegate(arguments, key))
            return lambda: _forwarded(delegation.forward(arguments, key))
        tool = self._tools.get(call.name)
        if tool is None:
            names = [*self._tools, *(() if delegation is None else delegation.names)]
            wrong = error_result(f"there is no tool {call.name!r}", tools=[*names])
            return lambda: _given(wrong)
        key = self._work.key(f"tool:{call.name}", arguments)
        return lambda: self._limited(tool, arguments, key)

    async def _limited(self, tool: Tool, arguments: dict[str, JsonValue], key: str) -> _Result:
        async with self._limit:
            return _Result(await called_tool(self._work, tool, arguments, key))

    def _put(
        self, results: list[_Result | None], place: int, make: Callable[[], Coroutine[Any, Any, _Result]]
    ) -> Callable[[], Coroutine[Any, Any, None]]:
        async def put() -> None:
            self._report()
            results[place] = await make()

        return put

    def _hear(self, calls: Sequence[Call], results: Sequence[_Result]) -> None:
        """Add the results to the conversation.

        Raises:
            Looping: If the same was called with the same results before, and before that.
        """
        texts = [result_text(result.value) for result in results]
        for call, text in zip(calls, texts, strict=True):
            self._said.say(Message(role="tool", text=text, call_id=call.id))
        self._past.append(([(call.name, call.arguments, call.invalid) for call in calls], texts))
        last = self._past[-SAME:]
        if len(last) == SAME and all(one == last[0] for one in last):
            raise Looping([call.name for call in calls])

    def _end(self, answer: Answer) -> tuple[bool, JsonValue]:
        """Return whether an answer without calls is the end, and the output; else it is asked for once again.

        Raises:
            ModelStopped: If it cannot be.
        """
        if answer.finish == "length":
            raise AnswerCut
        if answer.finish == "refusal":
            raise AnswerRefused(answer.text)
        schema = self._work.spec.output
        if not answer.text.strip():
            return self._again("You answered nothing. Give your answer now.", EmptyAnswer())
        if schema is None:
            return True, answer.text
        try:
            return True, fitting(answer.text, schema)
        except Unfit as unfit:
            words = f"Your answer does not fit the schema of the output: {unfit}. Answer again, with the JSON alone."
            return self._again(words, InvalidOutput(str(unfit)))

    def _again(self, words: str, otherwise: Exception) -> tuple[bool, JsonValue]:
        if self._asked_again:
            raise otherwise
        self._asked_again = True
        self._said.user(words)
        return False, None


async def _given(value: JsonValue) -> _Result:
    return _Result(value)


async def _result(made: Coroutine[Any, Any, JsonValue]) -> _Result:
    return _Result(await made)


async def _forwarded(made: Coroutine[Any, Any, tuple[JsonValue, Forwarded | None]]) -> _Result:
    return _Result(*await made)


async def _at_once(calls: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    """Run calls together.

    Raises:
        AttemptInterrupted: If the attempt is asked to stop; once each of them has come to its next step.
    """
    interrupted: list[AttemptInterrupted] = []

    async def run(call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await call()
        except AttemptInterrupted as stop:
            interrupted.append(stop)

    if len(calls) == 1:
        await calls[0]()
        return
    async with anyio.create_task_group() as group:
        for call in calls:
            group.start_soon(run, call)
    if interrupted:
        raise interrupted[0]
