"""What an agent that another agent made may do now: its recipe within what its maker may do, looked up at each attempt.

Rule: nobody gives more than it has, and what a maker has lost, its agents have lost. See docs/reference/made-agents.md.
"""

from collections.abc import Iterable, Sequence

from engine.core.entities.recipes import Recipe, RecipeTask
from engine.core.queries.team.code import function_name
from engine.core.queries.team.models import model_names
from engine.core.queries.team.recipes import maker_of, recipe_id_of
from engine.core.queries.team.tree import lineage_of
from engine.core.records.records import copy_with, fact
from engine.core.records.values import as_text
from engine.core.specs.limits import Limits
from engine.core.specs.spec import MAX_TOOLS, OF_STEPS, AgentSpec, May, spec_hash
from engine.core.state import Agent, State

AGENTS = "agents"
"""The capability to make agents, `may: [create_agent]`."""
MODEL_PREFIX = "model:"
_OF_FUNCTIONS: tuple[May, ...] = ("ask_human", "remember", "recall", "create_agent", "list_workers")
"""What every function may do by its `ctx`, and so may give."""
_AMOUNTS = ("attempts", "time_s", "tokens", "cost_usd")


@fact
class Powers:
    """What an agent may use now, by the names that recipes have for it."""

    spec: AgentSpec
    tools: dict[str, str]
    """References by name."""
    may: list[str]
    models: list[str] | None
    """None is any."""
    toolsets: dict[str, list[str]]
    model: str | Sequence[str] | None = None
    """The model of what it makes, where a recipe names none: its own, or that of its lead."""


@fact
class MadeAgent:
    """A made agent as it works now."""

    spec: AgentSpec
    may: list[str]
    """Words of `may`; the spec of a function has none."""
    effective: list[str]
    """Capabilities of its recipe that its maker has, too."""
    missing: list[str]
    """Those that its maker has no more; its attempts fail with the first."""


def team_toolsets(state: State, supervisor_id: str) -> dict[str, list[str]]:
    """Return the toolsets of a supervisor and those above it; of equal names the nearest."""
    toolsets: dict[str, list[str]] = {}
    for supervisor in lineage_of(state, state.supervisors[supervisor_id]):
        toolsets = {**{name: [*map(str, tools)] for name, tools in supervisor.options.toolsets.items()}, **toolsets}
    return toolsets


def powers_of(state: State, agent: Agent) -> Powers:
    """Return what an agent may use now."""
    spec = state.spec_of(agent)
    if agent.recipe_id is not None:
        recipe = state.recipes.get(agent.recipe_id)
        return _nothing(spec) if recipe is None else _powers_of_made(state, recipe)
    tools = _by_name(spec.tools)
    toolsets = team_toolsets(state, agent.supervisor_id)
    if not spec.is_played_by_model:  # the user's own code, which can do what the team can do
        model = _lead_model(state, agent.supervisor_id)
        may: list[str] = [*_OF_FUNCTIONS, *spec.may]
        return Powers(spec=spec, tools=tools, may=may, models=None, toolsets=toolsets, model=model)
    own = {name: tools for name, tools in toolsets.items() if set(tools) <= set(spec.tools)}
    models = model_names(spec.model)
    return Powers(spec=spec, tools=tools, may=[*spec.may], models=models, toolsets=own, model=spec.model)


def _lead_model(state: State, supervisor_id: str) -> str | Sequence[str] | None:
    """Return the model of the lead of a supervisor, or of the nearest one above it that has a lead."""
    for supervisor in lineage_of(state, state.supervisors[supervisor_id]):
        for agent in (state.agents[member_id] for member_id in supervisor.members if member_id in state.agents):
            if agent.name == supervisor.options.lead and state.spec_of(agent).model:
                return state.spec_of(agent).model
    return None


def _powers_of_made(state: State, recipe: Recipe) -> Powers:
    maker = _maker_powers(state, recipe)
    definition = make(recipe, maker)
    spec = definition.spec
    toolsets = {name: tools for name, tools in maker.toolsets.items() if name in definition.effective}
    return Powers(
        spec=spec,
        tools=_by_name(spec.tools),
        may=definition.may,
        models=maker.models if recipe.run is not None else model_names(spec.model),
        toolsets=toolsets,
        model=maker.model if recipe.run is not None else spec.model,
    )


def _by_name(references: Iterable[object]) -> dict[str, str]:
    return {function_name(reference): reference for reference in references if isinstance(reference, str)}


def _maker_powers(state: State, recipe: Recipe) -> Powers:
    """Return what the maker of a recipe may use now; nothing if it is gone."""
    agent, parent = maker_of(state, recipe), state.recipes.get(recipe.parent_id)
    if agent is not None:
        return powers_of(state, agent)
    if parent is not None:
        return _powers_of_made(state, parent)
    return _nothing(AgentSpec(name=recipe.path[0]))


def _nothing(spec: AgentSpec) -> Powers:
    return Powers(spec=spec, tools={}, may=[], models=[], toolsets={})


def made_now(state: State, recipe: Recipe) -> MadeAgent:
    """Return what the agent of a recipe is and may do now."""
    return make(recipe, _maker_powers(state, recipe))


