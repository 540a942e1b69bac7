"""`costs`: who spent it, by agent, model, tool or task."""

import click

from dashboard.cli.lists import read_team
from dashboard.cli.printing.items import Item, usage_item
from dashboard.cli.printing.listings import make_table
from dashboard.cli.printing.output import TextTable, emit
from dashboard.views.costs import COLUMNS, titled
from dashboard.views.measures.costs import GROUPINGS, By, CostRow, cost_rows
from dashboard.views.measures.usage import budget_spans, is_metered
from dashboard.views.words.amounts import cost_text
from engine.core.queries.money.spending import cost_budget
from engine.core.state import State


@click.command("costs")
@click.option(
    "--by", type=click.Choice(GROUPINGS), default="agent", show_default=True, help="What the rows are: one for each."
)
@click.pass_context
def costs(ctx: click.Context, by: By) -> None:
    """Show who spent it: tokens and money of each agent, also of those that have left.

    The rows add up to all that the team has spent. By task: those of open runs, each run that has ended
    lately, and the rest in one row.
    """
    with read_team(ctx) as look:
        state = look.state
    rows = cost_rows(state, by, look.now_ms)

    def make_lines() -> list[str]:
        first, *others = COLUMNS
        table: TextTable = make_table((titled(first, by), *others), rows, empty="nothing was spent yet")
        if not is_metered(state):
            return table.lines()
        of_budget = "".join(span.text for span in budget_spans(state, 0)) if cost_budget(state) is not None else ""
        lines = [f"in all {cost_text(state.usage)}", *([f"budget {of_budget}"] if of_budget else [])]
        return [*table.lines(), "", *lines]

    items = [_cost_item(row, by) for row in rows]
    emit(ctx, "costs", look.body(items, budget=_budget_item(state)), make_lines)


def _budget_item(state: State) -> Item | None:
    budget = cost_budget(state)
    if budget is None:
        return None
    left = max(budget.limit - budget.spent, 0 * budget.limit)
    return {"limit_usd": budget.limit, "spent_usd": budget.spent, "left_usd": left}


def _cost_item(row: CostRow, by: By) -> Item:
    keys: Item = {"agent": None, "model": None, "tool": None, "task_id": None}
    if row.key:
        keys["task_id" if by == "task" else by] = row.name if by == "agent" else row.key
    return {**keys, **usage_item(row.usage), "left": row.left}
