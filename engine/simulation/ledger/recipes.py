"""Independent bookkeeping of agents that agents make: their recipes, and what each may use by what its maker has."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from engine.core import events
from engine.core.entities.recipes import Recipe
from engine.core.state import State
from engine.simulation.ledger import Ledger
from engine.simulation.ledger.team import TeamLedger

_OF_FUNCTIONS = ("ask_human", "remember", "recall", "create_agent", "list_workers")


Right: TypeAlias = tuple[str, str, str]
"""What an agent may use: its kind (tool, set, may, server, model), its name in recipes (`*` is any), a reference."""


class RecipeLedger(Ledger):
    """Every recipe, and the agents that they made."""

    def __init__(self, team: TeamLedger) -> None:
        self._team = team
        self.recipes: dict[str, Recipe] = {}
        self.makers: dict[str, str] = {}
        """The recipe by which each made agent was made, by id of the agent."""
        self.ruled: dict[str, str] = {}
        """The same without agents that a person has granted another spec."""
        self.added: Counter[str] = Counter()
        """Number of agents that were added by a run and not found, by run."""
        self.attempts: dict[tuple[str, int, int | None], tuple[set[Right], list[str]]] = {}
        """Rights of a made agent, and those that it lacked, when its attempt began: by task, attempt, generation."""

    def adopt(self, state: State) -> None:
        """Take the recipes of an import from the state."""
        self.recipes = dict(state.recipes)
        origins = {agent.id: agent.origin for agent in state.agents.values()}
        self.makers = {each: origin.id for each, origin in origins.items() if origin and origin.kind == "recipe"}
        self.ruled = {agent.id: agent.recipe_id for agent in state.agents.values() if agent.recipe_id is not None}
        self.added = Counter({run.id: run.agents_added for run in state.runs.values()})

    def _on_recipe_made(self, event: events.RecipeMade | events.RecipeChanged) -> None:
        self.recipes[event.recipe.id] = event.recipe

    _on_recipe_changed = _on_recipe_made

    def _on_recipe_retired(self, event: events.RecipeRetired) -> None:
        del self.recipes[event.recipe_id]

    def _on_agent_added(self, event: events.AgentAdded) -> None:
        kind = None if event.origin is None else event.origin.kind
        if event.origin is not None and kind == "recipe":
            self.makers[event.agent_id] = self.ruled[event.agent_id] = event.origin.id
        if event.run_id is not None and kind != "discovery":
            self.added[event.run_id] += 1

    def _on_agent_removed(self, event: events.AgentRemoved) -> None:
        self.makers.pop(event.agent_id, None)
        self.ruled.pop(event.agent_id, None)

    def _on_agent_swapped(self, event: events.AgentSwapped | events.SwapRolledBack) -> None:
        self.ruled.pop(event.agent_id, None)
        if event.recipe_id is not None:
            self.ruled[event.agent_id] = event.recipe_id

    _on_swap_rolled_back = _on_agent_swapped

    def _note_begin(self, event: events.AttemptStarted | events.AttemptMigrated) -> None:
        recipe = self.recipes.get(self.ruled.get(event.agent_id or "", ""))
        if recipe is not None:
            key = (event.task_id, event.attempt, event.generation)
            self.attempts[key] = self.rights_by(recipe)

    _on_attempt_started = _on_attempt_migrated = _note_begin

    # Questions

    def agents_of(self, recipe_id: str) -> list[str]:
        """Return the agents that a recipe has made."""
        return [agent_id for agent_id, maker_id in self.makers.items() if maker_id == recipe_id]

    def top_of(self, agent_id: str) -> str:
        """Return the agent at the top of an agent's path, as far as its recipes are there; itself if nobody made it."""
        maker_id = self.makers.get(agent_id, agent_id)
        while maker_id in self.recipes:
            maker_id = self.recipes[maker_id].parent_id
        return maker_id

    def rights_by(self, recipe: Recipe) -> tuple[set[Right], list[str]]:
        """Return the rights of the agent of a recipe: what it names and its maker has; and the rest of it."""
        maker = self.maker_rights(recipe)
        named = {"create_agent" if name == "agents" else name for name in recipe.capabilities}
        named |= set() if recipe.model is None else {f"model:{recipe.model}"}
        servers = {name for kind, name, _ in maker if kind == "server"}
        granted = {right for right in maker if right[1] in named or (right[0] == "model" and recipe.model is None)}
        granted |= {("tool", _tool_name(reference), reference) for kind, _, reference in granted if kind == "set"}
        granted |= {("server", name, "") for name in named if name.partition("/")[0] in servers}
        if ("model", "*", "") in maker:
            granted |= {("model", name, "") for name in named if name.startswith("model:")}
        missing = sorted(named - {name for _, name, _ in granted})
        if recipe.run is not None and ("tool", _tool_name(recipe.run), recipe.run) not in maker:
            missing.append(recipe.run)
        return granted, missing

    def maker_rights(self, recipe: Recipe) -> set[Right]:
        """Return the rights of the maker of a recipe now; none if it is gone."""
        agent_id = next(iter(self.agents_of(recipe.parent_id)), recipe.parent_id)
        if agent_id in self._team.agents and agent_id not in self.ruled:
            return set(self._rights_of_spec(agent_id))
        ruling = self.recipes.get(self.ruled.get(agent_id, recipe.parent_id))
        return set() if ruling is None else self.rights_by(ruling)[0]

    def _rights_of_spec(self, agent_id: str) -> Iterator[Right]:
        """Yield the rights of an agent that follow from its own spec and its place."""
        agent = self._team.agents[agent_id]
        spec, nearer = agent.spec, set[str]()
        yield from (("tool", _tool_name(each), each) for each in spec.tools if isinstance(each, str))
        yield from (("server", name, "") for name in spec.mcp)
        yield from (("may", word, "") for word in (*spec.may, *(() if spec.is_played_by_model else _OF_FUNCTIONS)))
        models = [spec.model] if isinstance(spec.model, str) else spec.model or ()
        yield from (("model", f"model:{name}" if spec.is_played_by_model else "*", "") for name in models or ("",))
        for supervisor in self._team.lineage(agent.supervisor_id):
            for name, functions in supervisor.options.toolsets.items():
                if name not in nearer and not (spec.is_played_by_model and set(functions) - set(spec.tools)):
                    yield from (("set", name, str(each)) for each in functions)
                nearer.add(name)


def _tool_name(reference: str) -> str:
    return reference.partition("#")[0].replace(".", ":").rpartition(":")[2]
