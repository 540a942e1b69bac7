"""A request at one moment: its tasks, results, failures and conflicts, and as entries of segments."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.core.records.records import JsonValue
from engine.core.state import Run, State
from engine.workflow.requests import OPEN, REASSIGNED, STATUSES, Assignment, ReadText, Request, Row

SEGMENTS = ("tasks", "results", "errors", "progress", "conflicts")


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
    counts = dict.fromkeys((*OPEN, *STATUSES.values()), 0)
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
