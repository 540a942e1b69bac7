"""Results of requests, as a program gets them."""

from dataclasses import dataclass

from typing_extensions import override

from engine.core.records.records import JsonValue
from engine.core.records.values import Usage, as_text
from engine.core.state import RunStatus, TaskStatus
from engine.errors import EngineError


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended."""

    run_id: str
    status: RunStatus
    output: JsonValue
    """Its output; if it failed, was skipped or was cancelled, the output so far."""
    usage: Usage
    tasks: int
    """Number of agents' tasks."""
    seq: int
    """Seq of the event that ended it."""
    error: str | None = None
    """Why it failed or was skipped; one line."""

    @override
    def __str__(self) -> str:
        """Return the output: a text as it is, anything else as JSON."""
        return "" if self.output is None else as_text(self.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStatus:
    """Status of a run or a task."""

    id: str
    status: RunStatus | TaskStatus
    title: str
    tasks: int
    """Number of agents' tasks so far; for a task, those that it delegated."""
    done: int
    failed: int
    output: JsonValue = None
    """Its output; None until it has ended."""
    error: str | None = None


class RunFailed(EngineError):
    """A run failed.

    Attributes:
        result: How it ended.
    """

    def __init__(self, result: RunResult) -> None:
        status, reason = result.status.value, result.error or "no reason was given"
        # A reason such as "cancelled by the operator" names the status already.
        outcome = reason if reason.startswith(status) else f"{status}: {reason}"
        super().__init__(f"run {result.run_id} {outcome}")
        self.result = result


class RunCancelled(RunFailed):
    """A run was cancelled by another caller while this one waited for it."""


class RunSkipped(RunFailed):
    """A run was skipped: the task with its outcome failed, and a failure policy or a person skipped it."""


FAILURES_BY_STATUS: dict[RunStatus, type[RunFailed]] = {
    RunStatus.CANCELLED: RunCancelled,
    RunStatus.SKIPPED: RunSkipped,
}
"""Exception for each status other than done and failed."""
