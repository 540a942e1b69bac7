"""The settings of a supervisor by name, as a description and the state both have them; and how they are compared.

A declaration is kept, as a digest, only for members that were changed since, so that the state stays small.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from engine.core.commands import SupervisorSpec
from engine.core.records.records import JsonValue, names
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.core.state import State, Supervisor

STRATEGY = ("mode", "aggregation", "aggregator")
OWN = ("participants", "auto_discover", "max_matches", "default_agent", "max_parallel", "max_agents")
OPTIONS = names(SupervisorOptions)
SETTINGS = (*STRATEGY, *OWN, *OPTIONS)
"""Every setting of a supervisor, by name."""
ONE_CHOICE = ("mode", "settings", "lead")
"""What is taken together where the strategy is another one: its settings and its lead mean nothing to others."""
ORDER = "order"
"""What the order of its members is called where it is compared like a setting."""


def setting(one: SupervisorSpec | Supervisor, name: str) -> Any:
    """Return the value of a setting."""
    return getattr(one.options if name in OPTIONS else one, name)


def described(
    state: State, member_id: str, spec_of: Callable[[AgentSpec], AgentSpec] = lambda spec: spec
) -> AgentSpec | SupervisorSpec:
    """Return a member with everything under it as it would be described.

    Args:
        state: Where it stands.
        member_id: Of an agent or a supervisor.
        spec_of: What is described in place of the spec of an agent.
    """
    agent = state.agents.get(member_id)
    if agent is not None:
        return spec_of(state.spec_of(agent)).with_name(agent.name)
    supervisor = state.supervisors[member_id]
    return SupervisorSpec(
        name=supervisor.name,
        **{name: getattr(supervisor, name) for name in (*STRATEGY, *OWN, "options")},
        members=[described(state, one, spec_of) for one in supervisor.members],
    )


def as_json(value: object) -> JsonValue:
    """Return a value of a setting, or of a field of a spec, as JSON has it."""
    found: JsonValue = msgspec.to_builtins(value)
    return found
