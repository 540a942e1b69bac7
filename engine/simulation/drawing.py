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
from engine.core.specs.memory import SegmentRights
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Run, State, Supervisor, TaskStatus
from engine.core.strategies import STRATEGIES

NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal", "a3", "s2")
"""Few names, so that teams under one root share them; two look like ids of other objects."""
SKILLS = ("parse", "write", "sum", "draw", "check")
SEGMENTS = ("results", "notes")
"""Segments of the pool of a team."""
TAGS = ("red", "green", "blue")
TOOLS = ("crew:send", "crew:look")
"""References of tools, which the user of every simulation trusts."""
TOOLSET = "kit"
MADE_NAMES = ("ivy", "jon")
"""Names of agents that agents make."""
CAPABILITIES = ("agents", "recall", "send", "look", TOOLSET, "model:sim")
"""What recipes name."""
INVALID_SHARE = 0.04
"""Share of unknown names and of invalid numbers."""
OMISSION_SHARE = 0.6
"""Share of fields with a default that keep it."""
MAX_TRIES = 5


def _agent(draw: Random, state: State) -> str:
    return choose_name(draw, [word for agent in state.agents.values() for word in targets_of(state, agent)])


def _supervisor(draw: Random, state: State) -> str:
    return choose_name(
        draw, [word for supervisor in state.supervisors.values() for word in targets_of(state, supervisor)]
    )


def targets_of(state: State, member: Agent | Supervisor) -> list[str]:
    """Return targets that may name a member: its id, its name, its path."""
    parent = state.supervisors.get(parent_id_of(member) or "")
    return [
        member.id,
        f"@{member.id}",
        member.name,
        f"/{member.name}" if parent is None else f"{parent.name}/{member.name}",
    ]


def _task(draw: Random, state: State) -> str:
    return choose_name(draw, list(state.tasks))


def _run(draw: Random, state: State) -> str:
    return choose_name(draw, [*state.runs, *(run_summary.id for run_summary in state.finished[-3:])])


def _any_target(draw: Random, state: State) -> str:
    return draw.choice([_agent, _supervisor, _task, _run])(draw, state)


def _work_target(draw: Random, state: State) -> str:
    return draw.choice([_open_task, _task, _run])(draw, state)


def _stopped_work(draw: Random, state: State) -> str:
    """Return mostly a task that has failed or backs off, if there is one."""
    tasks = [task.id for task in state.tasks.values() if task.status in (TaskStatus.FAILED, TaskStatus.RETRYING)]
    return choose_name(draw, tasks) if tasks and draw.random() < 0.7 else _work_target(draw, state)


def _busy_agent(draw: Random, state: State) -> str:
    """Return mostly an agent that is at work, if there is one."""
    busy = [f"@{agent.id}" for agent in state.agents.values() if agent.running or agent.parked]
    return draw.choice(busy) if busy and draw.random() < 0.7 else _agent(draw, state)


def _member(draw: Random, state: State) -> str:
    return draw.choice([_agent, _agent, _agent, _supervisor])(draw, state)


def _open_task(draw: Random, state: State) -> str:
    return choose_name(draw, [task.id for task in state.tasks.values() if task.kind == "agent" and not task.ended])


def _resumable_target(draw: Random, state: State) -> str:
    """Return a target that can be resumed: paused, failed, or an agent with an open circuit."""
    owners: list[Run | Supervisor | Agent] = [*state.runs.values(), *state.supervisors.values(), *state.agents.values()]
    paused = [owner.id for owner in owners if owner.paused]
    failed = [owner.id for owner in owners if not isinstance(owner, Run) and owner.error is not None]
    shut = [agent.id for agent in state.agents.values() if agent.circuit != "closed"]
    return choose_name(draw, [f"@{target_id}" for target_id in dict.fromkeys([*paused, *failed, *shut])])


def _steerable_target(draw: Random, state: State) -> str:
    """Return mostly an agent at work, a task or a run."""
    return draw.choice([_busy_agent, _open_task, _work_target])(draw, state)


def choose_name(draw: Random, names: Sequence[str]) -> str:
    """Return one of some names, and sometimes an unknown one."""
    if not names or draw.random() < INVALID_SHARE:
        return draw.choice(["nobody", "t999999", "chief/nobody", "", *NAMES])
    return draw.choice(names)


