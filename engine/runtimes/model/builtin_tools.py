"""Interface of the engine's own tools to the loop, and results of their calls.

Rule: such a tool records its calls itself, because a delegation is a record already (`CallResult`). See `tools` for
those that the loop records.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from engine.core.errors import BadValue
from engine.core.records.records import JsonValue
from engine.errors import CommandRefusedError
from engine.models.records import ToolSchema
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.tools import Arguments, error_result


@dataclass(frozen=True, slots=True)
class ForwardedAnswer:
    """The answer of a worker that is that of the task."""

    task_id: str
    output: JsonValue


@dataclass(frozen=True, slots=True)
class CallResult:
    """What became of a call."""

    value: JsonValue
    forwarded: ForwardedAnswer | None = None
    is_read: bool = False
    """It is a part of an earlier result."""
    key: str = ""
    """Of the call; empty where it has none."""


class BuiltinTool(ABC):
    """A tool of the engine, of one attempt."""

    name: ClassVar[str]
    """Its name in the engine; the model may know it by another one."""
    only_delegates: ClassVar[bool] = False
    """It only delegates work: the answer that calls it and the delegation are one commit."""
    runs_last: ClassVar[bool] = False
    """It is called once the other calls of the turn have ended."""

    def __init__(self, work: Work) -> None:
        self._work = work

    @abstractmethod
    def schema(self, name: str) -> ToolSchema | None:
        """Return its schema for the model under `name`; None while it is of no use."""

    async def answer(self, name: str, arguments: Arguments, key: str) -> CallResult:
        """Return the result of a call; it is recorded under `key` by then, or derived from recorded steps.

        Args:
            name: The name by which the model calls the tool.
            key: Key of the call; nothing is recorded under it yet, unless the tool says otherwise.
        """
        work, began_ms = self._work, self._work.attempt.now_ms()
        try:
            outcome = await self._result(arguments, key)
        except CallRefused as refused:
            outcome = refused.result
        except (BadValue, CommandRefusedError) as error:
            outcome = error_result(error.reason)
        if isinstance(outcome, CallResult):
            return outcome
        step = work.finished_step("tool", f"tool:{name}", key, outcome, step_input=dict(arguments), began_ms=began_ms)
        await work.attempt.record(step)
        return CallResult(outcome)

    @abstractmethod
    async def _result(self, arguments: Arguments, key: str) -> "JsonValue | CallResult":
        """Return the result of a call, which is recorded then; a `CallResult` stands in the journal already.

        Raises:
            CallRefused, BadValue, CommandRefusedError: If the call fails; the model is told why.
        """


class CallRefused(Exception):
    """A call of a built-in tool failed; the model is told why."""

    def __init__(self, error: str, **details: JsonValue) -> None:
        super().__init__(error)
        self.result = error_result(error, **details)


def text_in(arguments: Arguments, name: str, *, needed: bool = True) -> str:
    """Return a text that a call has to say.

    Raises:
        CallRefused: If it is none.
    """
    value = arguments.get(name, "")
    if not isinstance(value, str) or (needed and not value.strip()):
        raise CallRefused(f"{name} must be a text")
    return value


def texts_in(arguments: Arguments, name: str) -> list[str]:
    """Return a list of texts that a call may say.

    Raises:
        CallRefused: If it is none.
    """
    value = arguments.get(name) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise CallRefused(f"{name} must be a list of texts")
    return [str(text) for text in value]
