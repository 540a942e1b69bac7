"""The tool calls of one session with an ACP agent, and the steps that are recorded of it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from engine.core.events.attempt import StepKind
from engine.core.records.records import JsonValue
from engine.runtimes.attempts.work import Work

Change: TypeAlias = tuple[str, str, str]
"""Path, old text and new text of a file."""
MAX_CALLS = 1_000
"""Tool calls of a session that are tracked, the newest."""
MAX_STEPS = 100_000
"""Steps of an attempt; further calls are shown but not recorded."""


@dataclass(slots=True)
class TrackedCall:
    """A tool call, as far as the agent has described it."""

    title: str = ""
    kind: str | None = None
    input: JsonValue = None
    output: JsonValue = None
    texts: list[str] = field(default_factory=list)
    diffs: list[Change] = field(default_factory=list)
    began_ms: int | None = None
    is_asked_for: bool = False
    """The agent has requested permission for it."""
    is_shown: bool = False
    pulse_step: int = 0
    """Its number among the steps that show as running."""
    has_ended: bool = False


class SessionCalls:
    """The calls and steps of a session."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._calls: dict[str, TrackedCall] = {}
        self._steps = 0
        self.approved = Counter[str]()
        """Number of approved calls without an id, such as files and terminals, by kind of tool."""

    def call(self, call_id: str) -> TrackedCall:
        """Return the call of an id, a new one if it is not tracked."""
        call = self._calls.setdefault(call_id, TrackedCall())
        if len(self._calls) > MAX_CALLS:
            del self._calls[next(iter(self._calls))]
        return call

    def record(
        self, name: str, output: JsonValue, *, kind: StepKind, step_input: JsonValue = None, began_ms: int | None = None
    ) -> None:
        """Record a step."""
        work = self._work
        self._steps += 1
        if not work.attempt.over and self._steps <= MAX_STEPS:
            key = work.attempt.new_key(name)
            work.record_soon(work.finished_step(kind, name, key, output, step_input=step_input, began_ms=began_ms))
