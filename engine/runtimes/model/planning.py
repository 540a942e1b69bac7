"""A plan that a model writes: tasks with what each has to wait for, given to workers as soon as they may begin.

Rule: each task is a delegation with an outcome of its own, by a key of the plan's call and its place; so a plan that
was cut off goes on where it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from engine.core.fact import JsonValue
from engine.errors import AttemptInterrupted, DelegationFailed
from engine.models.records import ToolSchema
from engine.runtimes.model.delegation import Workers
from engine.runtimes.model.own import Outcome, Refused, keep, text_in, texts_in
from engine.runtimes.model.tools import Arguments, object_schema
from engine.runtimes.task import TaskInput, in_context
from engine.runtimes.work import Work

MOST_TASKS = 200


@dataclass(frozen=True, slots=True)
class Planned:
    """One task of a plan."""

    name: str
    worker: str
    instructions: str
    after: tuple[str, ...]


class CreatePlan:
    """Have several tasks done, each once those that it comes after are done, with their results.

    Args:
        work: The attempt of the lead.
        workers: Whom it may give work to.
    """

    name = "create_plan"
    asks_others = True
    comes_last = False

    def __init__(self, work: Work, workers: Workers) -> None:
        self._work = work
        self._workers = workers

    def schema(self, name: str) -> ToolSchema | None:
        """A plan is a list of tasks; each names its worker as `delegate` does."""
        if not self._workers.now:
            return None
        text: JsonValue = {"type": "string"}
        task = object_schema(
            id=text,
            worker={**self._workers.named},
            instructions=text,
            after={"type": "array", "items": text, "description": "Ids of tasks whose results this one needs."},
        )
        about = (
            "Have a plan carried out: tasks that wait for nothing begin at once, the others when the tasks that they"
            " come after are done, and are told their results. Returns the result of each."
        )
        tasks: JsonValue = {"type": "array", "items": task, "minItems": 1, "maxItems": MOST_TASKS}
        return ToolSchema(name, about, object_schema(tasks=tasks))

    async def answer(self, name: str, arguments: Arguments, key: str) -> Outcome:
        """Carry a plan out, and return what became of each of its tasks."""
        work, began_ms = self._work, self._work.now_ms()
        try:
            tasks = planned(arguments)
            for task in tasks:
                if not work.was_asked(_key(key, task)) and (reason := self._workers.why_not(task.worker)):
                    raise Refused(f"{task.name}: {reason}", workers=[*self._workers.names])
        except Refused as refused:
            return await keep(work, name, key, arguments=arguments, result=refused.result, began_ms=began_ms)
        outcomes = await _Execution(work, tasks, key).all()
        if not any("error" in outcome for outcome in outcomes.values()):
            return Outcome({one.name: outcomes[one.name]["result"] for one in tasks})
        result: dict[str, JsonValue] = {one.name: {**outcomes[one.name]} for one in tasks}
        return await keep(work, name, key, arguments=arguments, result=result, began_ms=began_ms)


def _key(key: str, task: Planned) -> str:
    return f"{key}/{task.name}"


class _Execution:
    """One plan on its way."""

    def __init__(self, work: Work, tasks: Sequence[Planned], key: str) -> None:
        self._work = work
        self._tasks = tasks
        self._key = key
        self._ended = {task.name: anyio.Event() for task in tasks}
        self._outcomes: dict[str, dict[str, JsonValue]] = {}

    async def all(self) -> dict[str, dict[str, JsonValue]]:
        interrupted: list[AttemptInterrupted] = []

        async def run(task: Planned) -> None:
            try:
                for before in task.after:
                    await self._ended[before].wait()
                if not interrupted:
                    self._outcomes[task.name] = await self._outcome(task)
            except AttemptInterrupted as stop:
                interrupted.append(stop)
            self._ended[task.name].set()

        async with anyio.create_task_group() as group:
            for task in self._tasks:
                group.start_soon(run, task)
        if interrupted:
            raise interrupted[0]
        return self._outcomes

    async def _outcome(self, task: Planned) -> dict[str, JsonValue]:
        failed = next((one for one in task.after if "error" in self._outcomes[one]), None)
        if failed is not None:
            return {"error": f"not begun: {failed} did not come about"}
        worker_of = {one.name: one.worker for one in self._tasks}
        inputs = [TaskInput(worker_of[one], one, self._outcomes[one]["result"]) for one in task.after]
        text = in_context(task.instructions, inputs)
        try:
            key = _key(self._key, task)
            before = await self._work.answered_before(key)
            (answer,) = before or await self._work.ask("delegate", key, task.worker, [text])
        except DelegationFailed as failure:
            self._work.raise_if_stopping()
            return {"error": failure.reason}
        return {"result": answer.output} if answer.error is None else {"error": f"{task.worker} failed: {answer.error}"}


def planned(arguments: Arguments) -> list[Planned]:
    """Return the tasks of a plan.

    Raises:
        Refused: If it cannot be carried out: ids twice or unknown, tasks that wait for themselves.
    """
    said = arguments.get("tasks")
    if not isinstance(said, list) or not 0 < len(said) <= MOST_TASKS:
        raise Refused(f"tasks must be a list of 1 to {MOST_TASKS} tasks")
    tasks: list[Planned] = []
    for one in said:
        if not isinstance(one, dict):
            raise Refused("each task must be an object with id, worker, instructions and after")
        after = tuple(dict.fromkeys(texts_in(one, "after")))
        tasks.append(Planned(text_in(one, "id"), text_in(one, "worker"), text_in(one, "instructions"), after))
    names = [task.name for task in tasks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Refused(f"two tasks have the id {twice!r}")
    for task in tasks:
        unknown = next((one for one in task.after if one not in names), None)
        if unknown is not None:
            raise Refused(f"{task.name} comes after {unknown!r}, which is no task of the plan")
    _go_in_no_circle(tasks)
    return tasks


def _go_in_no_circle(tasks: Sequence[Planned]) -> None:
    left = {task.name: set(task.after) for task in tasks}
    while free := [name for name, after in left.items() if not after & left.keys()]:
        for name in free:
            del left[name]
    if left:
        raise Refused(f"the tasks {', '.join(left)} wait for each other")
