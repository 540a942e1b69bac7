"""The agent that leads the requests of a pool: plans tasks, gives each to a worker, and joins the results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, TypeAlias

import msgspec

from engine.core.records.records import JsonValue
from engine.core.records.values import preview
from engine.core.signals import PlannedItem
from engine.core.state import State
from engine.errors import PermanentFailure
from engine.runtimes.functions.context import Context
from engine.runtimes.functions.task import Task
from engine.runtimes.values import json_value

Planner: TypeAlias = Callable[..., Any]
"""Called with a request and a number of tasks, returns the tasks: texts, or objects with a `description`, and perhaps
an `input`, a `priority` and `assigned_to`."""
Weights: TypeAlias = Sequence[tuple[str, float]]
"""Names of workers, each with its share of the tasks."""

LEAD = "lead"
"""Name of the agent."""
WORKER = "worker"
"""Specialty of all workers, by which one can take over from another."""
MAX_TASKS = 10_000
TASKS_SCHEMA: JsonValue = {
    "type": "object",
    "properties": {"tasks": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
    "required": ["tasks"],
    "additionalProperties": False,
}
"""Schema of a plan that a model makes."""
_CALL_KEY = "workflow"


def planner_agent(supervisor: str) -> str:
    """Return the name of the agent with the model of a supervisor."""
    return f"{supervisor}_planner"


def lead_with(planners: Mapping[str, Planner], keep: Callable[[str], None]) -> Callable[..., Any]:
    """Return the function of the lead.

    Args:
        planners: Functions that plan, by the names of their supervisors; may be filled later.
        keep: Called with the id of each run whose tasks have ended, or that is being stopped.
    """

    async def lead(task: Task, ctx: Context) -> JsonValue:
        """Plan the tasks of a request, have them done, and join the results."""
        parameters: Mapping[str, Any] = task.request if isinstance(task.request, dict) else {"request": task.text}
        work = ctx._work
        key = work.attempt.key(_CALL_KEY, None)
        # A later attempt gets the outcomes of the same tasks: it must not plan them again.
        items: list[PlannedItem] = []
        if not work.delegations.has_delegated(key):
            tasks = await _plan(parameters, ctx, planners)
            weights: Weights = parameters.get("workers") or [(name, 1.0) for name in workers_in(work.attempt.state)]
            items = _items(tasks, weights)
        try:
            answers = await work.delegations.ask("plan", key, "", [], plan=items)
        finally:
            keep(work.effect.run_id)
        outputs = [answer.output for answer in answers if answer.error is None]
        if not outputs:
            raise PermanentFailure(f"no task is done: {next(answer.error for answer in answers)}")
        return "\n\n".join(map(str, outputs)) if all(isinstance(output, str) for output in outputs) else outputs

    return lead


async def _plan(parameters: Mapping[str, Any], ctx: Context, planners: Mapping[str, Planner]) -> list[JsonValue]:
    """Return the tasks of a request, planned once."""
    if "tasks" in parameters:
        return list(parameters["tasks"])
    request, count = parameters.get("request"), int(parameters.get("num_tasks", 3))
    supervisor = str(parameters.get("supervisor"))
    match parameters.get("planner"):
        case "model":
            text = f"Split this request into {count} independent tasks, each understandable by itself:\n\n{request}"
            plan = await ctx.delegate(planner_agent(supervisor), text)
            tasks = plan.get("tasks") if isinstance(plan, dict) else plan
        case "function":
            if supervisor not in planners:
                raise PermanentFailure(f"this program has no SupervisorAgent {supervisor!r} with a planner")
            tasks = await ctx.step("plan", planners[supervisor], request, count)
        case _:
            return scripted_plan(str(request), count)
    if not isinstance(tasks, list) or not 0 < len(tasks) <= MAX_TASKS:
        raise PermanentFailure(f"the plan must be a list of 1 to {MAX_TASKS:,} tasks, not {preview(json_value(tasks))}")
    return tasks


def scripted_plan(request: str, count: int) -> list[JsonValue]:
    """Return the lines of a request as its tasks if there are enough, else `count` parts of it."""
    lines: list[JsonValue] = [line.strip() for line in request.splitlines() if line.strip()]
    return lines if len(lines) >= count else [f"part {part} of {count}: {request}" for part in range(1, count + 1)]


def workers_in(state: State) -> list[str]:
    """Return the names of the workers of a pool, in the order in which they came."""
    agents = [agent for agent in state.agents.values() if agent.removing is None]
    return [agent.name for agent in agents if WORKER in state.spec_of(agent).specialties]


def _items(tasks: list[JsonValue], workers: Weights) -> list[PlannedItem]:
    """Return the tasks with their workers; one that asks for the same as an earlier one is a duplicate of it."""
    turns, names = smooth_weighted(workers), dict(workers)
    first: dict[bytes, int] = {}
    items: list[PlannedItem] = []
    for place, task in enumerate(tasks):
        options = task if isinstance(task, dict) else {"description": task}
        description = options.get("description")
        if not isinstance(description, str) or not description.strip():
            raise PermanentFailure(f"task {place + 1} of the plan must be a text, or have one as its description")
        priority, worker = options.get("priority"), options.get("assigned_to") or next(turns)
        if not isinstance(worker, str) or worker not in names:
            raise PermanentFailure(
                f"task {place + 1} of the plan is for {worker!r:.60}, not one of {preview(', '.join(names))}"
            )
        if priority is not None and (type(priority) is not int or not 0 <= priority <= 9):  # no bool either
            raise PermanentFailure(f"task {place + 1} of the plan: priority must be 0 to 9, not {priority!r:.40}")
        value: JsonValue = description
        if options.get("input") is not None:
            value = {"description": description, "input": options["input"]}
        original = first.setdefault(msgspec.json.encode(value, order="sorted"), place)
        items.append(
            PlannedItem(
                title=preview(description),
                target=worker,
                input=value,
                priority=priority,
                duplicate_of=original if original != place else None,
            )
        )
    return items


def smooth_weighted(weights: Weights) -> Iterator[str]:
    """Yield names for ever, each as often as its weight says, and as evenly as possible.

    Source: nginx, "Upstream: smooth weighted round-robin balancing", 2012.
    """
    if len({weight for _, weight in weights}) == 1:
        yield from cycle(name for name, _ in weights)
    total, lead = sum(weight for _, weight in weights), [0.0] * len(weights)
    while True:
        lead = [ahead + weight for ahead, (_, weight) in zip(lead, weights, strict=True)]
        chosen = max(range(len(lead)), key=lead.__getitem__)
        lead[chosen] -= total
        yield weights[chosen][0]
