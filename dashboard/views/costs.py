"""Who spent it: the cost of a team by agent, model, tool or task, with what each row consists of."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dashboard.views.drawing.lines import BLANK, Line, Span, pad
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.row_pane import RowDetails, labelled_paragraphs
from dashboard.views.drawing.rows import (
    Cell,
    Column,
    Listing,
    empty_message,
    labelled_cell,
    make_cells,
    matches,
    visible_columns,
)
from dashboard.views.measures.costs import By, CostRow, parts_of_row, weight
from dashboard.views.measures.usage import cost_cell, tokens_cell
from dashboard.views.words.amounts import (
    UNKNOWN,
    column_money,
    count,
    describe_usage,
    duration,
    money,
    percent,
    pluralize,
    short_money,
)
from engine.core.queries.money.recent import RecentFigures, recent_of
from engine.core.state import State

_BAR_WIDTH = 12
_NAME_WIDTH, _MONEY_WIDTH = 26, 10
_LEFT = "left"


def _name_cell(row: CostRow) -> Cell:
    # Runs end, agents leave; only of agents and models the last minutes are kept.
    name = f"{row.name} ({_LEFT})" if row.left and row.usd_per_min is not None else row.name
    return Cell(name, "muted" if row.left or not row.key else "strong")


def _rate_cell(row: CostRow) -> Cell:
    rate = row.usd_per_min
    return Cell(UNKNOWN if rate is None else column_money(rate), "strong" if rate else "muted", rank=float(rate or 0))


def _share_cell(row: CostRow) -> Cell:
    text = f"{percent(row.share):>4}"
    spans = (*meter(row.share, _BAR_WIDTH, tone="muted" if row.left else "busy"), Span(f" {text}"))
    return Cell(text.strip(), rank=row.share, spans=spans)


COLUMNS: tuple[Column[CostRow, Any], ...] = (
    Column("WHO", 20, grow=2, max_width=60, named=True, shell_rank=1,
           meaning="an agent, a model, a tool or a task (t changes between them); agents that have left say so",
           cell=_name_cell),
    Column("SHARE", _BAR_WIDTH + 5, right=True, drop=1, shell_rank=2, meaning="its part of the cost of the team",
           cell=_share_cell),
    Column("COST", 9, right=True, meaning="in US dollars; – where no price is known", shell_rank=3,
           cell=lambda row: cost_cell(row.usage)),
    Column("$/MIN", 8, right=True, drop=2, cell=_rate_cell, shell_rank=4,
           meaning="mean of the last five minutes, in US dollars; – for tools and tasks, of which it is not kept"),
    Column("TOKENS", 11, right=True, drop=3, cell=lambda row: tokens_cell(row.usage), shell_rank=0,
           meaning="what models read and wrote"),
    Column("IN", 11, right=True, drop=5, shell_rank=5, meaning="tokens that models read",
           cell=lambda row: Cell(count(row.usage.tokens_in), "muted")),
    Column("OUT", 9, right=True, drop=5, shell_rank=6, meaning="tokens that models wrote",
           cell=lambda row: Cell(count(row.usage.tokens_out), "muted")),
    Column("CACHED", 11, right=True, drop=6, shell_rank=7, meaning="tokens of IN that were read from a cache",
           cell=lambda row: Cell(count(row.usage.tokens_cached), "muted")),
)  # fmt: skip


def costs(rows: Sequence[CostRow], *, by: By, needle: str = "") -> Listing:
    """Return what was spent by one grouping."""
    visible = {row.key: row for row in rows if matches(needle, row.name, row.key, status=_LEFT * row.left)}
    first, *others = visible_columns(COLUMNS)
    columns = (titled(first, by), *others)
    return Listing(
        columns=columns,
        keys=list(visible),
        make=lambda key: make_cells(columns, visible[key]) if key in visible else (),
        empty=empty_message(needle, by, "nothing was spent yet", "models report what they cost with each answer"),
        total=len(rows),
    )


def titled(column: Column[CostRow, Any], by: By) -> Column[CostRow, Any]:
    """Return the first column with the title of a grouping."""
    return replace(column, title=by.upper())


def describe_cost(
    state: State, row: CostRow, *, by: By, now_ms: int, width: int, height: int, opens: str
) -> RowDetails:
    """Return what a row of costs consists of, and its figures of the last minutes."""
    key = row.key
    cells = [
        Cell(row.name, "strong"),
        labelled_cell("spent", f"{describe_usage(row.usage)}, {percent(row.share)} of the team's"),
    ]
    if by in ("agent", "model") and key:
        recent = recent_of(state, "agent" if by == "agent" else "model", key, now_ms)
        cells += [_recent_cell("last 5 min", recent.last_5m, by), _recent_cell("last hour", recent.last_1h, by)]
    lines = labelled_paragraphs(cells, width)
    parts = parts_of_row(state, by, key)
    if parts:
        whole = sum(weight(usage) for _, usage in parts) or 1
        lines += [BLANK, Line((Span(" by model and tool" if by == "agent" else " by agent", "muted"),))]
        for name, usage in parts[: max(0, height - len(lines))]:
            bar = meter(weight(usage) / whole, _BAR_WIDTH)
            spent = f"  {money(usage):>{_MONEY_WIDTH}}  {describe_usage(usage).rpartition(', ')[0]}"
            lines.append(Line((Span(f"   {pad(name, _NAME_WIDTH)} "), *bar, Span(spent, "muted"))))
    return RowDetails(by.upper(), lines, opens if key else "")


def _recent_cell(label: str, figures: RecentFigures, by: By) -> Cell:
    """Return the figures of a span in one line."""
    parts = [pluralize(figures.tasks, "call" if by == "model" else "attempt")]
    if figures.done:
        parts.append(f"p50 {duration(figures.p50_ms)}")
    if figures.failed:
        errors = ", ".join(f"{kind} {number:,}" for kind, number in figures.errors.items())
        parts.append(f"{figures.failed:,} failed ({errors})")
    parts.append(f"{short_money(figures.cost_usd)}, {short_money(figures.cost_per_min_usd)} a minute")
    return labelled_cell(label, ", ".join(parts), "" if figures.tasks or figures.cost_usd else "muted")
