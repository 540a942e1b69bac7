"""Requests of a pool as plain dicts, computed from the tasks of their runs; nothing here is stored."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, TypeAlias

from engine.core.queries.money.spending import name_of_spender
from engine.core.records.records import JsonValue
from engine.core.records.values import StoredValue
from engine.core.signals import DUPLICATE
from engine.core.state import Run, State, Task, TaskStatus

Row: TypeAlias = dict[str, Any]
ReadText: TypeAlias = Callable[[StoredValue], Awaitable[JsonValue]]

SEGMENTS = ("tasks", "results", "errors", "progress", "conflicts")
REASSIGNED = "reassigned"
"""Label of a run that does again a task of an ended run; its value is the id of that task."""
OPEN = ("pending", "running")
"""Statuses of a task that has not ended."""
_WORDS = {
    TaskStatus.DONE: "completed",
    TaskStatus.FAILED: "failed",
    TaskStatus.SKIPPED: "failed",
    TaskStatus.CANCELLED: "cancelled",
}


def status_of(task: Task) -> str:
    """Return `pending`, `running`, `completed`, `failed` or `cancelled`."""
    return _WORDS.get(task.status) or ("running" if task.attempt is not None else "pending")


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


@dataclass(frozen=True)
class RequestTable:
    """A request at one moment."""

    run: Run
    parameters: Mapping[str, Any]
    """What was submitted."""
    assignments: list[Assignment]
    output: JsonValue
    """What the supervisor made of the results."""

    @classmethod
    async def read(cls, request: Request, state: State, text: ReadText) -> "RequestTable":
        """Copy a request, and read what the state holds by reference."""
        submitted = await text(request.run.request)
        return cls(
            request.run,
            submitted if isinstance(submitted, dict) else {"request": submitted},
            [await Assignment.read(task, state, text) for task in request.tasks],
            None if request.lead is None else await text(request.lead.output),
        )

    def assignment(self, task_id: str) -> Assignment | None:
        """Return one of its tasks; None if it has none with that id."""
        return next((each for each in self.assignments if each.task.id == task_id), None)

    @property
    def results(self) -> list[Row]:
        """One entry for each task that is done."""
        return [each.result() for each in self.assignments if each.status == "completed"]

    @property
    def failures(self) -> list[Row]:
        """One entry for each task that ended without a result, but for duplicates."""
        failed = (each for each in self.assignments if each.status in ("failed", "cancelled"))
        return [each.failure() for each in failed if each.original is None]

    @cached_property
    def conflicts(self) -> list[Row]:
        """Tasks that were asked for more than once: who was to do each, who does, and what was cancelled."""
        by_id = {each.task.id: each for each in self.assignments}
        groups: dict[str, list[Assignment]] = {}
        for each in self.assignments:
            if (original := each.original) in by_id:
                groups.setdefault(original, [by_id[original]]).append(each)
        return [
            {
                "task_id": task_id,
                "request_id": self.run.id,
                "workers": [each.worker for each in group],
                "kept": group[0].worker,
                "cancelled": [each.task.id for each in group[1:]],
            }
            for task_id, group in groups.items()
        ]

    def whole(self) -> Row:
        """Return the request with its tasks, results and failures."""
        return {
            "request_id": self.run.id,
            "tasks": [each.row() for each in self.assignments],
            "results": self.results,
            "failures": self.failures,
            "final_result": self.output,
            "planner": self.parameters.get("planner", "scripted"),
        }

    def insights(self) -> Iterator[Row]:
        """Yield all of it as entries of the segments."""
        importance, author = 0.9 if REASSIGNED in self.run.labels else 0.8, self.parameters.get("supervisor")
        for each in self.assignments:
            id, status, run_id = each.task.id, each.status, self.run.id
            yield each.insight(
                "tasks", each.description, importance, "task", status, run_id, each.worker, author=author
            )
            if status == "running":
                yield each.insight("progress", f"works on {each.task.title}", 0.5, "progress", id, run_id)
            if each.original is not None:
                yield each.insight("conflicts", each.task.error, 0.9, "conflict", id, run_id)
        yield from self.results
        yield from self.failures


def progress_of(tables: Iterable[RequestTable]) -> Row:
    """Return true counts over several requests; a duplicate counts nowhere but as a conflict."""
    counts = dict.fromkeys((*OPEN, *_WORDS.values()), 0)
    active: dict[str, None] = {}
    conflicts: list[Row] = []
    for table in tables:
        conflicts += table.conflicts
        for each in table.assignments:
            if each.original is None:
                counts[each.status] += 1
                if each.status == "running":
                    active[each.worker] = None
    return {
        "active_workers": [*active],
        "pending_tasks": counts["pending"],
        "running_tasks": counts["running"],
        "completed_tasks": counts["completed"],
        "failed_tasks": counts["failed"] + counts["cancelled"],
        "conflicts": conflicts,
    }
