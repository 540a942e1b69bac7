"""Which options each agent type of models has, read in one line that names the place where they cannot be right."""

from pydantic import ValidationError

from engine.core.spec import AgentSpec
from engine.errors import Unusable
from engine.runtimes.model.options import ModelOptions, TalkOptions, TeamOptions, beyond_simple

_OF_TYPES: dict[str, type[ModelOptions]] = {"MultiAgent": TeamOptions, "ConversationAgent": TalkOptions}


def options_class(agent_type: str) -> type[ModelOptions]:
    """Return what the options of a type are made of."""
    return _OF_TYPES.get(agent_type, ModelOptions)


def options_of(spec: AgentSpec) -> ModelOptions:
    """Return the options of a spec that a model plays.

    Raises:
        Unusable: If they cannot be right, or the type cannot do what the spec asks for.
    """
    try:
        options = options_class(spec.agent_type or "").model_validate(dict(spec.options))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(("options", *(str(part) for part in first["loc"])))
        raise Unusable(f"agent {spec.name!r}: {where}: {first['msg'].removeprefix('Value error, ')}") from error
    if spec.agent_type == "SimpleAgent" and (given := beyond_simple(spec)):
        raise Unusable(f"agent {spec.name!r} is a SimpleAgent, which has no {given}; make it a ReactAgent")
    return options
