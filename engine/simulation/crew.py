"""Who works in a simulation: teams that chance draws, and the agents of a real team with their code taken out."""

from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any, TypeVar

from engine.core.commands import LoadTeam, SupervisorSpec
from engine.core.options import SupervisorOptions
from engine.core.policies.records import Escalate, Fail, Failover, FailurePolicy, Retry, Skip
from engine.core.spec import AgentSpec
from engine.core.state import State
from engine.core.strategies import STRATEGIES
from engine.simulation.drawing import NAMES, SKILLS, field_value, hints_of, often_drawn

T = TypeVar("T")

SIMULATED = "simulated"
"""The agent type of every agent in a simulation."""
CHAINS: tuple[tuple[FailurePolicy, ...], ...] = (
    (),
    (),
    (Retry(2, 1.0, 60.0),),
    (Skip(),),
    (Retry(1, 30.0, 600.0), Skip()),
    (Failover(),),
    (Retry(1), Failover(1), Escalate(3600.0, "retry")),
    (Escalate(),),
    (Fail(),),
)
"""What agents do about failure."""
OF_CODE = ("run", "run_in", "tools", "options", "model", "instructions", "description")
"""Fields that mean nothing to a simulated agent."""
RARE = 0.1
"""Share of the other settings that an agent has."""
OPTIONS = 0.35
"""Share of the supervisors with settings of their own."""

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
    values: dict[str, Any] = {
        "name": name or draw.choice(NAMES),
        "agent_type": SIMULATED,
        "specialties": draw.sample(SKILLS, draw.randint(1, 2)),
        "on_failure": draw.choice(CHAINS),
        "max_concurrency": draw.choice([1, 1, 2, 3]),
        "timeout_s": draw.choice([None, None, 60.0, 900.0, 7200.0]),
    }
    hints, nobody = hints_of(AgentSpec), State()
    for one in fields(AgentSpec):
        if one.name not in (*values, *OF_CODE) and draw.random() < RARE:
            try:
                value = field_value(one.name, hints[one.name], draw, nobody)
                AgentSpec(**values, **{one.name: value})
            except ValueError:
                continue
            values[one.name] = value
    return AgentSpec(**values)


def drawn_team(draw: Random, name: str = "chief", *, depth: int = 0, names: list[str] | None = None) -> SupervisorSpec:
    """Return a team as chance has it: one to three agents, and at times a team below."""
    left = names if names is not None else draw.sample(NAMES, len(NAMES))
    members: list[AgentSpec | SupervisorSpec] = [
        drawn_spec(draw, left.pop()) for _ in range(draw.randint(1, 3)) if left
    ]
    if left and depth < 2 and draw.random() < 0.5:
        members.append(drawn_team(draw, f"below{depth + 1}", depth=depth + 1, names=left))
    agents = [one.name for one in members if isinstance(one, AgentSpec)]
    options = often_drawn(SupervisorOptions, draw, State()) if draw.random() < OPTIONS else None
    return SupervisorSpec(
        name=name,
        mode=draw.choice(["sequential", "parallel", draw.choice(list(STRATEGIES))]),
        aggregation=draw.choice(["concat", "first", "vote"]),
        auto_discover=draw.random() < 0.3,
        default_agent=draw.choice(agents) if agents else None,
        max_parallel=draw.choice([1, 2, 4, 10]),
        options=options or SupervisorOptions(lead=draw.choice([None, *agents])),
        members=members,
    )


def load_command(team: SupervisorSpec) -> LoadTeam:
    """Return the command that makes a team."""
    return LoadTeam(path="simulated.yaml", folder=".", text="", sha256="0", team=team)
