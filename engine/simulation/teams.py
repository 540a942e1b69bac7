"""Teams of a simulation: randomly drawn ones with their strategies, and real ones without their code."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar, get_args

from msgspec import Struct

from engine.core.commands import LoadTeam, SupervisorSpec
from engine.core.records.records import JsonValue, copy_with, field_names
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.specs.failure_policies import Escalate, Fail, Failover, FailurePolicy, Retry, Skip
from engine.core.specs.limits import Limits
from engine.core.specs.memory import MemoryOptions
from engine.core.specs.options import Optimize, SupervisorOptions
from engine.core.specs.policies import Circuit, Restart
from engine.core.specs.spec import AGGREGATIONS, AgentSpec
from engine.core.state import State
from engine.core.strategies import STRATEGIES
from engine.simulation.drawing import (
    DRAW_BY_TYPE,
    INVALID_SHARE,
    NAMES,
    SKILLS,
    TOOLS,
    TOOLSET,
    draw_valid_record,
    field_value,
    hints_of,
)
from engine.simulation.models import FIRST

T = TypeVar("T")

SIMULATED = "simulated"
"""The agent type of every agent in a simulation."""
_COMMON_CHAINS: tuple[tuple[type, ...], ...] = (
    (),
    (),
    (Retry,),
    (Skip,),
    (Retry, Skip),
    (Retry, Failover),
    (Failover,),
    (Failover, Escalate),
    (Retry, Failover, Escalate),
    (Retry, Escalate, Fail),
    (Retry, Failover, Retry, Skip),
    (Escalate, Skip),
    (Escalate,),
    (Fail,),
)
CHAINS = (
    *_COMMON_CHAINS,
    *((policy,) for policy in get_args(FailurePolicy) if not any(policy in chain for chain in _COMMON_CHAINS)),
)
"""Chains of failure policies for agents; their numbers are drawn. A policy that none names has one of its own."""
UNUSED_FIELDS = ("run", "options", "model", "instructions", "description")
"""Fields that a simulated agent does not use."""
RARE_SHARE = 0.15
"""Probability of each of the other settings of an agent."""
OPTIONS_SHARE = 0.6
"""Share of supervisors with settings of their own."""
OPTION_OMISSION_SHARE = 0.75
"""Share of settings that such a supervisor leaves out."""
MAX_DEPTH = 4
"""Most levels of supervisors in a drawn team."""
MAX_AGENTS = 14


def to_simulated(value: T) -> T:
    """Return a spec, a team or a command with every agent in it simulated: same name, policies and limits, no code.

    Model agents stay model agents: their answers are drawn.
    """
    return map_specs(value, _to_simulated_spec)


def _to_simulated_spec(spec: AgentSpec) -> AgentSpec:
    without = copy_with(spec, run=None, tools=(), mcp=(), approve={}, output=None)
    return without if spec.is_played_by_model else copy_with(without, agent_type=SIMULATED, options={})


def map_specs(value: T, change: Callable[[AgentSpec], AgentSpec]) -> T:
    """Return a spec, a team or a command with every agent's spec in it changed."""
    changed_value: Any = value
    if isinstance(value, AgentSpec):
        changed_value = change(value)
    elif isinstance(value, Struct):
        changed_value = copy_with(
            value, **{name: map_specs(getattr(value, name), change) for name in field_names(value)}
        )
    elif isinstance(value, list):
        changed_value = [map_specs(item, change) for item in value]
    return changed_value  # type: ignore[no-any-return]


def draw_spec(draw: Random, name: str | None = None) -> AgentSpec:
    """Return an agent with random skills, policies and limits."""
    values: dict[str, Any] = {
        "name": name or draw.choice(NAMES),
        "agent_type": SIMULATED,
        "specialties": draw.sample(SKILLS, draw.randint(1, 2)),
        "on_failure": draw_chain(draw),
        "max_concurrency": draw.choice([1, 1, 2, 3]),
        "timeout_s": draw.choice([None, None, 60.0, 900.0, 7200.0]),
        "tools": draw.choice([TOOLS, TOOLS, TOOLS[:1], TOOLS[1:], ()]),
    }
    hints = hints_of(AgentSpec)
    empty_state = State()
    for name in field_names(AgentSpec):
        if name not in (*values, *UNUSED_FIELDS) and draw.random() < RARE_SHARE:
            try:
                value = field_value(name, hints[name], draw, empty_state)
                AgentSpec(**values, **{name: value})
            except ValueError:
                continue
            values[name] = value
    return AgentSpec(**values)


def draw_chain(draw: Random) -> tuple[FailurePolicy, ...]:
    """Return a chain of failure policies with random numbers."""
    return tuple(draw_valid_record(policy, draw, State()) or policy() for policy in draw.choice(CHAINS))


