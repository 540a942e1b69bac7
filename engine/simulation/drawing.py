"""Draws random values of the engine's records from the names and types of their fields.

A new field of a record therefore takes part in simulations without further code.
"""

import math
import types
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from engine.core.queries.team.tree import parent_id_of
from engine.core.records.records import fields
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Run, State, Supervisor, TaskStatus
from engine.core.strategies import STRATEGIES

NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "a3", "s2")
"""Few names, so that teams under one root share them; two look like ids of other objects."""
SKILLS = ("parse", "write", "sum", "draw", "check")
WRONG = 0.04
"""Share of unknown names and of invalid numbers."""
LEFT_OUT = 0.6
"""Share of fields with a default that keep it."""
TRIES = 5


def _agent(draw: Random, state: State) -> str:
    return one_of(draw, [word for one in state.agents.values() for word in words_for(state, one)])


def _supervisor(draw: Random, state: State) -> str:
    return one_of(draw, [word for one in state.supervisors.values() for word in words_for(state, one)])


def words_for(state: State, one: Agent | Supervisor) -> list[str]:
    """Return targets that may name a member: its id, its name, its path."""
    above = state.supervisors.get(parent_id_of(one) or "")
    return [one.id, f"@{one.id}", one.name, f"/{one.name}" if above is None else f"{above.name}/{one.name}"]


def _task(draw: Random, state: State) -> str:
    return one_of(draw, list(state.tasks))


def _run(draw: Random, state: State) -> str:
    return one_of(draw, [*state.runs, *(one.id for one in state.finished[-3:])])


def _anything(draw: Random, state: State) -> str:
    return draw.choice([_agent, _supervisor, _task, _run])(draw, state)


def _work(draw: Random, state: State) -> str:
    return draw.choice([_open_task, _task, _run])(draw, state)


def _stopped_work(draw: Random, state: State) -> str:
    """Return mostly a task that has failed or backs off, if there is one."""
    tasks = [one.id for one in state.tasks.values() if one.status in (TaskStatus.FAILED, TaskStatus.RETRYING)]
    return one_of(draw, tasks) if tasks and draw.random() < 0.7 else _work(draw, state)


def _busy_agent(draw: Random, state: State) -> str:
    """Return mostly an agent that is at work, if there is one."""
    busy = [f"@{one.id}" for one in state.agents.values() if one.running or one.parked]
    return draw.choice(busy) if busy and draw.random() < 0.7 else _agent(draw, state)


def _member(draw: Random, state: State) -> str:
    return draw.choice([_agent, _agent, _agent, _supervisor])(draw, state)


def _changed(draw: Random, state: State) -> str:
    return one_of(draw, [f"@{one.id}" for one in state.agents.values() if one.previous is not None])


def _open_task(draw: Random, state: State) -> str:
    return one_of(draw, [one.id for one in state.tasks.values() if one.kind == "agent" and not one.ended])


def _stopped(draw: Random, state: State) -> str:
    """Return a target that can be resumed: paused, failed, or an agent with an open circuit."""
    owners: list[Run | Supervisor | Agent] = [*state.runs.values(), *state.supervisors.values(), *state.agents.values()]
    paused = [one.id for one in owners if one.paused]
    failed = [one.id for one in owners if not isinstance(one, Run) and one.error is not None]
    shut = [one.id for one in state.agents.values() if one.circuit != "closed"]
    return one_of(draw, [f"@{one}" for one in dict.fromkeys([*paused, *failed, *shut])])


def _at_work(draw: Random, state: State) -> str:
    """Return mostly an agent at work, a task or a run."""
    return draw.choice([_busy_agent, _open_task, _work])(draw, state)


def one_of(draw: Random, known: Sequence[str]) -> str:
    """Return one of some names, and sometimes an unknown one."""
    if not known or draw.random() < WRONG:
        return draw.choice(["nobody", "t999999", "chief/nobody", "", *NAMES])
    return draw.choice(known)


def _mode(draw: Random, state: State) -> str:
    return draw.choice([*STRATEGIES, "no_such_mode"])


