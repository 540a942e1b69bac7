"""Who spent what: usage by agent, model and tool, of agents that have left too.

The rows add up to `State.usage` exactly. What an agent spent on neither a model nor a tool is a row of its own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from engine.core.queries.money.budget import Budget, Subject, budgets
from engine.core.records.values import NO_USAGE, Usage
from engine.core.state import Spending, State


@dataclass(frozen=True, slots=True)
class SpendingRow:
    """What one agent spent on one model, on one tool, or on neither."""

    agent_id: str | None
    """None for searches for agents, and for agents that left before their spending was kept."""
    name: str
    """Name of the agent; empty without one."""
    model: str | None
    tool: str | None
    usage: Usage
    left: bool
    """The agent has left the team."""


def spending_rows(state: State) -> list[SpendingRow]:
    """Return all usage by agent, model and tool; rows without usage are left out."""
    rows: list[SpendingRow] = []
    for agent in state.agents.values():
        rows += _rows_of(agent.id, agent.name, agent.usage, state.spending.get(agent.id), left=False)
    for spending in state.spending.values():
        if spending.usage is not None:
            rows += _rows_of(spending.id, spending.name, spending.usage, spending, left=True)
    unknown = usage_less(state.usage, [row.usage for row in rows])
    if unknown != NO_USAGE:
        rows.append(SpendingRow(None, "", None, None, unknown, left=True))
    return rows


def name_of_spender(state: State, agent_id: str) -> str | None:
    """Return the name of an agent, or the one that it had when it left; None if it is unknown."""
    agent = state.agents.get(agent_id)
    if agent is not None:
        return agent.name
    spending = state.spending.get(agent_id)
    return spending.name if spending is not None and spending.name else None


def total_of(usages: Iterable[Usage]) -> Usage:
    """Return the sum of usages."""
    total = NO_USAGE
    for usage in usages:
        total = total.plus(usage)
    return total


def usage_less(total: Usage, parts: Iterable[Usage]) -> Usage:
    """Return the part of `total` that no part contains; an amount that is all in the parts is None."""
    parts = list(parts)
    known = total_of(parts)

    def rest(name: str) -> int | None:
        amount, spent = getattr(total, name), getattr(known, name)
        if amount is None or spent is None:
            return amount  # type: ignore[no-any-return]
        return max(0, amount - spent) or None

    cost_usd = total.cost_usd
    if cost_usd is not None and known.cost_usd is not None:
        cost_usd = max(cost_usd - known.cost_usd, cost_usd * 0) or None
    return Usage(
        tokens_in=rest("tokens_in"),
        tokens_out=rest("tokens_out"),
        tokens_cached=rest("tokens_cached"),
        cost_usd=cost_usd,
        time_ms=max(0, total.time_ms - known.time_ms),
        unpriced=total.unpriced and not known.unpriced,
    )


def _rows_of(agent_id: str, name: str, total: Usage, spending: Spending | None, *, left: bool) -> Iterator[SpendingRow]:
    known: list[Usage] = []
    if spending is not None:
        for model, usage in spending.models.items():
            known.append(usage)
            yield SpendingRow(agent_id, name, model, None, usage, left)
        for tool, usage in spending.tools.items():
            known.append(usage)
            yield SpendingRow(agent_id, name, None, tool, usage, left)
    rest = usage_less(total, known)
    if rest != NO_USAGE:
        yield SpendingRow(agent_id, name, None, None, rest, left)


def cost_budget(state: State) -> Budget | None:
    """Return the budget in USD of the team, the one that is spent most; without one, those of open runs together."""
    found = _cost_budgets(state, state.roots)
    if found:
        return max(found, key=lambda budget: budget.share)
    of_runs = _cost_budgets(state, state.runs.values())
    if not of_runs:
        return None
    worst = max(of_runs, key=lambda budget: budget.share)
    zero = Decimal(0)
    return replace(
        worst, spent=sum([run.spent for run in of_runs], zero), limit=sum([run.limit for run in of_runs], zero)
    )


def cost_budget_of(state: State, subject: Subject) -> Budget | None:
    """Return the budget in USD of a task, run, agent or supervisor; None without one."""
    return next(iter(_cost_budgets(state, [subject])), None)


def _cost_budgets(state: State, subjects: Iterable[Subject]) -> list[Budget]:
    return [
        budget
        for subject in subjects
        for budget in budgets(state, subject)
        if budget.name == "cost_usd" and budget.limit
    ]
