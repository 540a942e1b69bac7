"""Agents that an attempt makes and calls: by `ctx`, or by the tool `create_agent` of a model."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from engine.core.commands import CreateAgent
from engine.core.entities.memory import Evidence
from engine.core.entities.recipes import Recipe, RecipeTask
from engine.core.queries.targets import id_target
from engine.core.queries.team.recipes import agent_of, id_as_maker, maker_of, path_of, recipe_named
from engine.core.records.records import JsonValue
from engine.core.state import Agent
from engine.errors import DelegationFailed, RecipeGone, TaskMismatch
from engine.runtimes.attempts.work import Work
from engine.runtimes.model.output import SchemaMismatch, check_value, parse_output


async def create_agent(work: Work, key: str, fields: Mapping[str, Any]) -> Recipe:
    """Make an agent in the name of the one that works, once for each key, and return its recipe.

    Raises:
        CommandRefusedError: If a name in it is not its maker's to give, or there would be too many or too deep.
        BadValue: If a field cannot be right.
    """
    effect = work.effect
    made_in = Evidence(run_id=effect.run_id, task_id=effect.task_id, step=key)
    command = CreateAgent(maker=id_target(effect.agent_id), made_in=made_in, **fields)
    await work.order(command, key)
    return find_made(work, command.name)


def find_made(work: Work, name: str) -> Recipe:
    """Return the recipe of a name that the agent has written; raises RecipeGone.

    Not by the id that a step has recorded: an import into a team may have given the recipe another.
    """
    state = work.attempt.state
    recipe = recipe_named(state, id_as_maker(state, state.agents[work.effect.agent_id]), name)
    if recipe is None:
        raise RecipeGone(f"the recipe of {name!r} was removed meanwhile")
    return recipe


async def call_agent(work: Work, recipe_id: str, value: JsonValue, task_name: str | None) -> JsonValue:
    """Delegate a value to a made agent, which is added again if it has left the team, and return its output.

    Raises:
        RecipeGone: If its recipe, or its maker, is not there any more.
        TaskMismatch: If the value or the output does not fit the schema of the task.
        DelegationFailed: If the agent failed.
    """
    recipe = work.attempt.state.recipes.get(recipe_id)
    if recipe is None:
        raise RecipeGone(f"the recipe {recipe_id} was removed: make the agent again")
    task = RecipeTask() if task_name is None else recipe.tasks.get(task_name)
    if task is None:
        names = ", ".join(recipe.tasks) or "none"
        raise TaskMismatch(f"{path_of(recipe)} has no task {task_name!r}; it has {names}")
    where = f"{path_of(recipe)}{f', task {task_name}' * (task_name is not None)}"
    await _check(work, value, task.input, f"{where}: its input does not fit")
    item: JsonValue = value if task_name is None else {"task": task_name, "input": value}
    key = work.attempt.key(f"delegate:{recipe.id}", item)
    # By its id: others may have its name, and be nearer.
    target = "" if work.delegations.has_delegated(key) else id_target((await _in_team(work, recipe)).id)
    (answer,) = await work.delegations.ask("delegate", key, target, [item])
    if answer.error is not None:
        raise DelegationFailed(recipe.name, answer.error, answer.task_id)
    return await _check(work, answer.output, task.output, f"{where}: its output does not fit")


async def _in_team(work: Work, recipe: Recipe) -> Agent:
    """Return the agent of a recipe, after adding it, and its maker, if they have left the team."""
    state = work.attempt.state
    agent = agent_of(state, recipe.id)
    if agent is not None:
        return agent
    parent = state.recipes.get(recipe.parent_id)
    maker = maker_of(state, recipe) if parent is None else await _in_team(work, parent)
    if maker is None:
        raise RecipeGone(f"{path_of(recipe)} cannot be added again: {recipe.path[0]}, which made it, has left the team")
    command = CreateAgent(
        maker=id_target(maker.id),
        made_in=recipe.made_by,
        tokens=None if recipe.limits is None else recipe.limits.tokens,
        **{name: getattr(recipe, name) for name in _COPIED},
    )
    await work.order(command, work.attempt.key("add again", recipe.id))
    agent = agent_of(work.attempt.state, recipe.id)
    if agent is None:
        raise RecipeGone(f"{path_of(recipe)} has left the team again")
    return agent


_COPIED = ("name", "primer", "description", "specialties", "capabilities", "run", "tasks", "model")


async def _check(work: Work, value: JsonValue, schema: JsonValue, why: str) -> JsonValue:
    """Return a value that fits a schema; a text may be the JSON of one."""
    if schema is None:
        return value
    try:
        if isinstance(value, str) and not _takes_text(schema):
            return await work.in_thread(partial(parse_output, value, schema))
        await work.in_thread(partial(check_value, value, schema))
    except SchemaMismatch as mismatch:
        raise TaskMismatch(f"{why}: {mismatch}") from mismatch
    return value


def _takes_text(schema: JsonValue) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "string"


def tasks_of(tasks: Mapping[str, Any] | None) -> dict[str, RecipeTask]:
    """Return the tasks of a recipe from JSON: `{name: {doc, input, output}}`.

    Raises:
        TaskMismatch: If it is something else.
    """
    try:
        return msgspec.convert(dict(tasks or {}), dict[str, RecipeTask])
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        raise TaskMismatch(f"tasks must be {{name: {{doc, input, output}}}}: {error}") from error
