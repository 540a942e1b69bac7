"""Agents that a function has made, as it holds, calls and stores them."""

from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import override

from engine.core.entities.recipes import KEY, Recipe
from engine.core.queries.team.recipe_ids import recipe_id_in
from engine.core.queries.team.recipes import path_of


class CreatedAgent(dict[str, Any]):
    """An agent made by `ctx.create_agent`; calling it delegates a value to it and returns its output.

    It is its JSON, `{"$agent": id}`, and may stand in inputs, outputs and `ctx.state`, where a later attempt, also of
    another process, finds it and calls it again.

    Attributes:
        id: Id of its recipe.
        name: Its name; the id if its recipe was removed.
        path: Names from the agent at the top down to this one; as `name`.
    """

    def __init__(self, recipe_id: str, recipe: Recipe | None, call: Callable[[str, Any, str | None], Any]) -> None:
        super().__init__({KEY: recipe_id})
        self.id = recipe_id
        self.name = recipe_id if recipe is None else recipe.name
        self.path = recipe_id if recipe is None else path_of(recipe)
        self._call = call

    def __call__(self, value: Any, task: str | None = None) -> Any:
        """Delegate `value`, as one of its `tasks` if one is named; await the result in an `async def`."""
        return self._call(self.id, value, task)

    @override
    def __repr__(self) -> str:
        return f"CreatedAgent({self.id!r}, {self.path!r})"


def with_agents(value: Any, recipes: Mapping[str, Recipe], call: Callable[[str, Any, str | None], Any]) -> Any:
    """Return a copy of a JSON value, with made agents in place of their JSON."""
    if (recipe_id := recipe_id_in(value)) is not None:
        return CreatedAgent(recipe_id, recipes.get(recipe_id), call)
    match value:
        case dict():
            return {key: with_agents(item, recipes, call) for key, item in value.items()}
        case list():
            return [with_agents(item, recipes, call) for item in value]
    return value