def draw_options(draw: Random, mode: str, members: Sequence[str], agents: Sequence[str]) -> SupervisorOptions:
    """Return settings of a supervisor.

    Args:
        mode: Its strategy.
        members: Names of its members.
        agents: Names of its agents.
    """
    options: SupervisorOptions | None = None
    if draw.random() < OPTIONS_SHARE:
        options = draw_valid_record(SupervisorOptions, draw, State(), omission_share=OPTION_OMISSION_SHARE)
    options = options or SupervisorOptions()
    strategies = {
        skill: draw.choice(["sequential", "parallel"]) for skill in draw.sample(SKILLS, draw.choice([0, 0, 1]))
    }
    return copy_with(
        options,
        lead=draw.choice([None, *agents]) if mode != "delegate" or not agents else draw.choice(agents),
        settings=draw_settings(draw, mode, members),
        strategies=strategies,
        on_failure=draw_chain(draw) if draw.random() < 0.3 else (),
        restart=_draw_sometimes(Restart, draw) or options.restart,
        circuit=_draw_sometimes(Circuit, draw) or options.circuit,
        optimize=_draw_sometimes(Optimize, draw) or options.optimize,
        discovery=_draw_discovery(Random(f"{mode} {members}"), agents),
        memory=draw_valid_record(MemoryOptions, Random(f"{mode} {agents}"), State(), omission_share=0.3),
        toolsets=options.toolsets if len(agents) % 2 else {TOOLSET: TOOLS},
    )


def _draw_discovery(draw: Random, agents: Sequence[str] = ()) -> DiscoveryConfig | None:
    """Return where a supervisor looks for agents, if not in its team alone."""
    if draw.random() < 0.3:
        return None
    model = draw.choice([None, None, FIRST])
    return DiscoveryConfig(
        modes=tuple(draw.sample([*AgentDiscoveryMode], draw.choice([2, 3, 4]))),
        max_matches=draw.choice([1, 5, 5, 10]),
        min_score=draw.choice([0.05, 0.05, 0.35]),
        max_new=draw.choice([1, 1, 1, 3, 3]),
        evict=draw.random() < 0.5,
        approve=draw.choice(["ask", "granted", "granted"]),
        template=None if model is not None and draw.random() < 0.5 else draw.choice([*agents, *NAMES[:2]]),
        model=model,
        documents=("agents/*.md",),
    )


def _draw_sometimes(cls: type[T], draw: Random) -> T | None:
    """Return a record whose fields are all drawn, for some of the supervisors."""
    record: T | None = draw_valid_record(cls, draw, State(), omission_share=0.0) if draw.random() < 0.25 else None
    return record


def _sample(draw: Random, names: Sequence[str]) -> list[str]:
    return draw.sample(names, draw.randint(1, len(names)))


def draw_team(draw: Random, name: str = "chief", *, depth: int = 1, room: list[int] | None = None) -> SupervisorSpec:
    """Return a team: agents, and sometimes teams below, which may have members of the same names.

    Args:
        name: Name of its supervisor.
        depth: Level of its supervisor; 1 is a root.
        room: How many more agents the whole tree may have.
    """
    room_left = room if room is not None else [draw.choice([3, 6, MAX_AGENTS])]
    names = draw.sample(NAMES, len(NAMES))
    members: list[AgentSpec | SupervisorSpec] = []
    for _ in range(draw.randint(1, 4)):
        if room_left[0] > 0:
            room_left[0] -= 1
            members.append(draw_spec(draw, names.pop()))
    for below in ("north", "south")[: draw.choice([0, 1, 1, 2])]:
        if room_left[0] > 0 and depth < MAX_DEPTH:
            members.append(draw_team(draw, below, depth=depth + 1, room=room_left))
    draw.shuffle(members)
    agents = [member.name for member in members if isinstance(member, AgentSpec)]
    mode = draw_mode(draw)
    return SupervisorSpec(
        name=name,
        mode=mode,
        aggregation=draw.choice(["concat", "first", "vote", "best"]),
        auto_discover=draw.random() < 0.2,
        default_agent="nobody" if draw.random() < INVALID_SHARE else draw.choice(agents) if agents else None,
        max_parallel=draw.choice([1, 2, 3, 10]),
        max_agents=draw.choice([4, 50]),
        participants=draw.sample([member.name for member in members], draw.randint(1, len(members)))
        if draw.random() < 0.15
        else None,
        options=draw_options(draw, mode, [member.name for member in members], agents),
        members=members,
    )


