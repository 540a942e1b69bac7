"""Recipes of a team: found by path, their agents, and what refers to them."""

from collections.abc import Iterator

from engine.core.entities.recipes import Recipe
from engine.core.errors import Refused
from engine.core.records.records import fact
from engine.core.specs.spec import digest
from engine.core.state import Agent, State


@fact
class References:
    """What refers to a recipe; one that nothing refers to may be retired."""

    agents: list[str]
    """Ids of agents that it made."""
    values: list[str]
    """Values of `ctx.state`, as `agent id:key`."""
    children: list[str]
    """Ids of recipes that its agent wrote."""

    def __len__(self) -> int:
        return len(self.agents) + len(self.values) + len(self.children)


def references_to_recipes(state: State) -> dict[str, References]:
    """Return what refers to each recipe, by its id."""
    references = {recipe_id: References(agents=[], values=[], children=[]) for recipe_id in state.recipes}
    for agent in state.agents.values():
        if (recipe_id := recipe_id_of(agent)) in references:
            references[recipe_id].agents.append(agent.id)
    for agent in state.agents.values():
        for key, value in agent.kept.items():
            for recipe_id in {*value.recipes} & references.keys():
                references[recipe_id].values.append(f"{agent.id}:{key}")
    for recipe in state.recipes.values():
        if recipe.parent_id in references:
            references[recipe.parent_id].children.append(recipe.id)
    return references


def unused_recipes(state: State) -> Iterator[str]:
    """Yield the recipes that nothing refers to, children before the maker that only they refer to."""
    references = references_to_recipes(state)
    gone: set[str] = set()
    for recipe in sorted(state.recipes.values(), key=lambda each: -len(each.path)):
        refers = references[recipe.id]
        if not refers.agents and not refers.values and gone.issuperset(refers.children):
            gone.add(recipe.id)
            yield recipe.id


def recipe_id_of(agent: Agent) -> str:
    """Return the recipe that made an agent; "" if none did."""
    return agent.origin.id if agent.origin is not None and agent.origin.kind == "recipe" else ""


def id_as_maker(state: State, agent: Agent) -> str:
    """Return the id by which recipes name an agent as their maker: its own recipe, or itself."""
    recipe_id = recipe_id_of(agent)
    return recipe_id if recipe_id in state.recipes else agent.id


def agent_of(state: State, recipe_id: str) -> Agent | None:
    """Return the agent that a recipe made, if it is in the team."""
    return next((agent for agent in state.agents.values() if recipe_id_of(agent) == recipe_id), None)


def recipe_named(state: State, parent_id: str, name: str) -> Recipe | None:
    """Return the recipe of a name that a maker has written."""
    return next(
        (recipe for recipe in state.recipes.values() if recipe.parent_id == parent_id and recipe.name == name), None
    )


def find_recipe(state: State, target: str) -> Recipe:
    """Return a recipe by its id or its path (`architect/solver`).

    Raises:
        Refused: If there is none, or several have the path.
    """
    if target in state.recipes:
        return state.recipes[target]
    recipes = [recipe for recipe in state.recipes.values() if path_of(recipe) == target]
    if len(recipes) == 1:
        return recipes[0]
    if recipes:
        ids = ", ".join(recipe.id for recipe in recipes)
        raise Refused(f"several recipes have the path {target}: {ids}; give an id")
    listed = ", ".join(f"{recipe.id} {path_of(recipe)}" for recipe in [*state.recipes.values()][:10])
    raise Refused(f"no recipe {target!r:.80}; {f'known: {listed}' if listed else 'no agent has made another'}")


def makers(state: State) -> dict[str, str]:
    """Return the maker of each made agent, by id, as far as both are in the team."""
    agent_ids = {recipe_id: agent.id for agent in state.agents.values() if (recipe_id := recipe_id_of(agent))}
    maker_ids: dict[str, str] = {}
    for recipe_id, agent_id in agent_ids.items() if state.recipes else ():
        parent_id = state.recipes[recipe_id].parent_id if recipe_id in state.recipes else ""
        maker_id = agent_ids.get(parent_id, parent_id)
        if maker_id in state.agents:
            maker_ids[agent_id] = maker_id
    return maker_ids


def path_of(recipe: Recipe) -> str:
    """Return the path of a recipe as one text."""
    return "/".join(recipe.path)


def maker_of(state: State, recipe: Recipe) -> Agent | None:
    """Return the agent that wrote a recipe, if it is in the team."""
    return state.agents.get(recipe.parent_id) or agent_of(state, recipe.parent_id)


def content_hash(recipe: Recipe) -> str:
    """Return the hash of what a recipe says, apart from when and where it was written."""
    return digest(
        [
            recipe.path, recipe.primer, recipe.description, recipe.specialties, recipe.capabilities, recipe.run,
            {name: [task.doc, task.input, task.output] for name, task in recipe.tasks.items()},
            recipe.model, None if recipe.limits is None else recipe.limits.tokens,
        ]
    )  # fmt: skip


def path_of_agent(state: State, agent_id: str) -> str:
    """Return the path of a made agent, or the name of another."""
    agent = state.agents[agent_id]
    recipe = state.recipes.get(recipe_id_of(agent))
    return agent.name if recipe is None else path_of(recipe)
