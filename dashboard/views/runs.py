"""Runs as rows: open ones first, then finished ones, the newest first."""

from collections.abc import Callable
from dataclasses import replace

from rich.cells import cell_len

from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message
from dashboard.views.measures.forecast import time_left, waits_for_you
from dashboard.views.measures.limits import budget_words, deadline_cell
from dashboard.views.measures.progress import share_done
from dashboard.views.measures.usage import COST, TOKENS, is_metered, usage_cells
from dashboard.views.words.amounts import count, duration, elapsed, moment, percent
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.glyphs import ASKS, run_mark
from dashboard.views.words.names import value_text
from dashboard.views.words.subjects import RunSubject
from engine.core.queries.money.budget import deadline_of
from engine.core.queries.targets import at
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import Run, RunStatus, RunSummary, State

COLUMNS = (
    Column("REQUEST", 20, grow=9, max_width=80),
    Column("ID", 4, drop=3),
    Column("STATE", 11),
    Column("PROGRESS", 10, calm=True, drop=6),
    Column("TASKS", 11, right=True),
    Column("FAIL", 5, right=True, drop=4),
    Column("LEFT", 9, right=True, drop=1, calm=True),
    Column("TO", 12, drop=8),
    Column("STRATEGY", 11, drop=10),
    Column("PRI", 3, right=True, drop=9),
    Column("DUE", 6, right=True, drop=7, calm=True),
    Column("AT", 8, drop=11),
    Column("TOOK", 12, right=True, drop=2, calm=True),
    Column("OUTPUT", 16, grow=2, drop=5),
)
"""A narrow window drops AT first, then STRATEGY, PRI, TO, DUE, PROGRESS, OUTPUT, FAIL and ID.

PRI and DUE are shown only if any run has a value for them.
"""
WITH_USAGE = (*COLUMNS[:-1], replace(TOKENS, drop=12), replace(COST, drop=1), replace(COLUMNS[-1], drop=5))
"""Columns for a team with known usage."""
_BAR_WIDTH = 10
_AT = next(place for place, column in enumerate(COLUMNS) if column.title == "AT")
AnyRun = Run | RunSummary
_NEVER = 2**62
_STATES = (
    RunStatus.FAILED,
    RunStatus.RUNNING,
    RunStatus.SUSPENDED,
    RunStatus.PAUSED,
    RunStatus.CANCELLED,
    RunStatus.SKIPPED,
    RunStatus.DONE,
)
ORDERS: dict[str, Callable[[AnyRun], tuple[float | str, ...]]] = {
    "newest": lambda run: (),
    "cost": lambda run: (-float(run.usage.cost_usd or 0),),
    "failures": lambda run: (-run.failed,),
    "largest": lambda run: (-(run.tasks if isinstance(run, RunSummary) else run.total),),
    "oldest": lambda run: (run.started_ms,),
    "state": lambda run: (_STATES.index(run.status),),
    "request": lambda run: (run.title.casefold(),),
    "team": lambda run: (run.supervisor_id,),
    "strategy": lambda run: (run.strategy,),
    "urgency": lambda run: (isinstance(run, RunSummary), getattr(run, "priority", 0)),
    "due": lambda run: (getattr(run, "deadline_ms", None) or _NEVER,),
    "longest": lambda run: (-_took_ms(run),),
    "progress": lambda run: (-_share(run),),
    "tokens": lambda run: (-((run.usage.tokens_in or 0) + (run.usage.tokens_out or 0)),),
}
"""The orders of the table, in the order of the key that switches them; the sort is stable."""
HEADS = {
    "REQUEST": "request",
    "ID": "newest",
    "STATE": "state",
    "PROGRESS": "progress",
    "TASKS": "largest",
    "FAIL": "failures",
    "TO": "team",
    "STRATEGY": "strategy",
    "PRI": "urgency",
    "DUE": "due",
    "AT": "newest",
    "TOOK": "longest",
    "TOKENS": "tokens",
    "COST": "cost",
}
"""The order that each heading chooses."""


def _took_ms(run: AnyRun) -> int:
    """Return the sort key of a run's time; open runs are the longest, the oldest of them first."""
    return (run.ended_ms if isinstance(run, RunSummary) else _NEVER) - run.started_ms


def _share(run: AnyRun) -> float:
    """Return the ended share of an open run, or the done share of a finished one."""
    if isinstance(run, RunSummary):
        return share_done(run)
    return run.ended / run.total if run.total else 0.0


