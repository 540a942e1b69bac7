"""Agents that a function has made, as it holds, calls and stores them."""

from collections.abc import Callable
from copy import copy
from typing import Any

from typing_extensions import override

from engine.core.entities.recipes import KEY, Recipe
from engine.core.queries.team.recipe_ids import recipe_id_in
from engine.core.queries.team.recipes import path_of
from engine.core.state import State


class CreatedAgent:
    """An agent made by `ctx.create_agent`; calling it delegates a value to it and returns its output.

    It may stand in `ctx.state`, where a later attempt, also of another process, finds it and calls it again.

    Attributes:
        id: Id of its recipe.
        name: Its name; the id if its recipe was removed.
        path: Names from the agent at the top down to this one; as `name`.
    """

    def __init__(self, recipe_id: str, recipe: Recipe | None, call: Callable[[str, Any, str | None], Any]) -> None:
        self.id = recipe_id
        self.name = recipe_id if recipe is None else recipe.name
        self.path = recipe_id if recipe is None else path_of(recipe)
        self._call = call

    def __call__(self, value: Any, task: str | None = None) -> Any:
        """Delegate `value`, as one of its `tasks` if one is named; await the result in an `async def`."""
        return self._call(self.id, value, task)

    def calling(self, call: Callable[[str, Any, str | None], Any]) -> "CreatedAgent":
        """Return the same agent, called in another way."""
        agent = copy(self)
        agent._call = call
        return agent

    @override
    def __repr__(self) -> str:
        return f"CreatedAgent({self.id!r}, {self.path!r})"


def without_agents(value: Any) -> Any:
    """Return a value with the JSON of each made agent in its place."""
    match value:
        case CreatedAgent():
            return {KEY: value.id}
        case dict():
            return {key: without_agents(item) for key, item in value.items()}
        case list() | tuple():
            return [without_agents(item) for item in value]
    return value


def with_agents(value: Any, state: State, call: Callable[[str, Any, str | None], Any]) -> Any:
    """Return a JSON value with made agents in place of their JSON; calls of one whose recipe is gone say so."""
    if (recipe_id := recipe_id_in(value)) is not None:
        return CreatedAgent(recipe_id, state.recipes.get(recipe_id), call)
    match value:
        case dict():
            return {key: with_agents(item, state, call) for key, item in value.items()}
        case list():
            return [with_agents(item, state, call) for item in value]
    return value
