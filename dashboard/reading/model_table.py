"""What is known of models before they are asked: from the team's settings, else from the table of litellm."""

from engine.core.queries.team.models import ModelFacts, model_names, team_models
from engine.core.specs.model_spec import ModelSpec, Price
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.models.price_table import has_table, listed_facts


def facts_of(model: ModelSpec | str) -> ModelFacts | None:
    """Return the price and the context size of a model of the team, or of litellm by its name.

    None if it is a name that litellm's table does not list. The first call may read that table, about 50 ms.
    """
    if isinstance(model, str):
        return listed_facts(model) or (None if has_table() else ModelFacts(None, None))
    if model.replies:
        return ModelFacts(model.price or Price(), model.context_tokens)
    listed = listed_facts(model.model or "") if model.base_url is None else None
    price, context_tokens = listed or (None, None)
    return ModelFacts(model.price or price, model.context_tokens or context_tokens)


def unlisted_models(state: State, supervisor_id: str, spec: AgentSpec) -> list[str]:
    """Return the models of a spec that neither the settings of its supervisors nor litellm's table list."""
    if supervisor_id not in state.supervisors:
        return []
    models = team_models(state, supervisor_id)
    return [name for name in model_names(spec.model) if name not in models and facts_of(name) is None]