def runs(state: State, *, now_ms: int, order: str = "newest", needle: str = "", working: bool = True) -> Listing:
    """Return open and finished runs as rows; keys are their ids; `working` says whether an engine is at work."""
    finished = {run.id: run for run in reversed(state.finished)}
    row_filter = parse_partial_filter(needle)
    every: list[AnyRun] = [*reversed(state.runs.values()), *finished.values()]
    matching_runs = sorted(row_filter.apply(every, lambda run: RunSubject(state, run, now_ms)), key=ORDERS[order])
    keys = [run.id for run in matching_runs]

    def make(key: str) -> tuple[Cell, ...]:
        if (run := state.runs.get(key)) is not None:
            return as_shown(_open_cells(state, run, now_ms, working), run)
        if (summary := finished.get(key)) is not None:
            return as_shown(_ended_cells(state, summary, now_ms), summary)
        return (Cell("gone", "muted"),)

    def as_shown(cells: tuple[Cell, ...], run: AnyRun) -> tuple[Cell, ...]:
        cells = (*cells[:-1], *usage_cells(run.usage), cells[-1]) if every_column is WITH_USAGE else cells
        return tuple(cells[place] for place in places)

    empty = empty_message(needle, "run", "this team has had no request yet", "n  gives it one")
    every_column, unsaid = WITH_USAGE if is_metered(state) else COLUMNS, _empty_columns(state)
    places = [place for place, column in enumerate(every_column) if column.title not in unsaid]
    widest = max((cell_len(run.title) for run in every), default=0)  # the rest of the width goes to OUTPUT
    request = replace(COLUMNS[0], max_width=max(COLUMNS[0].width, min(widest, COLUMNS[0].max_width)))
    oldest_ms = min((run.started_ms for run in every), default=now_ms)
    began = replace(COLUMNS[_AT], width=len(moment(oldest_ms, now_ms)))  # wide enough for a date only if there is one
    columns = (request, *(began if place == _AT else every_column[place] for place in places[1:]))
    return Listing(columns=columns, keys=keys, make=make, empty=empty, total=len(state.runs) + len(finished))


def _empty_columns(state: State) -> set[str]:
    """Return the headings of columns without a value in any run."""
    used_columns = {
        "PRI": any(run.priority != DEFAULT_PRIORITY for run in state.runs.values()),
        "DUE": any(deadline_of(state, run_id) is not None for run_id in state.runs),
    }
    return {title for title, any_is in used_columns.items() if not any_is}


def _bar_cell(share: float, tone: str) -> Cell:
    return Cell(percent(share), tone, spans=meter(share, _BAR_WIDTH, tone=tone))


def _supervisor_cell(state: State, supervisor_id: str) -> Cell:
    supervisor = state.supervisors.get(supervisor_id)
    return Cell(supervisor.name if supervisor is not None else at(supervisor_id), "muted")


def _open_cells(state: State, run: Run, now_ms: int, working: bool) -> tuple[Cell, ...]:
    mark = run_mark(run, working=working)
    return (
        Cell(run.title, "strong"),
        Cell(run.id, "muted"),
        Cell(mark.text, mark.tone),
        _bar_cell(_share(run), mark.tone),
        Cell(f"{run.ended:,}/{run.total:,}"),
        Cell(count(run.failed or None, none="·"), "warn" if run.failed else "muted"),
        _time_left_cell(state, run, now_ms, working),
        _supervisor_cell(state, run.supervisor_id),
        Cell(run.strategy, "muted"),
        Cell(str(run.priority), "muted" if run.priority == DEFAULT_PRIORITY else "accent"),
        deadline_cell(state, run.id, now_ms),
        Cell(moment(run.started_ms, now_ms), "muted"),
        Cell(elapsed(now_ms - run.started_ms)),
        _progress_cell(state, run, working),
    )


def _time_left_cell(state: State, run: Run, now_ms: int, working: bool) -> Cell:
    if working and waits_for_you(state, run):
        return Cell(ASKS.text, ASKS.tone)
    left = time_left(state, run, now_ms) if working else None
    return Cell(left.text if left is not None else "", "strong")


def _progress_cell(state: State, run: Run, working: bool) -> Cell:
    """Return what an open run waits for, or the number of its running attempts."""
    if run.held:
        return Cell("its budget is spent: a person is asked", "attention")
    if run.after:
        return Cell(f"after {', '.join(run.after)}", "waiting")
    near = budget_words(state, run.id)
    at_work = f"{run.running:,} at work" if run.running and working else ""
    if near is not None:
        return Cell(", ".join(part for part in (near.text, at_work) if part), near.tone)
    return Cell(at_work, "muted")


def _ended_cells(state: State, run: RunSummary, now_ms: int) -> tuple[Cell, ...]:
    mark = run_mark(run, working=True)
    return (
        Cell(run.title),
        Cell(run.id, "muted"),
        Cell(mark.text, mark.tone),
        _bar_cell(_share(run), mark.tone),
        Cell(f"{run.tasks:,}/{run.tasks:,}", "muted"),
        Cell(count(run.failed or None, none="·"), "warn" if run.failed else "muted"),
        Cell(""),
        _supervisor_cell(state, run.supervisor_id),
        Cell(run.strategy, "muted"),
        Cell(""),
        Cell(""),
        Cell(moment(run.started_ms, now_ms), "muted"),
        Cell(duration(run.ended_ms - run.started_ms), "muted"),
        Cell(run.error, "error") if run.error else Cell(value_text(run.output, "enter opens it"), "muted"),
    )
