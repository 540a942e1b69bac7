"""Teams of a simulation: randomly drawn ones with their strategies, and real ones without their code."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar, get_args

from msgspec import Struct

from engine.core.commands import LoadTeam, SupervisorSpec
from engine.core.records.records import JsonValue, changed, names
from engine.core.specs.failure_policies import Escalate, Fail, Failover, FailurePolicy, Retry, Skip
from engine.core.specs.limits import Limits
from engine.core.specs.options import Optimize, SupervisorOptions
from engine.core.specs.policies import Circuit, Restart
from engine.core.specs.spec import AGGREGATIONS, AgentSpec
from engine.core.state import State
from engine.core.strategies import STRATEGIES
from engine.simulation.drawing import DRAWN_WHOLE, NAMES, SKILLS, WRONG, field_value, hints_of, often_drawn

T = TypeVar("T")

SIMULATED = "simulated"
"""The agent type of every agent in a simulation."""
_WRITTEN: tuple[tuple[type, ...], ...] = (
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
CHAINS = (*_WRITTEN, *((one,) for one in get_args(FailurePolicy) if not any(one in chain for chain in _WRITTEN)))
"""Chains of failure policies for agents; their numbers are drawn. A policy that none names has one of its own."""
OF_CODE = ("run", "tools", "options", "model", "instructions", "description")
"""Fields that a simulated agent does not use."""
RARE = 0.15
"""Probability of each of the other settings of an agent."""
OPTIONS = 0.6
"""Share of supervisors with settings of their own."""
OPTIONS_LEFT_OUT = 0.75
"""Share of settings that such a supervisor leaves out."""
DEEPEST = 4
"""Most levels of supervisors in a drawn team."""
MOST_AGENTS = 14


def simulated(value: T) -> T:
    """Return a spec, a team or a command with every agent in it simulated: same name, policies and limits, no code.

    Model agents stay model agents: their answers are drawn.
    """
    return each_spec(value, _simulated)


def _simulated(spec: AgentSpec) -> AgentSpec:
    without = changed(spec, run=None, tools=(), mcp=(), approve={}, output=None)
    return without if spec.is_played_by_model else changed(without, agent_type=SIMULATED, options={})


def each_spec(value: T, change: Callable[[AgentSpec], AgentSpec]) -> T:
    """Return a spec, a team or a command with every agent's spec in it changed."""
    found: Any = value
    if isinstance(value, AgentSpec):
        found = change(value)
    elif isinstance(value, Struct):
        found = changed(value, **{name: each_spec(getattr(value, name), change) for name in names(value)})
    elif isinstance(value, list):
        found = [each_spec(one, change) for one in value]
    return found  # type: ignore[no-any-return]


def drawn_spec(draw: Random, name: str | None = None) -> AgentSpec:
    """Return an agent with random skills, policies and limits."""
    values: dict[str, Any] = {
        "name": name or draw.choice(NAMES),
        "agent_type": SIMULATED,
        "specialties": draw.sample(SKILLS, draw.randint(1, 2)),
        "on_failure": drawn_chain(draw),
        "max_concurrency": draw.choice([1, 1, 2, 3]),
        "timeout_s": draw.choice([None, None, 60.0, 900.0, 7200.0]),
    }
    hints, nobody = hints_of(AgentSpec), State()
    for name in names(AgentSpec):
        if name not in (*values, *OF_CODE) and draw.random() < RARE:
            try:
                value = field_value(name, hints[name], draw, nobody)
                AgentSpec(**values, **{name: value})
            except ValueError:
                continue
            values[name] = value
    return AgentSpec(**values)


def drawn_chain(draw: Random) -> tuple[FailurePolicy, ...]:
    """Return a chain of failure policies with random numbers."""
    return tuple(often_drawn(policy, draw, State()) or policy() for policy in draw.choice(CHAINS))


def drawn_options(draw: Random, mode: str, members: Sequence[str], agents: Sequence[str]) -> SupervisorOptions:
    """Return settings of a supervisor.

    Args:
        mode: Its strategy.
        members: Names of its members.
        agents: Names of its agents.
    """
    found: SupervisorOptions | None = None
    if draw.random() < OPTIONS:
        found = often_drawn(SupervisorOptions, draw, State(), left_out=OPTIONS_LEFT_OUT)
    found = found or SupervisorOptions()
    strategies = {
        skill: draw.choice(["sequential", "parallel"]) for skill in draw.sample(SKILLS, draw.choice([0, 0, 1]))
    }
    return changed(
        found,
        lead=draw.choice([None, *agents]) if mode != "delegate" or not agents else draw.choice(agents),
        settings=drawn_settings(draw, mode, members),
        strategies=strategies,
        on_failure=drawn_chain(draw) if draw.random() < 0.3 else (),
        restart=_often(Restart, draw) or found.restart,
        circuit=_often(Circuit, draw) or found.circuit,
        optimize=_often(Optimize, draw) or found.optimize,
    )