def _mode_choice(*modes: str) -> Callable[[Random, State], str]:
    return lambda draw, state: "no_such_mode" if draw.random() < INVALID_SHARE else draw.choice(modes)


def _seconds(min_s: float = 20.0, max_s: float = 50_000.0) -> Callable[[Random, State], float]:
    """Return a function that draws a log-uniform time."""
    logs = math.log(min_s), math.log(max_s)
    return lambda draw, state: (
        draw.choice([0.0, -1.0]) if draw.random() < INVALID_SHARE else math.exp(draw.uniform(*logs))
    )


def _choice(*values: Any, invalid: Any = None) -> Callable[[Random, State], Any]:
    """Return a function that draws one of a few values, and sometimes the invalid one, if there is one."""
    return lambda draw, state: invalid if invalid is not None and draw.random() < INVALID_SHARE else draw.choice(values)


def _draw_holders(draw: Random) -> list[str]:
    """Return who has a right: names of agents or supervisors, or all."""
    return draw.choice([["all"], ["chief"], [], draw.sample([*NAMES, "north", "south"], 5)])


DRAW_BY_NAME: dict[str, Callable[[Random, State], Any]] = {
    "target": _any_target,
    "agent": _agent,
    "aggregator": _agent,
    "supervisor": _supervisor,
    "parent": _supervisor,
    "under": _supervisor,
    "to": _supervisor,
    "task": _task,
    "run": _run,
    "after": lambda draw, state: [_run(draw, state) for _ in range(draw.choice([0, 0, 1, 2]))],
    "mode": lambda draw, state: draw.choice([*STRATEGIES, "no_such_mode"]),
    "registered": lambda draw, state: choose_name(draw, list(state.registry)),
    "deadline_s": _seconds(),
    "priority": _choice(0, 0, 1, *range(10), invalid=-1),
    "name": lambda draw, state: draw.choice([*NAMES, "a name", ""]),
    "path": lambda draw, state: "simulated.yaml",
    "folder": lambda draw, state: ".",
    "max_parallel": _choice(1, 2, 3, 5, 10, invalid=0),
    "max_agents": _choice(3, 10, 50, invalid=0),
    "max_total": _choice(1, 2, 3, 6, invalid=0),
    "processes": _choice(1, 1, 2, 3, invalid=0),
    "run_in": _choice("process", "process", "thread"),
    "max_concurrency": _choice(1, 1, 2, 3, invalid=0),
    "weight": _choice(0.5, 1.0, 2.0, 5.0),
    "ageing_s": _choice(0.0, 10.0, 60.0, 600.0),
    "grace_s": _choice(0.0, 1.0, 5.0, 60.0),
    "step_timeout_s": _seconds(30, 5_000),
    "category": _choice(*SKILLS),
    "specialties": lambda draw, state: draw.sample(SKILLS, draw.randint(0, 2)),
    "add": lambda draw, state: draw.sample(SKILLS, draw.choice([0, 1, 1, 2])),
    "remove": lambda draw, state: draw.sample(SKILLS, draw.choice([0, 0, 1])),
    "on": lambda draw, state: draw.choice([[], [], ["ConnectionError"], ["OSError", "ValueError"]]),
    "never_on": lambda draw, state: draw.choice([[], [], ["ValueError"]]),
}
"""Draws values of command fields, by name of the field."""
DRAW_BY_FIELD: dict[tuple[str, str], Callable[[Random, State], Any]] = {
    ("SupervisorOptions", "metric_labels"): _choice(None, ("team",), ("team", "env"), invalid=("status",)),
    ("Cancel", "target"): _work_target,
    ("RetryWork", "target"): _stopped_work,
    ("SetDeadline", "target"): _work_target,
    ("SetPriority", "target"): _work_target,
    ("RemoveMember", "target"): _member,
    ("Move", "target"): _member,
    ("Resume", "target"): _resumable_target,
    ("SwapAgent", "agent"): _busy_agent,
    ("SwapAgent", "model"): lambda draw, state: choose_name(
        draw, [name for supervisor in state.supervisors.values() for name in supervisor.options.models]
    ),
    ("SwapAgent", "mode"): _mode_choice("drain", "migrate", "migrate", "abort"),
    ("SwapAgent", "deadline_s"): _seconds(20, 600),
    ("SwapAgent", "rollback_failures"): _choice(1, 2, 3),
    ("SwapAgent", "rollback_tasks"): _choice(3, 5, 10),
    ("SwapAgent", "generation"): _choice(None, 1, 2),
    ("Rollback", "agent"): lambda draw, state: choose_name(
        draw, [f"@{agent.id}" for agent in state.agents.values() if agent.previous is not None]
    ),
    ("Rollback", "mode"): _mode_choice("drain", "migrate", "abort"),
    ("RemoveMember", "mode"): _mode_choice("drain", "requeue", "abort"),
    ("ReplaceTeam", "mode"): _mode_choice("drain", "migrate", "requeue", "abort"),
    ("Reassign", "task"): _open_task,
    ("Limits", "attempts"): _choice(3, 8, 20, 60),
    ("Limits", "time_s"): _seconds(60, 20_000),
    ("Limits", "run_s"): _seconds(60, 20_000),
    ("Limits", "tokens"): _choice(2_000, 20_000, 200_000),
    ("Limits", "cost_usd"): _choice(Decimal("0.05"), Decimal("0.5"), Decimal("5")),
    ("Limits", "depth"): _choice(2, 4, 8),
    ("Limits", "warn_at"): _choice(0.5, 0.8, 1.0),
    ("Pool", "min"): _choice(1, 1, 2),
    ("Pool", "max"): _choice(2, 3, 5),
    ("Pool", "grow_at"): _choice(1, 2, 3),
    ("Pool", "idle_s"): _seconds(1, 600),
    ("Circuit", "failures"): _choice(1, 2, 3),
    ("Circuit", "cool_s"): _seconds(5, 3_000),
    ("Restart", "intensity"): _choice(0, 1, 3),
    ("Restart", "period_s"): _seconds(60, 10_000),
    ("Preempt", "urgent"): _choice(0, 1, 3, 8),
    ("Preempt", "limit"): _choice(0, 1, 3),
    ("Retry", "retries"): _choice(0, 1, 2, 4),
    ("Retry", "base_s"): _choice(0.1, 1.0, 30.0),
    ("Retry", "cap_s"): _choice(30.0, 60.0, 600.0),
    ("Failover", "agents"): _choice(None, 1, 2),
    ("Escalate", "after_s"): _seconds(60, 20_000),
    ("Optimize", "performance_threshold"): _choice(0.5, 0.85, 1.0),
    ("Answer", "escalation"): lambda draw, state: choose_name(draw, list(state.escalations)),
    ("Answer", "also"): lambda draw, state: draw.sample([*state.escalations], min(len(state.escalations), 2)),
    ("Answer", "amount"): _choice(None, None, None, Decimal(1), Decimal("0.5")),
    ("Answer", "minutes"): _choice(None, None, None, 0.5, 30.0),
    ("Answer", "scope"): _choice(None, None, None, "task", "run", "until", "always"),
    ("Answer", "where"): _choice([], [], [], ["to"]),
    ("Undo", "command_id"): lambda draw, state: draw.choice([None, *state.undoable]),
    ("Steer", "target"): _steerable_target,
    ("Steer", "text"): _choice("look closer", "stop after the next", "a message of several words\n" * 40),
    ("Abort", "target"): _steerable_target,
    ("RevokeGrant", "grant"): lambda draw, state: choose_name(draw, list(state.grants)),
    ("MemoryOptions", "max"): _choice(3, 10, 1_000, invalid=0),
    ("MemoryOptions", "segments"): lambda draw, state: {
        segment: SegmentRights(read=_draw_holders(draw), write=_draw_holders(draw))
        for segment in SEGMENTS[: draw.randint(0, 2)]
    },
    ("SupervisorOptions", "toolsets"): lambda draw, state: {TOOLSET: draw.choice([TOOLS, TOOLS[:1]])},
    ("Remember", "segment"): _choice(*SEGMENTS, invalid="private"),
    ("Remember", "tags"): lambda draw, state: tuple(draw.sample(TAGS, draw.randint(0, 2))),
    ("Remember", "importance"): _choice(0.0, 0.5, 1.0, invalid=2.0),
    ("Remember", "supersedes"): lambda draw, state: choose_name(draw, [*state.insights]),
    ("Remember", "expires_s"): _seconds(20, 5_000),
    ("Forget", "insights"): lambda draw, state: [
        choose_name(draw, [*state.insights]) for _ in range(draw.randint(1, 3))
    ],
    ("CreateAgent", "maker"): _agent,
    ("CreateAgent", "name"): _choice(*MADE_NAMES),
    ("CreateAgent", "capabilities"): lambda draw, state: draw.sample(CAPABILITIES, draw.choice([0, 1, 1, 2])),
    ("CreateAgent", "run"): _choice(*TOOLS, invalid="nowhere:run"),
    ("CreateAgent", "tasks"): lambda draw, state: {},
    ("CreateAgent", "model"): _choice(None, None, "sim"),
    ("CreateAgent", "tokens"): _choice(None, 20_000),
    ("RetireRecipes", "recipes"): lambda draw, state: draw.sample(
        [*state.recipes], min(len(state.recipes), draw.randint(0, 2))
    ),
    ("Answer", "answer"): lambda draw, state: choose_name(
        draw, [option for escalation in state.escalations.values() for option in escalation.options]
    ),
}
"""Draws values of fields whose name has another meaning in one class, by class and name."""


