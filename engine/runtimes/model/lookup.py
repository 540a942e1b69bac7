"""Looks up the models of an agent, when an attempt begins.

A name refers to an entry under `models` of the agent's supervisor or the nearest one above it, or else to a model of
litellm. An agent that names no model uses the one in `QUARTERDECK_MODEL`.
"""

import os
from dataclasses import dataclass

from engine.core.queries.team.models import model_names, team_models
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.errors import PermanentFailure

MODEL_VARIABLE = "QUARTERDECK_MODEL"


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model with its name in the spec."""

    name: str
    spec: ModelSpec


class NoModel(PermanentFailure):
    """A model agent without a model: neither its spec nor the environment names one."""


def models_of(state: State, supervisor_id: str, spec: AgentSpec) -> list[NamedModel]:
    """Return the models of an agent in the order of failover; at least one.

    Raises:
        NoModel: If neither its spec nor the environment names one.
    """
    names = model_names(spec.model) or [name for name in (os.environ.get(MODEL_VARIABLE, "").strip(),) if name]
    if not names:
        raise NoModel(f"agent {spec.name!r} has no model: give it model=, or set {MODEL_VARIABLE}")
    return [NamedModel(name, model_named(state, supervisor_id, name)) for name in names]


def model_named(state: State, supervisor_id: str, name: str) -> ModelSpec:
    """Return the model that a name refers to under a supervisor."""
    return team_models(state, supervisor_id).get(name) or ModelSpec(model=name)
