"""The models that agents may be given: those that the settings of their supervisors name, and names of litellm."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.core.discovery.nearest import nearest
from engine.core.queries.team.tree import lineage_of
from engine.core.specs.model_spec import McpSpec, ModelSpec, Price
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, State

_MAX_NAMES = 10
"""Names that a refusal lists."""


class ModelFacts(NamedTuple):
    """What is known of a model before it is asked."""

    price: Price | None
    context_tokens: int | None
    """Tokens that a request may hold."""


def model_names(model: str | Sequence[str] | None) -> list[str]:
    """Return the names of the models of an agent, in the order of failover; empty if its spec names none."""
    return [model] if isinstance(model, str) else list(model or ())


def put_first(model: str | Sequence[str] | None, name: str) -> str | list[str]:
    """Return the models of an agent with another one first; those of a list follow, for failover."""
    return name if model is None or isinstance(model, str) else [name, *(other for other in model if other != name)]


def team_models(state: State, supervisor_id: str) -> dict[str, ModelSpec]:
    """Return the models that a supervisor and those above it name, the nearest first; of equal names the nearest."""
    models: dict[str, ModelSpec] = {}
    for supervisor in lineage_of(state, state.supervisors[supervisor_id]):
        models = {**models, **{name: model for name, model in supervisor.options.models.items() if name not in models}}
    return models


def team_servers(state: State, supervisor_id: str) -> dict[str, McpSpec]:
    """Return the tool servers that a supervisor and those above it name; of equal names the nearest."""
    servers: dict[str, McpSpec] = {}
    for supervisor in lineage_of(state, state.supervisors[supervisor_id]):
        servers = {**supervisor.options.mcp, **servers}
    return servers


def why_no_servers(state: State, supervisor_id: str, spec: AgentSpec) -> str:
    """Return why a tool server of a spec cannot be used in a team; "" if all can be."""
    servers = team_servers(state, supervisor_id)
    name = next((name for name in spec.mcp if name.partition("/")[0] not in servers), None)
    return "" if name is None else f"no tool server {name.partition('/')[0]!r} here or above"


def models_to_swap(state: State, agents: Sequence[Agent]) -> dict[str, ModelSpec]:
    """Return the models of the team that each of some agents may be given, but the one that all of them have first.

    Empty unless a model plays each of them.
    """
    if not agents or not all(state.spec_of(agent).is_played_by_model for agent in agents):
        return {}
    models = [team_models(state, agent.supervisor_id) for agent in agents]
    present = [model_names(state.spec_of(agent).model) for agent in agents]
    return {
        name: model
        for name, model in models[0].items()
        if all(name in each for each in models) and any(each[:1] != [name] for each in present)
    }


def why_no_models(state: State, supervisor_id: str, spec: AgentSpec) -> str:
    """Return why a model of a new or changed spec cannot be meant; "" if all can be.

    A name without a provider has to be one of the team's settings, or one that an agent has already: a team file, which
    is loaded as it is, may name a model of litellm so.
    """
    if not spec.is_played_by_model:
        return ""
    models = team_models(state, supervisor_id)
    unlisted = [name for name in model_names(spec.model) if name not in models and "/" not in name]
    present = {name for agent in state.agents.values() if unlisted for name in model_names(state.spec_of(agent).model)}
    name = next((name for name in unlisted if name not in present), None)
    if name is None:
        return ""
    known = [*dict.fromkeys([*nearest(name, models), *sorted(models)])]
    listed = f"known: {', '.join(known[:_MAX_NAMES])}{', …' * (len(known) > _MAX_NAMES)}; or give" if known else "give"
    return f"no model {name!r} in the team; {listed} provider/name"