DRAW_BY_TYPE: dict[type, Callable[[Random], Any]] = {}
"""Draws records as a whole, not field by field; `teams`, which the package always loads, adds its own."""


def draw_record(cls: Any, draw: Random, state: State, *, omission_share: float = OMISSION_SHARE) -> Any:
    """Return an instance of a record with its fields drawn.

    Args:
        state: The state from which names are taken.
        omission_share: Share of the fields with a default that keep it.

    Raises:
        ValueError: If the drawn values contradict each other.
    """
    if cls in DRAW_BY_TYPE:
        return DRAW_BY_TYPE[cls](draw)
    values: dict[str, Any] = {}
    hints = hints_of(cls)
    for field in fields(cls):
        has_default = not field.required
        if has_default and draw.random() < omission_share:
            continue
        if (cls.__name__, field.name) in DRAW_BY_FIELD:
            values[field.name] = DRAW_BY_FIELD[cls.__name__, field.name](draw, state)
        else:
            values[field.name] = field_value(field.name, hints[field.name], draw, state)
    if {"spec", "registered"} <= hints.keys() and draw.random() > INVALID_SHARE:  # one of the two, as a rule
        values["registered" if values.get("spec") is not None else "spec"] = None
        if values.get("model") is not None:
            values["spec"] = values["registered"] = None
        elif values.get("registered") is None and values["spec"] is None:
            values["spec"] = DRAW_BY_TYPE[AgentSpec](draw)
    return cls(**values)


