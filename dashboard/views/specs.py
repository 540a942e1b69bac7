"""Specs side by side: what an agent is now and what it would be."""

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
    ("on failure", "on_failure"),
    ("weight", "weight"),
    ("options", "options"),
)
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
                cells.append(Cell(written(before), "muted", f"  {label:<12}"))
            continue
        if before:
            cells.append(Cell(written(before), "warn", f"- {label:<12}"))
        if after:
            cells.append(Cell(written(after), "busy", f"+ {label:<12}"))
    return cells or [Cell("the same as it has now", "muted")]


def written(value: Any) -> str:
    """Return a field's value as a person would write it."""
    if isinstance(value, tuple | list):
        return ", ".join(written(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        fields = asdict(value)
        kind = fields.pop("type", "")
        return " ".join([str(kind), *(f"{name}={item}" for name, item in fields.items())])
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


def candidate_line(state: State, agent: Agent, name: str) -> str:
    """Return what speaks for a candidate: specialties it shares, and how agents with this spec have done."""
    content = state.registry[name]
    spec, now = state.specs[content], state.specs[agent.spec]
    own = {specialty.casefold() for specialty in now.specialties}
    shared = [specialty for specialty in spec.specialties if specialty.casefold() in own]
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
