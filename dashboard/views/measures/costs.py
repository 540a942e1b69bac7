"""What a team has spent, by agent, model, tool or task: rows for the screen and the command line.

The rows of one grouping add up to the whole cost of the team: what belongs to no model, tool or task is a row too.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias, get_args

from dashboard.views.measures.usage import own_usage
from dashboard.views.words.amounts import is_known
from engine.core.queries.money.recent import Scope, covered_s, usd_per_min
from engine.core.queries.money.spending import SpendingRow, spending_rows, total_of, usage_less
from engine.core.records.values import Usage
from engine.core.state import State

By: TypeAlias = Literal["agent", "model", "tool", "task"]
GROUPINGS: tuple[By, ...] = get_args(By)
_REST: dict[By, str] = {
    "agent": "no agent",
    "model": "no model",
    "tool": "models, and no tool",
    "task": "earlier runs",
}
"""Name of the row of what no other row has, by grouping."""


class CostRow(NamedTuple):
    """What was spent on one agent, model, tool or task."""

    key: str
    """Id of the agent, the task or the ended run, name of the model or tool; empty for the rest."""
    name: str
    usage: Usage
    left: bool
    """The agent has left the team, or the run has ended."""
    share: float
    """Its part of the cost of the team, or of its tokens where no price is known; 0 to 1."""
    usd_per_min: Decimal | None
    """Mean cost of a minute in the last five; None where it is not kept (tools and tasks)."""


def cost_rows(state: State, by: By, now_ms: int) -> list[CostRow]:
    """Return what was spent by one grouping, the most first; rows without tokens and money are left out."""
    if by == "task":
        groups = {task.id: (f"{task.id}  {task.title}", own_usage(state, task), False) for task in state.tasks.values()}
        # The state has no tasks of a run that has ended.
        groups |= {run.id: (f"{run.id}  {run.title}, ended", run.usage, True) for run in state.finished}
        known = [usage for _, usage, _ in groups.values() if usage is not None]
        groups[""] = (_REST[by], usage_less(state.usage, known), True)
    else:
        groups = _grouped(spending_rows(state), by)
    total, span_s = weight(state.usage), covered_s(state, now_ms, 300)
    rows = [
        CostRow(
            key=key,
            name=name,
            usage=usage,
            left=left,
            share=min(1.0, weight(usage) / total) if total else 0.0,
            usd_per_min=_usd_per_min(state, by, key, now_ms, span_s),
        )
        for key, (name, usage, left) in groups.items()
        if usage is not None and is_known(usage)
    ]
    return sorted(rows, key=lambda row: (-(row.usage.cost_usd or 0), -tokens_of(row.usage), _natural_order(row.name)))


def _natural_order(name: str) -> list[str | int]:
    """Return a sort key by which `t4` comes before `t37`."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def parts_of_row(state: State, by: By, key: str) -> list[tuple[str, Usage]]:
    """Return what a row consists of, the most first: models and tools of an agent, agents of a model or a tool."""
    parts: defaultdict[str, list[Usage]] = defaultdict(list)
    for row in spending_rows(state):
        if by != "task" and _key_of(row, by) == key:
            name = (row.model or row.tool or "neither") if by == "agent" else row.name or _REST["agent"]
            parts[name].append(row.usage)
    totals = [(name, total_of(usages)) for name, usages in parts.items()]
    return sorted([part for part in totals if is_known(part[1])], key=lambda part: -weight(part[1]))


def weight(usage: Usage) -> float:
    """Return the cost of usage, for comparison; without a price, its tokens in place of billions of dollars."""
    return float(usage.cost_usd) if usage.cost_usd else tokens_of(usage) / 1e9


def tokens_of(usage: Usage) -> int:
    """Return tokens in and out."""
    return (usage.tokens_in or 0) + (usage.tokens_out or 0)


def _usd_per_min(state: State, by: By, key: str, now_ms: int, span_s: int) -> Decimal | None:
    if not key or by not in ("agent", "model"):
        return None
    scope: Scope = "agent" if by == "agent" else "model"
    return usd_per_min(state, scope, key, now_ms, span_s)


def _grouped(rows: Iterable[SpendingRow], by: By) -> dict[str, tuple[str, Usage | None, bool]]:
    usages: defaultdict[str, list[Usage]] = defaultdict(list)
    names: dict[str, tuple[str, bool]] = {}
    for row in rows:
        key = _key_of(row, by)
        usages[key].append(row.usage)
        name = row.name if by == "agent" else key
        names[key] = (name if key else _REST[by], row.left and by == "agent")
    return {key: (names[key][0], total_of(each), names[key][1]) for key, each in usages.items()}


_KEYS: dict[By, Callable[[SpendingRow], str | None]] = {
    "agent": lambda row: row.agent_id,
    "model": lambda row: row.model,
    "tool": lambda row: row.tool,
}


def _key_of(row: SpendingRow, by: By) -> str:
    return _KEYS[by](row) or ""
