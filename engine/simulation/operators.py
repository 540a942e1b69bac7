"""Operators of a simulation: every command, right and wrong.

A command that is not in `SPECIAL` is drawn from its fields, by their names and types; so one that is new to the engine
takes part by itself. Kinds of acts are the types of the commands.
"""

import math
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from engine.core.commands import COMMAND_KINDS, Command, StopEngine, Submit, SupervisorSpec
from engine.core.spec import AgentSpec
from engine.core.state import State
from engine.core.strategies import STRATEGIES
from engine.simulation.crew import NAMES, SKILLS, drawn_spec, drawn_team

WRONG = 0.08
"""Share of the names in commands that nobody has."""
LEFT_OUT = 0.5
"""Share of the fields with a default that are left as they are."""
LONG = "a request that is longer than what the state keeps, so that it is read from the journal each time. " * 3

WEIGHTS: dict[str, float] = {
    "submit": 8.0,
    "load_team": 0.2,
    "import_state": 0.1,
    "stop_engine": 0.3,
    "ping": 0.2,
    "remove_member": 0.5,
    "trust_references": 0.1,
    "register_spec": 0.3,
    "unregister_spec": 0.2,
}
"""How often each kind of command is given, relative to the others; 1 where nothing is said."""


def acts() -> dict[str, float]:
    """Return every kind of command with its weight."""
    return {kind: WEIGHTS.get(kind, 1.0) for kind in COMMAND_KINDS}


def drawn_command(kind: str, draw: Random, state: State, number: int) -> Command | None:
    """Return a command of a kind, as chance and the state of the moment have it; None where its own checks refuse it.

    Args:
        kind: The type of the command.
        draw: Source of chance.
        state: What its names are taken from.
        number: Tells requests apart.
    """
    special = SPECIAL.get(kind)
    try:
        if special is not None:
            return special(draw, state, number)
        command: Command = _drawn(COMMAND_KINDS[kind], draw, state)
    except ValueError:
        return None
    return command


def _submit(draw: Random, state: State, number: int) -> Command:
    skills = sorted({word for spec in state.specs.values() for word in spec.specialties}) or list(SKILLS)
    words = " and ".join(draw.sample(skills, min(len(skills), draw.randint(1, 2))))
    request: Any = f"request {number}: {words}"
    if draw.random() < 0.15:
        request = draw.choice([f"{request} {LONG}", {"title": f"request {number}", "about": words}, ""])
    command: Submit = _drawn(Submit, draw, state)
    supervisor = draw.choice([None, command.supervisor])
    values = {one.name: getattr(command, one.name) for one in fields(Submit)}
    return Submit(**(values | {"request": request, "supervisor": supervisor}))


def _stop_engine(draw: Random, state: State, number: int) -> Command:
    return StopEngine(token=draw.choice([None, None, 1]))


SPECIAL: dict[str, Callable[[Random, State, int], Command]] = {"submit": _submit, "stop_engine": _stop_engine}
"""Commands that are not drawn from their fields alone."""


# Fields, by what they are called and by what they hold


def _agent(draw: Random, state: State) -> str:
    return _one_of(draw, [*state.agents, *(one.name for one in state.agents.values())])


def _supervisor(draw: Random, state: State) -> str:
    return _one_of(draw, [*state.supervisors, *(one.name for one in state.supervisors.values())])


def _task(draw: Random, state: State) -> str:
    return _one_of(draw, list(state.tasks))


def _run(draw: Random, state: State) -> str:
    return _one_of(draw, [*state.runs, *(one.id for one in state.finished[-3:])])


def _anything(draw: Random, state: State) -> str:
    return draw.choice([_agent, _supervisor, _task, _run])(draw, state)


def _one_of(draw: Random, known: Sequence[str]) -> str:
    if not known or draw.random() < WRONG:
        return draw.choice(["nobody", "t999999", "chief/nobody", "", *NAMES])
    return draw.choice(known)


def _mode(draw: Random, state: State) -> str:
    return draw.choice([*STRATEGIES, *STRATEGIES, "drain", "migrate", "abort", "requeue", "no_such_mode"])


def _registered(draw: Random, state: State) -> str:
    return _one_of(draw, list(state.registry))


def _seconds(draw: Random, state: State) -> float:
    return draw.choice([0.0, -1.0, math.exp(draw.uniform(0, math.log(50_000)))])


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
    "priority": lambda draw, state: draw.choice([*range(10), -1, 10]),
    "name": lambda draw, state: draw.choice([*NAMES, "a name", ""]),
    "path": lambda draw, state: "simulated.yaml",
    "folder": lambda draw, state: ".",
    "max_parallel": lambda draw, state: draw.choice([1, 2, 5, 0]),
    "max_agents": lambda draw, state: draw.choice([3, 10, 50]),
    "specialties": lambda draw, state: draw.sample(SKILLS, draw.randint(0, 2)),
}
"""What fields of commands hold, by their names."""


def _drawn(cls: Any, draw: Random, state: State) -> Any:
    """Return an instance of a dataclass with its fields drawn; those with a default often keep it."""
    if cls is AgentSpec:
        return drawn_spec(draw)
    if cls is SupervisorSpec:
        return drawn_team(draw, draw.choice(["chief", "deep", "deeper", "below1"]), depth=1)
    values: dict[str, Any] = {}
    hints = _hints(cls)
    for one in fields(cls):
        has_default = one.default is not MISSING or one.default_factory is not MISSING
        if one.name == "type" or (has_default and draw.random() < LEFT_OUT):
            continue
        by_name = BY_NAME.get(one.name)
        hint = hints[one.name]
        takes_none = type(None) in get_args(hint)
        if takes_none and draw.random() < 0.3:
            values[one.name] = None
        elif by_name is not None:
            values[one.name] = by_name(draw, state)
        else:
            values[one.name] = _value(hint, draw, state)
    return cls(**values)


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _value(hint: Any, draw: Random, state: State) -> Any:
    """Return a value of a type."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return draw.choice(args)
    if origin in (Union, types.UnionType):
        return _value(draw.choice([one for one in args if one is not type(None)]), draw, state)
    if origin in (list, tuple, Sequence) or str(origin) == "<class 'collections.abc.Sequence'>":
        return [_value(args[0], draw, state) for _ in range(draw.choice([0, 1, 1, 2]))]
    if origin is dict:
        return {_value(args[0], draw, state): _value(args[1], draw, state) for _ in range(draw.choice([0, 1, 2]))}
    if is_dataclass(hint):
        return _drawn(hint, draw, state)
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