def _often(cls: type[T], draw: Random) -> T | None:
    """Return a record whose fields are all drawn, for some of the supervisors."""
    found: T | None = often_drawn(cls, draw, State(), left_out=0.0) if draw.random() < 0.25 else None
    return found


def _some(draw: Random, names: Sequence[str]) -> list[str]:
    return draw.sample(names, draw.randint(1, len(names)))


def drawn_team(draw: Random, name: str = "chief", *, depth: int = 1, room: list[int] | None = None) -> SupervisorSpec:
    """Return a team: agents, and sometimes teams below, which may have members of the same names.

    Args:
        name: Name of its supervisor.
        depth: Level of its supervisor; 1 is a root.
        room: How many more agents the whole tree may have.
    """
    left = room if room is not None else [draw.choice([3, 6, MOST_AGENTS])]
    names = draw.sample(NAMES, len(NAMES))
    members: list[AgentSpec | SupervisorSpec] = []
    for _ in range(draw.randint(1, 4)):
        if left[0] > 0:
            left[0] -= 1
            members.append(drawn_spec(draw, names.pop()))
    for below in ("north", "south")[: draw.choice([0, 1, 1, 2])]:
        if left[0] > 0 and depth < DEEPEST:
            members.append(drawn_team(draw, below, depth=depth + 1, room=left))
    draw.shuffle(members)
    agents = [one.name for one in members if isinstance(one, AgentSpec)]
    mode = drawn_mode(draw)
    return SupervisorSpec(
        name=name,
        mode=mode,
        aggregation=draw.choice(["concat", "first", "vote", "best"]),
        auto_discover=draw.random() < 0.2,
        default_agent="nobody" if draw.random() < WRONG else draw.choice(agents) if agents else None,
        max_parallel=draw.choice([1, 2, 3, 10]),
        max_agents=draw.choice([4, 50]),
        participants=draw.sample([one.name for one in members], draw.randint(1, len(members)))
        if draw.random() < 0.15
        else None,
        options=drawn_options(draw, mode, [one.name for one in members], agents),
        members=members,
    )


DRAWN_WHOLE[AgentSpec] = drawn_spec
DRAWN_WHOLE[SupervisorSpec] = lambda draw: drawn_team(
    draw, draw.choice(["chief", "north", "south", "deep"]), depth=3, room=[3]
)


def with_budgets(team: SupervisorSpec, draw: Random) -> SupervisorSpec:
    """Return a drawn team that uses up budgets: of attempts, and of what those that are let finish still spend."""
    whose, attempts = draw.choice([("run_limits", 3), ("run_limits", 6), ("agent_limits", 12), ("limits", 60)])
    limits = Limits(attempts=attempts, tokens=attempts * 700, then=draw.choice(["stop", "stop", "ask", "fail"]))
    return changed(team, options=changed(team.options, **{whose: limits}))


def load_command(team: SupervisorSpec) -> LoadTeam:
    """Return the command that loads a team."""
    return LoadTeam(path="simulated.yaml", folder=".", text="", sha256="0", team=team)


PLAIN = ("sequential", "parallel", "parallel", "delegate", "map")
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


def drawn_mode(draw: Random) -> str:
    """Return the name of a strategy."""
    return draw.choice(PLAIN) if draw.random() < PLAIN_SHARE else draw.choice(list(STRATEGIES))


def drawn_settings(draw: Random, mode: str, members: Sequence[str]) -> dict[str, JsonValue]:
    """Return settings that a strategy accepts for these members; sometimes none, if it needs none."""
    rule = _SETTINGS.get(mode)
    if rule is None or not members or (mode != "graph" and draw.random() < 0.3):
        return {}
    return rule(draw, list(members))


def _parallel(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {"need": draw.randint(1, len(members))}


def _synthesis(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {"aggregator": draw.choice(members)}


def _delegate(draw: Random, members: list[str]) -> dict[str, JsonValue]:
    return {"lead": draw.choice(members)}


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
    branches: list[JsonValue] = [{"when": draw.choice(GUARDS), "to": [one]} for one in others]
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
    "parallel": _parallel,
    "parallel_then_synthesis": _synthesis,
    "delegate": _delegate,
    "map": _map,
    "sequential_with_validation": _validation,
    "iterative_refinement": _refinement,
    "hierarchical_review": _review,
    "conditional": _conditional,
    "graph": _graph,
}