def make(recipe: Recipe, maker: Powers) -> MadeAgent:
    """Return what a recipe makes of what its maker may use."""
    tools: dict[str, str] = {}
    servers: list[str] = []
    may: list[str] = []
    missing: list[str] = []
    for name in recipe.capabilities:
        if name == AGENTS or name in maker.may:
            right = "create_agent" if name == AGENTS else name
            (may if right in maker.may else missing).append(right if right in maker.may else name)
        elif name in maker.tools or name in maker.toolsets:
            own = {name: maker.tools[name]} if name in maker.tools else _by_name(maker.toolsets[name])
            if len(tools | own) <= MAX_TOOLS:
                tools |= own
            else:  # a toolset that has grown since
                missing.append(name)
        elif _has_server(maker.spec, name):
            servers.append(name)
        elif not (name.startswith(MODEL_PREFIX) and _has_model(maker, name.removeprefix(MODEL_PREFIX))):
            missing.append(name)
    if recipe.run is not None and recipe.run != _function(recipe.run, maker):
        missing.append(function_name(recipe.run))
    if recipe.model is not None and not _has_model(maker, recipe.model):
        missing.append(f"{MODEL_PREFIX}{recipe.model}")
    rules = {
        name: rule
        for name, rule in maker.spec.approve.items()
        if _is_among(name, [*tools, *may], servers) or (tools and not _is_known(name, maker))
    }
    spec = copy_with(
        maker.spec,  # time limits and policies are those of the maker
        name=recipe.name,
        agent_type="llm" if recipe.run is None else "function",
        run=recipe.run,
        run_in=None,
        description=recipe.description or (recipe.primer if recipe.run is not None else ""),
        instructions="" if recipe.run is not None else _instructions(recipe),
        specialties=[*recipe.specialties],
        model=None if recipe.run is not None else recipe.model or maker.model,
        tools=[*dict.fromkeys(tools.values())],
        mcp=[*dict.fromkeys(servers)],
        may=[*dict.fromkeys(may)] if recipe.run is None else [],
        approve=rules,
        limits=_tightest(recipe.limits, maker.spec.limits),
        output=None,
        category=None,
        weight=1.0,
        max_concurrency=1,
        **dict.fromkeys(() if recipe.run is None else OF_STEPS),
        pool=None,
        options={},
    )
    effective = [name for name in recipe.capabilities if name not in missing]
    return MadeAgent(spec=spec, may=may, effective=effective, missing=[*dict.fromkeys(missing)])


def working_spec(state: State, agent: Agent) -> tuple[AgentSpec, str | None]:
    """Return the spec by which an agent works now, and the capability that it lacks, if it lacks one."""
    present = state.spec_of(agent)
    if agent.recipe_id is None:
        return present, None
    recipe = state.recipes.get(agent.recipe_id)
    if recipe is None:
        return present, f"recipe {agent.recipe_id}"
    definition = made_now(state, recipe)
    # A person may have given it a model of its own since.
    spec = copy_with(definition.spec, model=present.model or definition.spec.model)
    return (present if spec == present else spec), next(iter(definition.missing), None)


def _function(reference: str, maker: Powers) -> str | None:
    """Return the tool of a maker that may do the work of a made agent: one that it calls without a question."""
    name, rules = function_name(reference), maker.spec.approve
    asks = any(rules[rule] != "never" for rule in rules if rule == name or not _is_known(rule, maker))
    return None if asks else maker.tools.get(name)


def _is_known(rule_name: str, maker: Powers) -> bool:
    """Return whether an approval rule is for a tool by its reference; else `@tool(name=...)` gives one that name."""
    return "/" in rule_name or rule_name in maker.tools or rule_name in maker.may


def _has_server(spec: AgentSpec, name: str) -> bool:
    return name in spec.mcp or ("/" in name and name.partition("/")[0] in spec.mcp)


def _has_model(maker: Powers, name: str) -> bool:
    return maker.models is None or name in maker.models


def _is_among(rule_name: str, names: Sequence[str], servers: Sequence[str]) -> bool:
    """Return whether an approval rule applies to one of these tools, rights or servers."""
    return rule_name in (*names, *servers) or rule_name.partition("/")[0] in servers


def _tightest(own: Limits | None, maker: Limits | None) -> Limits | None:
    if own is None or maker is None:
        return own or maker
    amounts = {name: _smaller(getattr(own, name), getattr(maker, name)) for name in _AMOUNTS}
    return copy_with(maker, **amounts)


def _smaller(one: object, other: object) -> object:
    given = [amount for amount in (one, other) if amount is not None]
    return min(given, default=None)  # type: ignore[type-var]  # amounts of one kind


def ruling_recipe(state: State, agent: Agent, spec: AgentSpec) -> str | None:
    """Return the recipe that rules the rights of an agent once it has `spec`; None for a spec that a person gave it."""
    recipe = state.recipes.get(recipe_id_of(agent))
    if recipe is None:
        return None
    if agent.was_ruled and spec_hash(spec) == agent.previous:  # what its maker has lost meanwhile does not come back
        return recipe.id
    ruled = copy_with(made_now(state, recipe).spec, model=spec.model)
    return recipe.id if spec_hash(ruled) == spec_hash(spec) else None


def _instructions(recipe: Recipe) -> str:
    """Return what a model is told it is, with the tasks that it is called for."""
    if not recipe.tasks:
        return recipe.primer
    lines = [f"- {name}: {task.doc}{_schemas(task)}" for name, task in recipe.tasks.items()]
    return "\n".join([recipe.primer, "", "You get one of these tasks, by its name:", *lines])


def _schemas(task: RecipeTask) -> str:
    parts = (("Its input", task.input), ("Answer with JSON alone", task.output))
    return "".join(f" {words}: {as_text(schema)}" for words, schema in parts if schema is not None)