def field_value(name: str, hint: Any, draw: Random, state: State) -> Any:
    """Return a value for a field of this name and type."""
    if type(None) in get_args(hint) and draw.random() < 0.3:
        return None
    by_name = DRAW_BY_NAME.get(name)
    return by_name(draw, state) if by_name is not None else _value(hint, draw, state)


def draw_valid_record(cls: Any, draw: Random, state: State, *, omission_share: float = OMISSION_SHARE) -> Any:
    """Return an instance with its fields drawn, repeated while it is invalid; None after `MAX_TRIES`."""
    for _ in range(MAX_TRIES):
        try:
            return draw_record(cls, draw, state, omission_share=omission_share)
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
        return _value(draw.choice([arg for arg in args if arg is not type(None)]), draw, state)
    if origin in (list, tuple, Sequence):
        return [_value(args[0], draw, state) for _ in range(draw.choice([0, 1, 1, 2]))]
    if origin in (dict, Mapping):
        return {_value(args[0], draw, state): _value(args[1], draw, state) for _ in range(draw.choice([0, 1, 2]))}
    if isinstance(hint, type) and issubclass(hint, Struct):
        return draw_record(hint, draw, state)
    return _draw_plain(hint, draw, state)


def _draw_plain(hint: Any, draw: Random, state: State) -> Any:
    if hint is bool:
        return draw.random() < 0.5
    if hint is int:
        return draw.choice([0, 1, 2, 3, 10, -1])
    if hint is float:
        return draw.choice([0.5, 1.0, 60.0, 3600.0, 0.0])
    if hint is Decimal:
        return draw.choice([Decimal("0.001"), Decimal("1"), Decimal("100")])
    return draw.choice([_any_target(draw, state), draw.choice(SKILLS), "a text"])
