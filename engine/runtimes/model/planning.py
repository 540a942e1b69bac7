"""Plans written by a model: tasks with dependencies, dispatched to workers as they become ready.

Rule: a plan is one call, whose tasks wait for each other in the state like the nodes of a graph. So its progress is
visible, and a later attempt is answered by the same tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from typing_extensions import override

from engine.core.records.records import JsonValue
from engine.core.records.values import preview
from engine.core.signals import PlannedItem
from engine.models.records import ToolSchema
from engine.runtimes.attempts.delegations import DelegationResult
from engine.runtimes.model.builtin_tools import CallRefused, CallResult, text_in, texts_in
from engine.runtimes.model.delegation import WorkersTool
from engine.runtimes.model.tools import Arguments, object_schema

MAX_TASKS = 200


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One task of a plan."""

    name: str
    worker: str
    instructions: str
    after: tuple[str, ...]


class CreatePlan(WorkersTool):
    """The tool `create_plan`: run tasks with dependencies, each with the results of those before it."""

    name = "create_plan"
    only_delegates = True

    @override
    def schema(self, name: str) -> ToolSchema | None:
        """The tool takes a list of tasks, each with a worker as in `delegate`."""
        if not self._workers.available:
            return None
        text: JsonValue = {"type": "string"}
        task = object_schema(
            id=text,
            worker={**self._workers.name_schema},
            instructions=text,
            after={"type": "array", "items": text, "description": "Ids of tasks whose results this one needs."},
        )
        about = (
            "Have a plan carried out: tasks that wait for nothing begin at once, the others when the tasks that they"
            " come after are done, and are told their results. Returns the result of each."
        )
        tasks: JsonValue = {"type": "array", "items": task, "minItems": 1, "maxItems": MAX_TASKS}
        return ToolSchema(name, about, object_schema(tasks=tasks))

    @override
    async def _result(self, arguments: Arguments, key: str) -> JsonValue | CallResult:
        """Run a plan; return the outcome of each of its tasks."""
        tasks = parse_plan(arguments)
        if not self._work.delegations.has_delegated(key):
            for task in tasks:
                if (reason := self._workers.why_not(task.worker)) is not None:
                    raise CallRefused(f"{task.name}: {reason}", workers=[*self._workers.names])
        outcomes = await self._carry_out(tasks, key)
        if not any("error" in outcome for outcome in outcomes.values()):
            return CallResult({name: outcome["result"] for name, outcome in outcomes.items()})
        return {name: {**outcome} for name, outcome in outcomes.items()}

    async def _carry_out(self, tasks: Sequence[PlannedTask], key: str) -> dict[str, dict[str, JsonValue]]:
        """Delegate the tasks in one call; return the outcome of each by its name."""
        places = {task.name: index for index, task in enumerate(tasks)}
        items = [
            PlannedItem(
                title=preview(f"{task.name}: {task.instructions}"),
                target=task.worker,
                input=task.instructions,
                after=[places[name] for name in task.after],
            )
            for task in tasks
        ]
        answers = await self._outcomes("plan", key, "", [], plan=items)
        by_name = dict(zip(places, answers, strict=True))
        return {task.name: _outcome(task, by_name) for task in tasks}


def _outcome(task: PlannedTask, answers: Mapping[str, DelegationResult]) -> dict[str, JsonValue]:
    answer = answers[task.name]
    if answer.error is None:
        return {"result": answer.output}
    failed = next((name for name in task.after if answers[name].error is not None), None)
    if failed is not None:
        return {"error": f"not begun: {failed} failed"}
    return {"error": f"{task.worker} failed: {answer.error}"}


def parse_plan(arguments: Arguments) -> list[PlannedTask]:
    """Return the tasks of a plan.

    Raises:
        CallRefused: If it is invalid, for example with duplicate or unknown ids, or a cycle.
    """
    task_objects = arguments.get("tasks")
    if not isinstance(task_objects, list) or not 0 < len(task_objects) <= MAX_TASKS:
        raise CallRefused(f"tasks must be a list of 1 to {MAX_TASKS} tasks")
    tasks: list[PlannedTask] = []
    for task_object in task_objects:
        if not isinstance(task_object, dict):
            raise CallRefused("each task must be an object with id, worker, instructions and after")
        after = tuple(dict.fromkeys(texts_in(task_object, "after")))
        name, worker, instructions = (text_in(task_object, field) for field in ("id", "worker", "instructions"))
        tasks.append(PlannedTask(name, worker, instructions, after))
    names = [task.name for task in tasks]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise CallRefused(f"two tasks have the id {duplicate!r}")
    for task in tasks:
        unknown = next((name for name in task.after if name not in names), None)
        if unknown is not None:
            raise CallRefused(f"{task.name} comes after {unknown!r}, which is not a task of the plan")
    _check_acyclic(tasks)
    return tasks


def _check_acyclic(tasks: Sequence[PlannedTask]) -> None:
    try:
        TopologicalSorter({task.name: task.after for task in tasks}).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        names = [task.name for task in tasks if task.name in cycle]
        raise CallRefused(f"the tasks {', '.join(names)} wait for each other") from None
