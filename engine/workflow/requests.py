"""Requests of a pool and their tasks as plain dicts, computed from the state; nothing here is stored."""

from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

from engine.core.queries.money.spending import name_of_spender
from engine.core.records.records import JsonValue
from engine.core.records.values import StoredValue
from engine.core.signals import DUPLICATE
from engine.core.state import Run, State, Task, TaskStatus

Row: TypeAlias = dict[str, Any]
ReadText: TypeAlias = Callable[[StoredValue], Awaitable[JsonValue]]

REASSIGNED = "reassigned"
"""Label of a run that does again a task of an ended run; its value is the id of that task."""
OPEN = ("pending", "running")
"""Statuses of a task that has not ended."""
STATUSES = {
    TaskStatus.DONE: "completed",
    TaskStatus.FAILED: "failed",
    TaskStatus.SKIPPED: "failed",
    TaskStatus.CANCELLED: "cancelled",
}
"""Statuses of a task that has ended."""


def status_of(task: Task) -> str:
    """Return `pending`, `running`, `completed`, `failed` or `cancelled`."""
    return STATUSES.get(task.status) or ("running" if task.attempt is not None else "pending")


@dataclass(frozen=True)
class Request:
    """A run with the tasks that its supervisor gave to workers, in the order of the plan, as the state has them."""

    run: Run
    lead: Task | None
    """The task of the supervisor itself; None while there is none."""
    tasks: list[Task]

    @classmethod
    def of(cls, state: State, run_id: str) -> "Request":
        """Return the request of an open run."""
        run = state.runs[run_id]
        nodes = (state.tasks[task_id] for task_id in run.tasks)
        lead = next((task for task in nodes if task.kind == "agent" and task.call_key is None), None)
        calls = lead.calls.values() if lead is not None else ()
        tasks = [state.tasks[child_id] for call in calls if call.kind == "plan" for child_id in call.children]
        return cls(run, lead, tasks)


@dataclass(frozen=True)
class Assignment:
    """A task at one moment, and whose it is."""

    task: Task
    worker: str
    input: JsonValue
    output: JsonValue

    @classmethod
    async def read(cls, task: Task, state: State, text: ReadText) -> "Assignment":
        """Copy a task, and read what the state holds by reference."""
        task = copy(task)
        queue = task.queue or ""
        agent_id = queue.removeprefix("agent:") if queue.startswith("agent:") else task.agent_id or task.worker_id or ""
        name = name_of_spender(state, agent_id) or agent_id
        return cls(task, name, await text(task.input), await text(task.output))

    @property
    def status(self) -> str:
        """Its status, as of `status_of`."""
        return status_of(self.task)

    @property
    def original(self) -> str | None:
        """Id of the task that it is a duplicate of; None if it is none."""
        error = self.task.error or ""
        return error.removeprefix(DUPLICATE) if self.status == "cancelled" and error.startswith(DUPLICATE) else None

    @property
    def description(self) -> JsonValue:
        """Its text."""
        value = self.input
        return value["description"] if isinstance(value, dict) and "description" in value else value

    def row(self) -> Row:
        """Return the task."""
        return {
            "task_id": self.task.id,
            "request_id": self.task.run_id,
            "description": self.description,
            "assigned_to": self.worker,
            "status": self.status,
            "priority": self.task.priority,
        }

    def result(self) -> Row:
        """Return its result."""
        return self.insight("results", self.output, 0.8, "result", "completed", self.task.run_id)

    def failure(self) -> Row:
        """Return why it has no result."""
        error = self.task.error or self.status
        row = self.insight("errors", error, 0.9, "error", "failed", self.task.run_id)
        row["metadata"]["error"] = error
        return row

    def outcome(self) -> Row:
        """Return what became of it: its ids, `result`, `status` and `error`."""
        ids = {"task_id": self.task.id, "request_id": self.task.run_id}
        return {**ids, "result": self.output, "status": self.status, "error": self.task.error}

    def insight(
        self, segment: str, content: JsonValue, importance: float, *tags: str, author: str | None = None
    ) -> Row:
        """Return an entry of a segment."""
        task = self.task
        at_ms = task.ended_ms or task.started_ms or task.created_ms
        return {
            "content": content,
            "tags": [*tags],
            "segment": segment,
            "importance": importance,
            "agent_id": author or self.worker,
            "metadata": {"task_id": task.id, "request_id": task.run_id, "error": None},
            "timestamp": datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(),
        }
