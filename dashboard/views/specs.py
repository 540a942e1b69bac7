"""Specs side by side: what an agent is now and what it would be."""

from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from dashboard.views.amounts import counted, duration, median, percent
from dashboard.views.rows import Cell
from engine.core.spec import AgentSpec
from engine.core.state import Agent, State

FIELDS = (
    ("type", "agent_type"),
    ("run", "run"),
    ("run in", "run_in"),
    ("model", "model"),
    ("description", "description"),
    ("specialties", "specialties"),
    ("category", "category"),
    ("tools", "tools"),
    ("instructions", "instructions"),
    ("at once", "max_concurrency"),
    ("timeout s", "timeout_s"),
    ("step timeout", "step_timeout_s"),
    ("on failure", "on_failure"),
    ("pool", "pool"),
    ("limits", "limits"),
    ("task limits", "task_limits"),
    ("circuit", "circuit"),
    ("weight", "weight"),
    ("options", "options"),
)
LONGEST = 160
"""Characters of a value that are shown where two specs stand side by side."""
_UNSAID: dict[str, Any] = {"weight": 1.0, "max_concurrency": 1}


def spec_lines(spec: AgentSpec) -> list[tuple[str, str]]:
    """Return what a spec says, field by field; what it leaves at its default is left out."""
    told = []
    for label, field in FIELDS:
        value = getattr(spec, field)
        if value and value != _UNSAID.get(field):
            told.append((label, written(value)))
    return [("name", spec.name), *told]


def changes(old: AgentSpec, new: AgentSpec) -> list[Cell]:
    """Return both specs as lines: what stays, `-` what goes, `+` what comes."""
    cells: list[Cell] = []
    for label, field in FIELDS:
        before, after = getattr(old, field), getattr(new, field)
        if before == after:
            if field == "agent_type":
                cells.append(Cell(written(before), "muted", f"  {label:<12} "))
        elif isinstance(before, dict) and isinstance(after, dict):
            keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
            for key in keys:
                cells += _change(f"{label}.{key}", before.get(key), after.get(key))
        else:
            cells += _change(label, before, after)
    return cells or [Cell("the same as it has now", "muted")]


def _change(label: str, before: Any, after: Any) -> list[Cell]:
    cells = [Cell(_short(before), "warn", f"- {label:<12} ")] if before else []
    return cells + ([Cell(_short(after), "busy", f"+ {label:<12} ")] if after else [])


def _short(value: Any) -> str:
    text = written(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def written(value: Any) -> str:
    """Return a field's value as a person would write it."""
    if isinstance(value, tuple | list):
        return ", ".join(written(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        fields = asdict(value)
        kind = fields.pop("type", "")
        said = [f"{name}={written(item)}" for name, item in fields.items() if item not in (None, (), [], {}, "")]
        return " ".join([str(kind), *said] if kind else said)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {written(item)}" for name, item in value.items())
    return str(value)


def candidates(state: State, agent: Agent) -> list[str]:
    """Return the names in the registry that an agent could be swapped for, the likest first."""
    now = state.specs[agent.spec]
    own = {specialty.casefold() for specialty in now.specialties}

    def distance(name: str) -> tuple[int, int, str]:
        spec = state.specs[state.registry[name]]
        shared = own & {specialty.casefold() for specialty in spec.specialties}
        return (-len(shared), 0 if spec.agent_type == now.agent_type else 1, name)

    others = [name for name, content in state.registry.items() if content != agent.spec and content in state.specs]
    return sorted(others, key=distance)


def sharing(state: State, agents: Sequence[Agent]) -> tuple[list[str], list[str]]:
    """Return the candidates for all of these agents: those that share a specialty with each of them, and the others."""
    names = [name for name in candidates(state, agents[0]) if all(state.registry[name] != one.spec for one in agents)]
    likely = [name for name in names if all(_shared(state, agent, name) for agent in agents)]
    return likely, [name for name in names if name not in likely]


def _shared(state: State, agent: Agent, name: str) -> list[str]:
    own = {specialty.casefold() for specialty in state.specs[agent.spec].specialties}
    return [one for one in state.specs[state.registry[name]].specialties if one.casefold() in own]


def candidate_line(state: State, agent: Agent, name: str) -> str:
    """Return what speaks for a candidate: specialties it shares, and how agents with this spec have done."""
    content = state.registry[name]
    shared = _shared(state, agent, name)
    users = [other for other in state.agents.values() if other.spec == content]
    ended = sum(user.done + user.failed for user in users)
    told = [f"matches {', '.join(shared)}" if shared else "shares no specialty"]
    if ended:
        done = sum(user.done for user in users)
        times = [time for user in users for time in user.durations_ms]
        told.append(f"p50 {duration(median(times))}, {percent(done / ended)} of {ended:,} ok")
    return ", ".join(told)


def its_work(agent: Agent, state: State) -> str:
    """Return what an agent has in hand, for a person who is about to change it."""
    at_work = [state.tasks[task].title for task in (*agent.running, *agent.parked) if task in state.tasks]
    first = f" ({at_work[0]})" if at_work else ""
    waiting = sum(len(state.queues[key].ready) for key in agent.queues if key in state.queues)
    under_way = f"{counted(len(at_work), 'attempt')} under way{first}" if at_work else "nothing under way"
    return f"{under_way}, {counted(waiting, 'task')} waiting"
