"""Values of any of the engine's records, drawn from their fields: by what a field is called, and by what it holds.

So a field that is new to the engine takes part in simulations by itself.
"""

import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from engine.core.commands import SupervisorSpec
from engine.core.spec import AgentSpec
from engine.core.state import Agent, Run, State, Supervisor
from engine.core.strategies import STRATEGIES

NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal")
SKILLS = ("parse", "write", "sum", "draw", "check")
WRONG = 0.08
"""Share of the names that nobody has."""
LEFT_OUT = 0.5
"""Share of the fields with a default that are left as they are."""
TRIES = 5


def _agent(draw: Random, state: State) -> str:
    return one_of(draw, [*state.agents, *(one.name for one in state.agents.values())])


def _supervisor(draw: Random, state: State) -> str:
    return one_of(draw, [*state.supervisors, *(one.name for one in state.supervisors.values())])


def _task(draw: Random, state: State) -> str:
    return one_of(draw, list(state.tasks))


def _run(draw: Random, state: State) -> str:
    return one_of(draw, [*state.runs, *(one.id for one in state.finished[-3:])])


def _anything(draw: Random, state: State) -> str:
    return draw.choice([_agent, _supervisor, _task, _run])(draw, state)


def _work(draw: Random, state: State) -> str:
    return draw.choice([_task, _task, _run])(draw, state)


def _member(draw: Random, state: State) -> str:
    return draw.choice([_agent, _agent, _agent, _supervisor])(draw, state)


def _paused(draw: Random, state: State) -> str:
    owners: list[Run | Supervisor | Agent] = [*state.runs.values(), *state.supervisors.values(), *state.agents.values()]
    return one_of(draw, [one.id for one in owners if one.paused])


def one_of(draw: Random, known: Sequence[str]) -> str:
    """Return one of some names, and at times one that nobody has."""
    if not known or draw.random() < WRONG:
        return draw.choice(["nobody", "t999999", "chief/nobody", "", *NAMES])
    return draw.choice(known)


def _mode(draw: Random, state: State) -> str:
    return draw.choice([*STRATEGIES, "no_such_mode"])


def _how(draw: Random, state: State) -> str:
    return draw.choice(["drain", "migrate", "abort", "requeue", "drain", "abort", "no_such_mode"])


def _registered(draw: Random, state: State) -> str:
    return one_of(draw, list(state.registry))


def _seconds(draw: Random, state: State) -> float:
    return draw.choice([0.0, -1.0]) if draw.random() < WRONG else math.exp(draw.uniform(0, math.log(50_000)))


BY_NAME: dict[str, Callable[[Random, State], Any]] = {
    "target": _anything,
    "agent": _agent,
    "aggregator": _agent,
    "supervisor": _supervisor,
    "parent": _supervisor,
    "under": _supervisor,
    "to": _supervisor,
    "task": _task,
    "run": _run,
    "after": lambda draw, state: [_run(draw, state) for _ in range(draw.choice([0, 0, 1, 2]))],
    "mode": _mode,
    "registered": _registered,
    "deadline_s": _seconds,
    "priority": lambda draw, state: draw.choice([0, 0, *range(10), -1]),
    "name": lambda draw, state: draw.choice([*NAMES, "a name", ""]),
    "path": lambda draw, state: "simulated.yaml",
    "folder": lambda draw, state: ".",
    "max_parallel": lambda draw, state: draw.choice([1, 2, 5, 0]),
    "max_agents": lambda draw, state: draw.choice([3, 10, 50]),
    "specialties": lambda draw, state: draw.sample(SKILLS, draw.randint(0, 2)),
}
"""What fields of commands hold, by their names."""
BY_FIELD: dict[tuple[str, str], Callable[[Random, State], Any]] = {
    ("Cancel", "target"): _work,
    ("RetryWork", "target"): _work,
    ("SetDeadline", "target"): _work,
    ("SetPriority", "target"): _work,
    ("RemoveMember", "target"): _member,
    ("Move", "target"): _member,
    ("Resume", "target"): _paused,
    ("SwapAgent", "mode"): _how,
    ("SwapAgents", "mode"): _how,
    ("Rollback", "mode"): _how,
    ("RemoveMember", "mode"): _how,
    ("ReplaceTeam", "mode"): _how,
    ("Answer", "escalation"): lambda draw, state: one_of(draw, list(state.escalations)),
    ("Answer", "answer"): lambda draw, state: one_of(
        draw, [option for one in state.escalations.values() for option in one.options]
    ),
}
"""Where a name means something else than elsewhere, by the class of the record too."""


