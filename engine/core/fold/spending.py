"""Fold: what agents spend on models and tools, also after they have left.

What an agent spent on neither stands in no row: `Agent.usage` less its rows is exactly that.
"""

from engine.core.fold.windows import count_usage
from engine.core.records.values import Usage
from engine.core.state import MAX_SPENDERS, MAX_SPENDING_ROWS, OTHER, Agent, Run, Spending, State, Task


def add_usage(total: Usage, usage: Usage) -> None:
    """Do what `Usage.plus` does, in place: a new total for each event would cost more."""
    if usage.tokens_in is not None:
        total.tokens_in = usage.tokens_in + (total.tokens_in or 0)
    if usage.tokens_out is not None:
        total.tokens_out = usage.tokens_out + (total.tokens_out or 0)
    if usage.tokens_cached is not None:
        total.tokens_cached = usage.tokens_cached + (total.tokens_cached or 0)
    if usage.cost_usd is not None:
        total.cost_usd = usage.cost_usd + (total.cost_usd or 0)
    if usage.unpriced:
        total.unpriced = True


def is_spent(usage: Usage) -> bool:
    """Return whether usage contains tokens or money."""
    return usage.tokens_in is not None or usage.tokens_out is not None or usage.cost_usd is not None


def spend(
    state: State,
    task: Task | None,
    agent: Agent | None,
    usage: Usage,
    *,
    model: str | None = None,
    tool: str | None = None,
) -> None:
    """Add tokens and money to the row of the model or tool, and to the figures of the last minutes."""
    count_usage(state, task, agent, usage, model=model)
    if task is not None:
        _spend_in_run(state.runs[task.run_id], OTHER if agent is None else agent.id, usage)
    key = model or tool
    if key is None or agent is None:
        return  # the agent's own usage has it
    spending = state.spending.get(agent.id)
    if spending is None:
        if not _has_row_left(state):
            return
        spending = state.spending[agent.id] = Spending(id=agent.id)
    rows = spending.tools if model is None else spending.models
    total = rows.get(key)
    if total is None:
        if not _has_row_left(state):
            return
        total = rows[key] = Usage()
    total.time_ms += usage.time_ms
    add_usage(total, usage)


def _spend_in_run(run: Run, agent_id: str, usage: Usage) -> None:
    spent_by = run.spent_by
    total = spent_by.get(agent_id)
    if total is None:
        total = spent_by.setdefault(agent_id if len(spent_by) < MAX_SPENDERS else OTHER, Usage())
    add_usage(total, usage)


def _has_row_left(state: State) -> bool:
    rows = sum(1 + len(spending.models) + len(spending.tools) for spending in state.spending.values())
    return rows < MAX_SPENDING_ROWS


def keep_spending(state: State, agent: Agent) -> None:
    """Keep what a removed agent has spent, under its name; beyond the limit, together with others."""
    if not agent.begun and not is_spent(agent.usage):
        state.spending.pop(agent.id, None)
        return
    spending = state.spending.pop(agent.id, None)
    if spending is None and not _has_row_left(state):
        other = state.spending.setdefault(OTHER, Spending(id=OTHER, name=OTHER, usage=Usage()))
        assert other.usage is not None
        other.usage = other.usage.plus(agent.usage)
        return
    spec = state.spec_of(agent)
    spending = state.spending[agent.id] = spending or Spending(id=agent.id)
    spending.name, spending.supervisor_id, spending.usage = agent.name, agent.supervisor_id, agent.usage
    spending.specialties = [*spec.specialties]


def hand_spending_up(state: State, supervisor_id: str, parent_id: str | None) -> None:
    """Count agents that left a removed supervisor for its parent."""
    for spending in state.spending.values():
        if spending.supervisor_id == supervisor_id:
            spending.supervisor_id = parent_id


def take_spending(state: State, imported: State) -> None:
    """Add the spending of an import, whose ids are not in use."""
    other, more = state.spending.get(OTHER), imported.spending.pop(OTHER, None)
    state.spending.update(imported.spending)
    if other is None and more is not None:
        state.spending[OTHER] = more
    elif other is not None and more is not None:
        other.usage = (other.usage or Usage()).plus(more.usage or Usage())
