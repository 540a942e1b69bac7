"""Interface of the engine's own tools to the loop, and results of their calls.

Rule: a built-in tool records its calls itself, because some calls, such as delegations, are in the journal already.
Calls of other tools are recorded by the loop (`tools`).
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
    """An answer of a worker that becomes the output of the task."""

    task_id: str
    output: JsonValue


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call."""

    value: JsonValue
    forwarded: ForwardedAnswer | None = None
    is_read: bool = False
    """It is a part of an earlier result."""
    key: str = ""
    """Key of the call; empty if it has none."""


@dataclass(frozen=True, slots=True)
class ReadInsights:
    """A result that is not recorded yet, with the insights in it."""

    value: JsonValue
    ids: list[str]


class BuiltinTool(ABC):
    """A tool of the engine, for one attempt."""

    name: ClassVar[str]
    """Its name in the engine; the model may know it by another one."""
    only_delegates: ClassVar[bool] = False
    """It only delegates work, so the answer that calls it is journaled together with the delegation."""
    runs_last: ClassVar[bool] = False
    """It is called after the other calls of the turn have ended."""

    def __init__(self, work: Work) -> None:
        self._work = work

    @abstractmethod
    def schema(self, name: str) -> ToolSchema | None:
        """Return its schema for the model under `name`; None while it cannot be used."""

    async def answer(self, name: str, arguments: Arguments, key: str) -> CallResult:
        """Return the result of a call, after recording it under `key`, or as derived from recorded steps.

        Args:
            name: The name by which the model calls the tool.
            key: Key of the call; only tools that run last may be called with a recorded key.
        """
        work = self._work
        began_ms = self._work.attempt.now_ms()
        try:
            outcome = await self._result(arguments, key)
        except CallRefused as refused:
            outcome = refused.result
        except (BadValue, CommandRefusedError) as error:
            outcome = error_result(error.reason)
        if isinstance(outcome, CallResult):
            return outcome
        reads: list[str] = []
        if isinstance(outcome, ReadInsights):
            reads, outcome = outcome.ids, outcome.value
        step = work.finished_step(
            "tool", f"tool:{name}", key, outcome, step_input=dict(arguments), began_ms=began_ms, reads=reads
        )
        await work.attempt.record(step)
        return CallResult(outcome)

    @abstractmethod
    async def _result(self, arguments: Arguments, key: str) -> "JsonValue | CallResult | ReadInsights":
        """Return the result of a call; a `CallResult` is in the journal, all others are recorded by the caller.

        Raises:
            CallRefused, BadValue, CommandRefusedError: If the call fails; the model gets the reason.
        """


class CallRefused(Exception):
    """A call of a built-in tool failed; the model gets the reason."""

    def __init__(self, error: str, **details: JsonValue) -> None:
        super().__init__(error)
        self.result = error_result(error, **details)


def text_in(arguments: Arguments, name: str, *, needed: bool = True) -> str:
    """Return a text argument of a call; with `needed` it must not be empty.

    Raises:
        CallRefused: If it is not a text.
    """
    value = arguments.get(name, "")
    if not isinstance(value, str) or (needed and not value.strip()):
        raise CallRefused(f"{name} must be a text")
    return value


def texts_in(arguments: Arguments, name: str) -> list[str]:
    """Return an optional list of texts among the arguments of a call.

    Raises:
        CallRefused: If it is not a list of texts.
    """
    value = arguments.get(name) or []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise CallRefused(f"{name} must be a list of texts")
    return [str(text) for text in value]