DRAW_BY_TYPE[AgentSpec] = draw_spec
DRAW_BY_TYPE[DiscoveryConfig] = _draw_discovery
DRAW_BY_TYPE[SupervisorSpec] = lambda draw: draw_team(
    draw, draw.choice(["chief", "north", "south", "deep"]), depth=3, room=[3]
)


def with_budgets(team: SupervisorSpec, draw: Random) -> SupervisorSpec:
    """Return a drawn team that uses up budgets: of attempts, and of what those that are let finish still spend."""
    option, attempts = draw.choice([("run_limits", 3), ("run_limits", 6), ("agent_limits", 12), ("limits", 60)])
    limits = Limits(attempts=attempts, tokens=attempts * 700, then=draw.choice(["stop", "stop", "ask", "fail"]))
    return copy_with(team, options=copy_with(team.options, **{option: limits}))


def load_command(team: SupervisorSpec) -> LoadTeam:
    """Return the command that loads a team."""
    return LoadTeam(path="simulated.yaml", folder=".", text="", sha256="0", team=team)


PLAIN_STRATEGIES = ("sequential", "parallel", "parallel", "delegate", "map")
"""Strategies that are drawn more often: parallel work causes most contention."""
PLAIN_SHARE = 0.4
GUARDS: tuple[JsonValue, ...] = (
    {"contains": "done"},
    {"contains": "nothing of the kind"},
    {"matches": "is [dl]"},
    {"status": "failed"},
    {"status": "done"},
    {"json": "found.0", "equals": 1},
)


def draw_mode(draw: Random) -> str:
    """Return the name of a strategy."""
    return draw.choice(PLAIN_STRATEGIES) if draw.random() < PLAIN_SHARE else draw.choice(list(STRATEGIES))


def draw_settings(draw: Random, mode: str, members: Sequence[str]) -> dict[str, JsonValue]:
    """Return settings that a strategy accepts for these members; sometimes none, if it needs none."""
    rule = _SETTINGS.get(mode)
    if rule is None or not members or (mode != "graph" and draw.random() < 0.3):
        return {}
    return rule(draw, list(members))


def _map(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    settings: dict[str, JsonValue] = {"join": draw.choice(["list", *AGGREGATIONS[:4]]), "optional": draw.random() < 0.4}
    if draw.random() < 0.5:
        settings["over"] = draw.choice(members)
    if draw.random() < 0.4:
        settings["to"] = draw.choice(members)
    return settings


def _validation(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {
        "validator": draw.choice(members),
        "returns": draw.randint(0, 2),
        "otherwise": draw.choice(["fail", "accept"]),
        "rejects": ["late", "rows"],
    }


def _refinement(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {"author": draw.choice(members), "until": draw.choice([0.5, 0.9]), "rounds": draw.randint(1, 3)}


def _review(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    shuffled = draw.sample(members, len(members))
    cut = draw.randint(1, len(shuffled))
    levels: list[JsonValue] = [[*part] for part in (shuffled[:cut], shuffled[cut:]) if part]
    return {"levels": levels, "returns": draw.randint(0, 2), "rejects": ["late"]}


def _conditional(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    first, *others = draw.sample(members, len(members))
    if not others:
        return {}
    branches: list[JsonValue] = [{"when": draw.choice(GUARDS), "to": [member]} for member in others]
    if draw.random() < 0.5:
        branches[-1] = {"when": "else", "to": [others[-1]]}
    return {"first": draw.choice([first, "request"]), "take": draw.choice(["first", "all"]), "branches": branches}


def _graph(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    nodes: list[JsonValue] = []
    names = [f"n{number}" for number in range(draw.randint(1, 5))]
    for number, name in enumerate(names):
        before = draw.sample(names[:number], draw.randint(0, min(number, 2)))
        node: dict[str, JsonValue] = {"name": name, "agent": draw.choice(members), "after": [*before]}
        node["takes"] = draw.choice(["request", "context"])
        if before and draw.random() < 0.3:
            node["when"] = draw.choice(GUARDS)
        if draw.random() < 0.3:
            node["optional"] = True
        nodes.append(node)
    return {"nodes": nodes, "output": names[-1]}


_SETTINGS: dict[str, Callable[[Random, list[str]], dict[str, JsonValue]]] = {
    "parallel": lambda draw, members: {"need": draw.randint(1, len(members))},
    "parallel_then_synthesis": lambda draw, members: {"aggregator": draw.choice(members)},
    "delegate": lambda draw, members: {"lead": draw.choice(members)},
    "map": _map,
    "sequential_with_validation": _validation,
    "iterative_refinement": _refinement,
    "hierarchical_review": _review,
    "conditional": _conditional,
    "graph": _graph,
}
