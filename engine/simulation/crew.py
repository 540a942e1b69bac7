"""Who works in a simulation: teams that chance draws, and the agents of a real team with their code taken out."""

from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any, TypeVar

from engine.core.commands import SupervisorSpec
from engine.core.spec import AgentSpec, Retry, Skip
from engine.core.strategies import STRATEGIES

T = TypeVar("T")

SIMULATED = "simulated"
"""The agent type of every agent in a simulation."""
NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal")
SKILLS = ("parse", "write", "sum", "draw", "check")

MODES = [name for name in STRATEGIES if name != "graph"]
"""Strategies that need no settings."""


def simulated(value: T) -> T:
    """Return a spec, a team or a command with every agent in it simulated: same name, policies and limits, no code."""
    found: Any = value
    if isinstance(value, AgentSpec):
        kept = {name: getattr(value, name) for name in value.__slots__}
        found = AgentSpec(**(kept | {"agent_type": SIMULATED, "run": None, "run_in": None, "tools": (), "options": {}}))
    elif is_dataclass(value) and not isinstance(value, type):
        changed = {one.name: simulated(getattr(value, one.name)) for one in fields(value)}
        found = replace(value, **changed)
    elif isinstance(value, list):
        found = [simulated(one) for one in value]
    return found  # type: ignore[no-any-return]


def drawn_spec(draw: Random, name: str | None = None) -> AgentSpec:
    """Return an agent as chance has it."""
    policies = draw.choice([(), (), (Retry(2, 1.0, 60.0),), (Skip(),), (Retry(1, 30.0, 600.0), Skip())])
    return AgentSpec(
        name=name or draw.choice(NAMES),
        agent_type=SIMULATED,
        specialties=draw.sample(SKILLS, draw.randint(1, 2)),
        on_failure=policies,
        max_concurrency=draw.choice([1, 1, 2, 3]),
        timeout_s=draw.choice([None, None, 60.0, 900.0, 7200.0]),
    )


def drawn_team(draw: Random, name: str = "chief", *, depth: int = 0, names: list[str] | None = None) -> SupervisorSpec:
    """Return a team as chance has it: two to four agents, and at times a team below."""
    left = names if names is not None else draw.sample(NAMES, len(NAMES))
    members: list[AgentSpec | SupervisorSpec] = [
        drawn_spec(draw, left.pop()) for _ in range(draw.randint(1, 3)) if left
    ]
    if left and depth < 2 and draw.random() < 0.5:
        members.append(drawn_team(draw, f"below{depth + 1}", depth=depth + 1, names=left))
    agents = [one.name for one in members if isinstance(one, AgentSpec)]
    return SupervisorSpec(
        name=name,
        mode=draw.choice(["sequential", "parallel", draw.choice(MODES)]),
        aggregation=draw.choice(["concat", "first", "vote"]),
        auto_discover=draw.random() < 0.3,
        default_agent=draw.choice(agents) if agents else None,
        max_parallel=draw.choice([1, 2, 4, 10]),
        members=members,
    )
