"""Agents that agents make: recipes come first, nobody gives what it has not, and references are counted."""

from engine.core import events
from engine.core.entities.recipes import MAX_RECIPE_DEPTH
from engine.core.queries.team.recipes import References, references_to_recipes
from engine.runtimes.attempts.work import Work
from engine.simulation.laws.registry import When, law
from engine.simulation.observed import ObservedWorld
from engine.simulation.shadow_ledger import ShadowLedger

MAX_ADDED = 10
"""Most agents that the work of a run may add."""


@law(events.RecipeMade, events.RecipeChanged)
def a_recipe_gives_what_its_maker_has(
    ledger: ShadowLedger, event: events.RecipeMade | events.RecipeChanged
) -> str | None:
    """A recipe is written by who may make agents, below its own path, and names only what its maker may use."""
    recipe, recipes = event.recipe, ledger.recipes
    (_, lacking), maker = recipes.rights_by(recipe), recipes.maker_rights(recipe)
    if lacking or ("may", "create_agent", "") not in maker:
        return f"{recipe.id} names {lacking}, and its maker has {maker}"
    parent, before = recipes.recipes.get(recipe.parent_id), recipes.recipes.get(recipe.id)
    maker_path = parent.path if parent is not None else [ledger.team.agents[recipe.parent_id].name]
    if recipe.path != [*maker_path, recipe.name] or len(maker_path) > MAX_RECIPE_DEPTH:
        return f"{recipe.id} has the path {recipe.path}, and its maker {maker_path}"
    if isinstance(event, events.RecipeMade):
        return f"{recipe.id} is made twice" if before is not None else None
    if before is None or before.parent_id != recipe.parent_id or recipe.revision != before.revision + 1:
        return f"revision {recipe.revision} of {recipe.id} follows {before}"
    return None


@law(events.AgentAdded)
def recipes_come_before_their_agents(ledger: ShadowLedger, event: events.AgentAdded) -> str | None:
    """A made agent joins only after its recipe, beside no other one of it; a run adds at most ten agents."""
    recipes, origin = ledger.recipes, event.origin
    is_found = origin is not None and origin.kind == "discovery"
    if event.run_id is not None and not is_found and recipes.added[event.run_id] >= MAX_ADDED:
        return f"{event.agent_id} joins, and {event.run_id} has added {recipes.added[event.run_id]} agents before"
    if origin is None or origin.kind != "recipe":
        return None
    recipe = recipes.recipes.get(origin.id)
    if recipe is None or recipe.name != event.name:
        return f"{event.agent_id} joins as {event.name}, and its recipe is {recipe}"
    present = [agent_id for agent_id in recipes.agents_of(recipe.id) if agent_id in ledger.team.agents]
    return f"{event.agent_id} joins, and {present} are of {recipe.id} too" if present else None


@law(When.ON_BEGIN)
def a_made_agent_has_no_right_that_its_maker_lost(ledger: ShadowLedger, work: Work) -> str | None:
    """A made agent works with what its recipe names and its maker may use now, and not at all where that is less."""
    effect, spec = work.effect, work.spec
    attempt = ledger.recipes.attempts.get((effect.task_id, effect.attempt, effect.generation))
    if attempt is None:
        return None
    rights, missing = attempt
    if missing:
        return f"{effect.agent_id} works at {effect.task_id}, and its maker lacks {missing}"
    actual = {("tool", str(each)) for each in spec.tools} | {("server", name) for name in spec.mcp}
    expected = {(kind, ref or name) for kind, name, ref in rights if kind in ("tool", "server")}
    if spec.run is None:
        actual |= {("may", word) for word in spec.may}
        expected |= {("may", name) for kind, name, _ in rights if kind == "may"}
    if actual == expected:
        return None
    return f"{effect.agent_id} works at {effect.task_id} with {actual}; by its recipe and its maker it has {expected}"


@law(events.RecipeRetired)
def recipes_in_use_stay(ledger: ShadowLedger, event: events.RecipeRetired) -> str | None:
    """A recipe is retired after those that its agent has written; for want of use only where nothing refers to it."""
    references = _references(ledger, event.recipe_id)
    is_used = len(references) if event.why == "unused" else len(references.children)
    return f"{event.recipe_id} is retired ({event.why}), and {references} refer to it" if is_used else None


@law(When.SAMPLED, When.AT_THE_END)
def references_to_recipes_are_counted(world: ObservedWorld) -> str | None:
    """Recipes are as they were written, and what refers to them is counted right."""
    ledger = world.ledger
    if ledger.state.recipes != ledger.recipes.recipes:
        return f"the recipes are {ledger.state.recipes}; written were {ledger.recipes.recipes}"
    ruled = {agent.id: agent.recipe_id for agent in ledger.state.agents.values() if agent.recipe_id is not None}
    if ruled != ledger.recipes.ruled:
        return f"agents are ruled by {ruled}; events say {ledger.recipes.ruled}"
    for recipe_id, actual in references_to_recipes(ledger.state).items():
        expected = _references(ledger, recipe_id)
        if (actual.agents, sorted(actual.values), actual.children) != (
            expected.agents,
            expected.values,
            expected.children,
        ):
            return f"{actual} refer to {recipe_id}; events say {expected}"
    return None


def _references(ledger: ShadowLedger, recipe_id: str) -> References:
    recipes = ledger.recipes
    children = [recipe.id for recipe in recipes.recipes.values() if recipe.parent_id == recipe_id]
    values = sorted(ledger.agent_state.references(recipe_id))
    return References(agents=recipes.agents_of(recipe_id), values=values, children=children)
