"""Laws of recipes: paths as deep as they may be, each below that of its maker."""

from collections.abc import Iterator

from engine.core.entities.recipes import MAX_RECIPE_DEPTH, RECIPE_SCHEMA
from engine.core.queries.team.recipes import recipe_id_of
from engine.core.state import State
from engine.core.validation.bounds import NAME


def recipes_stand_in_trees(state: State) -> Iterator[str]:
    """The path of a recipe is that of its maker's recipe and its name, so that no recipe stands above itself."""
    for recipe in state.recipes.values():
        parent, agent = state.recipes.get(recipe.parent_id), state.agents.get(recipe.parent_id)
        names = recipe.path
        is_path = 2 <= len(names) <= MAX_RECIPE_DEPTH + 1 and all(map(NAME.fullmatch, names))
        if not is_path or names[-1] != recipe.name:
            yield f"{recipe.id} has a path that no recipe can have"
        elif parent is not None and parent.path != names[:-1]:
            yield f"{recipe.id} has the path {'/'.join(names)}, which is not below that of {parent.id}"
        elif agent is not None and recipe_id_of(agent) in state.recipes:
            yield f"{recipe.id} was made by {agent.id}, which a recipe has made; that is its maker"


def recipes_are_readable(state: State) -> Iterator[str]:
    """A recipe has the schema that this version knows, and its maker has one recipe of a name."""
    seen: set[tuple[str, str]] = set()
    for recipe in state.recipes.values():
        if recipe.schema != RECIPE_SCHEMA or recipe.revision < 1:
            yield f"{recipe.id} is written in schema {recipe.schema}, and this version reads {RECIPE_SCHEMA}"
        if (recipe.parent_id, recipe.name) in seen:
            yield f"{recipe.parent_id} has two recipes named {recipe.name}"
        seen.add((recipe.parent_id, recipe.name))


def recipes_rule_agents_that_they_made(state: State) -> Iterator[str]:
    """The recipe that rules the rights of an agent is the one that made it, and it makes one agent at a time."""
    made: set[str] = set()
    for agent in state.agents.values():
        origin = agent.origin
        is_made = origin is not None and origin.kind == "recipe"
        if agent.recipe_id is not None and not (is_made and origin is not None and origin.id == agent.recipe_id):
            yield f"{agent.id} is ruled by {agent.recipe_id}, which did not make it"
        if is_made and origin is not None and origin.id in state.recipes:
            if origin.id in made:
                yield f"{origin.id} has made two agents"
            made.add(origin.id)