def _how(*modes: str) -> Callable[[Random, State], str]:
    return lambda draw, state: "no_such_mode" if draw.random() < WRONG else draw.choice(modes)


def _registered(draw: Random, state: State) -> str:
    return one_of(draw, list(state.registry))


def _seconds(least: float = 20.0, most: float = 50_000.0) -> Callable[[Random, State], float]:
    """Return a function that draws a log-uniform time."""
    logs = math.log(least), math.log(most)
    return lambda draw, state: draw.choice([0.0, -1.0]) if draw.random() < WRONG else math.exp(draw.uniform(*logs))


def _one(*values: Any, wrong: Any = None) -> Callable[[Random, State], Any]:
    """Return a function that draws one of a few values, and sometimes the invalid one, if there is one."""
    return lambda draw, state: wrong if wrong is not None and draw.random() < WRONG else draw.choice(values)


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
    "deadline_s": _seconds(),
    "priority": _one(0, 0, 1, *range(10), wrong=-1),
    "name": lambda draw, state: draw.choice([*NAMES, "a name", ""]),
    "path": lambda draw, state: "simulated.yaml",
    "folder": lambda draw, state: ".",
    "max_parallel": _one(1, 2, 3, 5, 10, wrong=0),
    "max_agents": _one(3, 10, 50, wrong=0),
    "max_total": _one(1, 2, 3, 6, wrong=0),
    "processes": _one(1, 1, 2, 3, wrong=0),
    "run_in": _one("process", "process", "thread"),
    "max_concurrency": _one(1, 1, 2, 3, wrong=0),
    "weight": _one(0.5, 1.0, 2.0, 5.0),
    "ageing_s": _one(0.0, 10.0, 60.0, 600.0),
    "grace_s": _one(0.0, 1.0, 5.0, 60.0),
    "step_timeout_s": _seconds(30, 5_000),
    "category": _one(*SKILLS),
    "specialties": lambda draw, state: draw.sample(SKILLS, draw.randint(0, 2)),
    "add": lambda draw, state: draw.sample(SKILLS, draw.choice([0, 1, 1, 2])),
    "remove": lambda draw, state: draw.sample(SKILLS, draw.choice([0, 0, 1])),
    "on": lambda draw, state: draw.choice([[], [], ["ConnectionError"], ["OSError", "ValueError"]]),
    "never_on": lambda draw, state: draw.choice([[], [], ["ValueError"]]),
}
"""Draws values of command fields, by name of the field."""
BY_FIELD: dict[tuple[str, str], Callable[[Random, State], Any]] = {
    ("Cancel", "target"): _work,
    ("RetryWork", "target"): _stopped_work,
    ("SetDeadline", "target"): _work,
    ("SetPriority", "target"): _work,
    ("RemoveMember", "target"): _member,
    ("Move", "target"): _member,
    ("Resume", "target"): _stopped,
    ("SwapAgent", "agent"): _busy_agent,
    ("SwapAgent", "mode"): _how("drain", "migrate", "migrate", "abort"),
    ("SwapAgent", "deadline_s"): _seconds(20, 600),
    ("SwapAgent", "rollback_failures"): _one(1, 2, 3),
    ("SwapAgent", "rollback_tasks"): _one(3, 5, 10),
    ("SwapAgent", "generation"): _one(None, 1, 2),
    ("Rollback", "agent"): _changed,
    ("Rollback", "mode"): _how("drain", "migrate", "abort"),
    ("RemoveMember", "mode"): _how("drain", "requeue", "abort"),
    ("ReplaceTeam", "mode"): _how("drain", "migrate", "requeue", "abort"),
    ("Reassign", "task"): _open_task,
    ("Limits", "attempts"): _one(3, 8, 20, 60),
    ("Limits", "time_s"): _seconds(60, 20_000),
    ("Limits", "run_s"): _seconds(60, 20_000),
    ("Limits", "tokens"): _one(2_000, 20_000, 200_000),
    ("Limits", "cost_usd"): _one(Decimal("0.05"), Decimal("0.5"), Decimal("5")),
    ("Limits", "depth"): _one(2, 4, 8),
    ("Limits", "warn_at"): _one(0.5, 0.8, 1.0),
    ("Pool", "min"): _one(1, 1, 2),
    ("Pool", "max"): _one(2, 3, 5),
    ("Pool", "grow_at"): _one(1, 2, 3),
    ("Pool", "idle_s"): _seconds(1, 600),
    ("Circuit", "failures"): _one(1, 2, 3),
    ("Circuit", "cool_s"): _seconds(5, 3_000),
    ("Restart", "intensity"): _one(0, 1, 3),
    ("Restart", "period_s"): _seconds(60, 10_000),
    ("Preempt", "urgent"): _one(0, 1, 3, 8),
    ("Preempt", "limit"): _one(0, 1, 3),
    ("Retry", "retries"): _one(0, 1, 2, 4),
    ("Retry", "base_s"): _one(0.1, 1.0, 30.0),
    ("Retry", "cap_s"): _one(30.0, 60.0, 600.0),
    ("Failover", "agents"): _one(None, 1, 2),
    ("Escalate", "after_s"): _seconds(60, 20_000),
    ("Optimize", "performance_threshold"): _one(0.5, 0.85, 1.0),
    ("Answer", "escalation"): lambda draw, state: one_of(draw, list(state.escalations)),
    ("Answer", "also"): lambda draw, state: draw.sample([*state.escalations], min(len(state.escalations), 2)),
    ("Undo", "command_id"): lambda draw, state: draw.choice([None, *state.undoable]),
    ("Steer", "target"): lambda draw, state: _at_work(draw, state),
    ("Steer", "text"): _one("look closer", "stop after the next", "a message of several words\n" * 40),
    ("Abort", "target"): lambda draw, state: _at_work(draw, state),
    ("RevokeGrant", "grant"): lambda draw, state: one_of(draw, list(state.grants)),
    ("Answer", "answer"): lambda draw, state: one_of(
        draw, [option for one in state.escalations.values() for option in one.options]
    ),
}
"""Draws values of fields whose name has another meaning in one class, by class and name."""


