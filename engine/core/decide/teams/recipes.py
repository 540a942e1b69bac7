"""Decides on agents that agents make: recipes are written before the agent is added, and retired by people."""

from engine.core import commands
from engine.core.decide.teams.leaving import remove_member
from engine.core.decide.teams.swapping import refusals, swap_event
from engine.core.decide.teams.team import add_agent, refuse_unless
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, Mint
from engine.core.entities.recipes import MAX_RECIPE_DEPTH, Recipe
from engine.core.errors import Refused
from engine.core.events import Event, RecipeChanged, RecipeMade, RecipeRetired
from engine.core.queries.targets import find_agent, id_target
from engine.core.queries.team.code import function_name
from engine.core.queries.team.made import Powers, make, powers_of
from engine.core.queries.team.models import why_no_models
from engine.core.queries.team.recipes import (
    agent_of,
    content_hash,
    find_recipe,
    id_as_maker,
    path_of,
    recipe_id_of,
    recipe_named,
    references_to_recipes,
    unused_recipes,
)
from engine.core.queries.work.placement import queue_takeovers
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import pluralize
from engine.core.specs.limits import Limits
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Origin, State

_MAX_NAMES = 20
"""Names that a refusal lists."""


def create_agent(state: State, command: commands.CreateAgent, ctx: DecisionContext) -> Decided:
    """Write a recipe and add its agent; find both again if the maker has written an equal one before."""
    maker = find_agent(state, command.maker)
    powers = powers_of(state, maker)
    refuse_unless("create_agent" in powers.may, f"{maker.name} may make no agents; allow it with may: [create_agent]")
    recipe = _written(state, command, ctx, maker, powers)
    before = state.recipes.get(recipe.id)
    spec = _spec_of(recipe, maker, powers)
    agent = agent_of(state, recipe.id)
    is_new = before is None or content_hash(before) != content_hash(recipe)
    events: list[Event] = []
    if is_new:
        events.append(RecipeMade(recipe=recipe) if before is None else RecipeChanged(recipe=recipe))
    if agent is not None:
        if is_new and agent.recipe_id is not None:
            events += _swap(state, agent, spec)
        result: dict[str, JsonValue] = {"agent_id": agent.id}
        did = f"{'changed' if is_new else 'found'} {path_of(recipe)}"
    else:
        origin = Origin(kind="recipe", id=recipe.id, hash=content_hash(recipe))
        addition = commands.AddAgent(supervisor=id_target(maker.supervisor_id), spec=spec)
        added = add_agent(state, addition, copy_with(ctx, origin=origin))
        events += added.events
        result, did = dict(added.result), f"made {path_of(recipe)}"
    return Decided(events=events, summary=did, result={"recipe_id": recipe.id, "path": [*recipe.path], **result})


def _written(state: State, command: commands.CreateAgent, ctx: DecisionContext, maker: Agent, powers: Powers) -> Recipe:
    """Return the recipe that a command writes: the next revision of one that the maker has of that name, or a new one.

    Raises:
        Refused: If it would be too deep, or have a larger budget than its maker.
    """
    parent = state.recipes.get(recipe_id_of(maker))
    path = [*(parent.path if parent is not None else [maker.name]), command.name]
    refuse_unless(
        len(path) - 1 <= MAX_RECIPE_DEPTH,
        f"{'/'.join(path)}: agents made by agents nest at most {MAX_RECIPE_DEPTH} deep",
    )
    parent_id = id_as_maker(state, maker)
    before = recipe_named(state, parent_id, command.name)
    run = None if command.run is None else powers.tools.get(function_name(command.run), command.run)
    most = powers.spec.limits.tokens if powers.spec.limits is not None else None
    refuse_unless(
        most is None or command.tokens is None or command.tokens <= most,
        f"tokens: {command.tokens or 0:,} are more than the {most or 0:,} of {maker.name}",
    )
    return Recipe(
        id=before.id if before is not None else Mint(state)("k"),
        path=path,
        parent_id=parent_id,
        name=command.name,
        primer=command.primer,
        description=command.description,
        specialties=[*command.specialties],
        capabilities=[*dict.fromkeys(command.capabilities)],
        run=run,
        tasks=dict(command.tasks),
        model=command.model,
        limits=None if command.tokens is None else Limits(tokens=command.tokens),
        revision=1 if before is None else before.revision + 1,
        made_by=None if ctx.run_id is None else command.made_in,
        at_ms=ctx.now_ms,
    )


def _spec_of(recipe: Recipe, maker: Agent, powers: Powers) -> AgentSpec:
    """Return the spec of a recipe, without the model of its maker, which it follows; raises Refused if one lacks."""
    definition = make(recipe, powers)
    missing = next(iter(definition.missing), None)
    if missing is None:
        return definition.spec if recipe.run is not None else copy_with(definition.spec, model=recipe.model)
    if recipe.run in powers.tools.values() and missing == function_name(recipe.run or ""):
        raise Refused(f"a person is asked before {maker.name} calls {missing}; give it as a capability")
    names = [*powers.tools, *powers.toolsets, *powers.spec.mcp, *powers.may]
    listed = ", ".join(names[:_MAX_NAMES]) + ", …" * (len(names) > _MAX_NAMES)
    raise Refused(f"{missing!r} is not {maker.name}'s to give; it has {listed or 'nothing'}")


def _swap(state: State, agent: Agent, spec: AgentSpec) -> list[Event]:
    """Return the events by which an agent follows its changed recipe; work under way ends on the one before."""
    if spec == state.spec_of(agent):
        return []
    why_not = next(iter(refusals(state, agent, "drain")), "") or why_no_models(state, agent.supervisor_id, spec)
    refuse_unless(not why_not, why_not)
    event = swap_event(state, agent, spec, recipe_id=agent.recipe_id)
    return [event, *queue_takeovers(state, agent, event.queues)]


def retire_recipes(state: State, command: commands.RetireRecipes, ctx: DecisionContext) -> Decided:
    """Retire recipes and remove their agents, children first; without ids those that nothing refers to."""
    if not command.recipes:
        unused = [*unused_recipes(state)]
        return Decided(
            events=[RecipeRetired(recipe_id=recipe_id, why="unused") for recipe_id in unused],
            summary=f"retired {pluralize(len(unused), 'recipe')} that nothing referred to",
            result={"recipes": [*unused]},
        )
    recipes = {recipe.id: recipe for recipe in (find_recipe(state, target) for target in command.recipes)}
    references = references_to_recipes(state)
    events: list[Event] = []
    for recipe in sorted(recipes.values(), key=lambda each: -len(each.path)):
        left = [child for child in references[recipe.id].children if child not in recipes]
        refuse_unless(not left, f"{recipe.id} has made others: {', '.join(left)}; remove those first, or with it")
        for agent_id in references[recipe.id].agents:
            agent = state.agents[agent_id]
            if agent.removing is None:
                events += remove_member(state, commands.RemoveMember(target=id_target(agent_id)), ctx).events
        events.append(RecipeRetired(recipe_id=recipe.id, why="removed"))
    return Decided(
        events=events,
        summary=f"removed {', '.join(path_of(recipe) for recipe in recipes.values())}",
        result={"recipes": [*recipes]},
    )
