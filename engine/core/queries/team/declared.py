"""The settings of a supervisor by name, which descriptions and the state share, and their values for comparison.

A declared value is kept, as a digest, only if it has changed since, so that the state stays small.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from engine.core.commands import SupervisorSpec
from engine.core.records.records import JsonValue, field_names
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.core.state import State, Supervisor

STRATEGY = ("mode", "aggregation", "aggregator")
OWN_SETTINGS = ("participants", "auto_discover", "max_matches", "default_agent", "max_parallel", "max_agents")
OPTIONS = field_names(SupervisorOptions)
SETTINGS = (*STRATEGY, *OWN_SETTINGS, *OPTIONS)
"""Every setting of a supervisor, by name."""
STRATEGY_CHOICE = ("mode", "settings", "lead")
"""Settings that change together with the strategy: its settings and lead have no meaning for another strategy."""
ORDER = "order"
"""Name of the order of members, which is compared like a setting."""


def setting(supervisor: SupervisorSpec | Supervisor, name: str) -> Any:
    """Return the value of a setting."""
    return getattr(supervisor.options if name in OPTIONS else supervisor, name)


def describe_member(
    state: State, member_id: str, spec_of: Callable[[AgentSpec], AgentSpec] = lambda spec: spec
) -> AgentSpec | SupervisorSpec:
    """Return the description of a member and all under it; `spec_of` may replace the specs in it."""
    agent = state.agents.get(member_id)
    if agent is not None:
        return spec_of(state.spec_of(agent)).with_name(agent.name)
    supervisor = state.supervisors[member_id]
    return SupervisorSpec(
        name=supervisor.name,
        **{name: getattr(supervisor, name) for name in (*STRATEGY, *OWN_SETTINGS, "options")},
        members=[describe_member(state, child_id, spec_of) for child_id in supervisor.members],
    )


def as_json(value: object) -> JsonValue:
    """Return the value of a setting, or of a field of a spec, as JSON."""
    plain_value: JsonValue = msgspec.to_builtins(value)
    return plain_value