def drawn(cls: Any, draw: Random, state: State, *, left_out: float = LEFT_OUT) -> Any:
    """Return an instance of a dataclass with its fields drawn.

    Args:
        cls: The dataclass.
        draw: Source of chance.
        state: What names are taken from.
        left_out: Share of the fields with a default that keep it.

    Raises:
        ValueError: If the values that were drawn do not go together.
    """
    from engine.simulation.crew import drawn_spec, drawn_team  # which draws its other fields by this

    if cls is AgentSpec:
        return drawn_spec(draw)
    if cls is SupervisorSpec:
        return drawn_team(draw, draw.choice(["chief", "deep", "deeper", "below1"]), depth=1)
    values: dict[str, Any] = {}
    hints = hints_of(cls)
    for one in fields(cls):
        has_default = one.default is not MISSING or one.default_factory is not MISSING
        if one.name == "type" or (has_default and draw.random() < left_out):
            continue
        if (cls.__name__, one.name) in BY_FIELD:
            values[one.name] = BY_FIELD[cls.__name__, one.name](draw, state)
        else:
            values[one.name] = field_value(one.name, hints[one.name], draw, state)
    if {"spec", "registered"} <= hints.keys() and draw.random() > WRONG:  # one of the two, as a rule
        values["registered" if values.get("spec") is not None else "spec"] = None
        if values.get("registered") is None and values["spec"] is None:
            values["spec"] = drawn_spec(draw)
    return cls(**values)


def field_value(name: str, hint: Any, draw: Random, state: State) -> Any:
    """Return what a field of this name and type may hold."""
    if type(None) in get_args(hint) and draw.random() < 0.3:
        return None
    by_name = BY_NAME.get(name)
    return by_name(draw, state) if by_name is not None else _value(hint, draw, state)


def often_drawn(cls: Any, draw: Random, state: State) -> Any:
    """Return an instance with its fields drawn, tried again where they do not go together; None where they never do."""
    for _ in range(TRIES):
        try:
            return drawn(cls, draw, state, left_out=0.8)
        except ValueError:
            continue
    return None


@cache
def hints_of(cls: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass."""
    return get_type_hints(cls)


def _value(hint: Any, draw: Random, state: State) -> Any:
    """Return a value of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return draw.choice(args)
    if origin in (Union, types.UnionType):
        return _value(draw.choice([one for one in args if one is not type(None)]), draw, state)
    if origin in (list, tuple, Sequence):
        return [_value(args[0], draw, state) for _ in range(draw.choice([0, 1, 1, 2]))]
    if origin in (dict, Mapping):
        return {_value(args[0], draw, state): _value(args[1], draw, state) for _ in range(draw.choice([0, 1, 2]))}
    if is_dataclass(hint):
        return drawn(hint, draw, state)
    return _plain(hint, draw, state)


def _plain(hint: Any, draw: Random, state: State) -> Any:
    if hint is bool:
        return draw.random() < 0.5
    if hint is int:
        return draw.choice([0, 1, 2, 3, 10, -1])
    if hint is float:
        return draw.choice([0.5, 1.0, 60.0, 3600.0, 0.0])
    if hint is Decimal:
        return draw.choice([Decimal("0.001"), Decimal("1"), Decimal("100")])
    return draw.choice([_anything(draw, state), draw.choice(SKILLS), "a text"])