DRAWN_WHOLE: dict[type, Callable[[Random], Any]] = {}
"""Draws records as a whole, not field by field; `teams`, which the package always loads, adds its own."""


def drawn(cls: Any, draw: Random, state: State, *, left_out: float = LEFT_OUT) -> Any:
    """Return an instance of a record with its fields drawn.

    Args:
        state: The state from which names are taken.
        left_out: Share of the fields with a default that keep it.

    Raises:
        ValueError: If the drawn values contradict each other.
    """
    if cls in DRAWN_WHOLE:
        return DRAWN_WHOLE[cls](draw)
    values: dict[str, Any] = {}
    hints = hints_of(cls)
    for one in fields(cls):
        has_default = not one.required
        if has_default and draw.random() < left_out:
            continue
        if (cls.__name__, one.name) in BY_FIELD:
            values[one.name] = BY_FIELD[cls.__name__, one.name](draw, state)
        else:
            values[one.name] = field_value(one.name, hints[one.name], draw, state)
    if {"spec", "registered"} <= hints.keys() and draw.random() > WRONG:  # one of the two, as a rule
        values["registered" if values.get("spec") is not None else "spec"] = None
        if values.get("registered") is None and values["spec"] is None:
            values["spec"] = DRAWN_WHOLE[AgentSpec](draw)
    return cls(**values)


def field_value(name: str, hint: Any, draw: Random, state: State) -> Any:
    """Return a value for a field of this name and type."""
    if type(None) in get_args(hint) and draw.random() < 0.3:
        return None
    by_name = BY_NAME.get(name)
    return by_name(draw, state) if by_name is not None else _value(hint, draw, state)


def often_drawn(cls: Any, draw: Random, state: State, *, left_out: float = LEFT_OUT) -> Any:
    """Return an instance with its fields drawn, repeated while it is invalid; None after `TRIES`."""
    for _ in range(TRIES):
        try:
            return drawn(cls, draw, state, left_out=left_out)
        except ValueError:
            continue
    return None


@cache
def hints_of(cls: Any) -> dict[str, Any]:
    """Return the types of the fields of a record."""
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
    if isinstance(hint, type) and issubclass(hint, Struct):
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
