"""Runs as rows: open ones first, then finished ones, the newest first."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.rows import EMPTY, Cell, Column, Listing, Order, empty_message, make_cells, visible_columns
from dashboard.views.drawing.sorting import heads_of, orders_of
from dashboard.views.facts.now import now_cell
from dashboard.views.facts.run import AnyRun
from dashboard.views.facts.run_times import largest_share
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.forecast import time_left
from dashboard.views.measures.limits import budget_words, deadline_cell
from dashboard.views.measures.progress import share_of
from dashboard.views.measures.usage import USAGE_TITLES, cost_cell, cost_rank, is_metered, tokens_cell, tokens_rank
from dashboard.views.words.amounts import count, duration, elapsed, moment, percent
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.glyphs import run_mark
from dashboard.views.words.help import COST_MEANING, STATE_MEANING, TOKENS_MEANING
from dashboard.views.words.names import format_labels, value_text
from dashboard.views.words.subjects import RunSubject
from engine.core.activities import ActivityKind
from engine.core.queries.money.budget import deadline_of
from engine.core.queries.targets import id_target
from engine.core.queries.work.labels import labels_by_run
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import Run, RunStatus, RunSummary, State

_REQUEST_WIDTH, _MAX_REQUEST_WIDTH, _BAR_WIDTH = 20, 80, 10
RunRank: TypeAlias = Callable[[AnyRun], tuple[float | str, ...]]
_NEVER = 2**62
_UNTROUBLED: frozenset[ActivityKind] = frozenset({"suspended", "working", "delegated", "slot"})
"""Kinds of runs of which the number of attempts says more than the words."""
_STATES = (
    RunStatus.FAILED,
    RunStatus.RUNNING,
    RunStatus.SUSPENDED,
    RunStatus.PAUSED,
    RunStatus.CANCELLED,
    RunStatus.SKIPPED,
    RunStatus.DONE,
)


class RunRow(NamedTuple):
    """A run, with what its cells are made from."""

    state: State
    run: AnyRun
    counts: Digest
    now_ms: int


def _took_ms(run: AnyRun) -> int:
    """Return the sort key of a run's time; open runs are the longest, the oldest of them first."""
    return (run.ended_ms if isinstance(run, RunSummary) else _NEVER) - run.started_ms


def _total(run: AnyRun) -> int:
    return run.tasks if isinstance(run, RunSummary) else run.total


def _state_cell(row: RunRow) -> Cell:
    mark = run_mark(row.run, row.counts.activities)
    return Cell(mark.text, mark.tone)


def _progress_cell(row: RunRow) -> Cell:
    share, tone = share_of(row.run), run_mark(row.run, row.counts.activities).tone
    return Cell(percent(share), tone, spans=meter(share, _BAR_WIDTH, tone=tone))


def _tasks_cell(row: RunRow) -> Cell:
    run = row.run
    ended_count = run.ended if isinstance(run, Run) else run.tasks
    return Cell(f"{ended_count:,}/{_total(run):,}", "" if isinstance(run, Run) else "muted")


def _time_left_cell(row: RunRow) -> Cell:
    state, run = row.state, row.run
    if not isinstance(run, Run) or not row.counts.working:
        return EMPTY
    left = time_left(state, run, row.now_ms)
    return Cell(left.text if left is not None else "", "strong")


def _supervisor_cell(row: RunRow) -> Cell:
    supervisor = row.state.supervisors.get(row.run.supervisor_id)
    return Cell(supervisor.name if supervisor is not None else id_target(row.run.supervisor_id), "muted")


def _priority_cell(row: RunRow) -> Cell:
    if not isinstance(row.run, Run):
        return EMPTY
    return Cell(str(row.run.priority), "muted" if row.run.priority == DEFAULT_PRIORITY else "accent")


def _time_cell(row: RunRow) -> Cell:
    run = row.run
    if isinstance(run, RunSummary):
        return Cell(duration(run.ended_ms - run.started_ms), "muted")
    return Cell(elapsed(row.now_ms - run.started_ms) or "0 s")


def _output_cell(row: RunRow) -> Cell:
    """Return the output of a run; of an open one what holds it up, and how many of its attempts run."""
    run = row.run
    if isinstance(run, RunSummary):
        return Cell(run.error, "error") if run.error else Cell(value_text(run.output, "enter opens it"), "muted")
    activity = row.counts.activities.of_run(run)
    at_work = f"{run.running:,} at work" if run.running and row.counts.working else ""
    near = Cell("") if activity.kind in _UNTROUBLED else now_cell(activity, row.now_ms, beside_state=True)
    near = near if near.text else budget_words(row.state, run.id) or near
    return Cell(", ".join(part for part in (near.text, at_work) if part), near.tone or "muted")


def _error_cell(row: RunRow) -> Cell:
    run = row.run
    return Cell((run.cancelled_for or run.exceeded if isinstance(run, Run) else run.error) or "", "error")


_NEWEST: Order[RunRank] = Order("newest", lambda run: (), step=0)
_OLDEST: Order[RunRank] = Order("oldest", lambda run: (run.started_ms,), step=4)
COLUMNS: tuple[Column[RunRow, RunRank], ...] = (
    Column("REQUEST", _REQUEST_WIDTH, grow=9, max_width=_MAX_REQUEST_WIDTH, shell_rank=8, meaning="what was asked for",
           cell=lambda row: Cell(row.run.title, "strong" if isinstance(row.run, Run) else ""),
           order=Order("request", lambda run: (run.title.casefold(),), step=6)),
    Column("ID", 4, drop=3, shell_rank=1, meaning="its id in commands",
           cell=lambda row: Cell(row.run.id, "muted"), order=_NEWEST),
    Column("STATE", 11, shell_rank=2, meaning=STATE_MEANING, cell=_state_cell,
           order=Order("state", lambda run: (_STATES.index(run.status),), step=5)),
    Column("PROGRESS", 10, calm=True, drop=6, shell_rank=0, cell=_progress_cell,
           meaning="share of the tasks that have ended; of a run that is over, share of those that are done",
           order=Order("progress", lambda run: (-share_of(run),), step=12)),
    Column("TASKS", 11, right=True, meaning="how many tasks of a run have ended, of all there are", cell=_tasks_cell,
           order=Order("largest", lambda run: (-_total(run),), step=3)),
    Column("FAIL", 5, right=True, drop=4, meaning="tasks that failed after all retries",
           cell=lambda row: Cell(count(row.run.failed or None, none="·"), "warn" if row.run.failed else "muted"),
           order=Order("failures", lambda run: (-run.failed,), step=2)),
    Column("LEFT", 9, right=True, drop=1, calm=True, shell_rank=0, cell=_time_left_cell,
           meaning="how long a run may still take, from how many of its tasks ended in its time"),
    Column("TO", 12, drop=8, shell_rank=0, meaning="the supervisor that got the request", cell=_supervisor_cell,
           order=Order("team", lambda run: (run.supervisor_id,), step=7)),
    Column("STRATEGY", 11, drop=10, shell_rank=3, meaning="how the supervisor divides the request",
           cell=lambda row: Cell(row.run.strategy, "muted"),
           order=Order("strategy", lambda run: (run.strategy,), step=8)),
    Column("LABELS", 12, grow=1, max_width=40, drop=14, shell_rank=0,
           meaning="labels of the request; label:KEY=TEXT filters by them",
           cell=lambda row: Cell(format_labels(row.run.labels), "muted")),
    Column("PRI", 3, right=True, drop=9, shell_rank=0, meaning="priority, 0 the most urgent to 9", cell=_priority_cell,
           order=Order("urgency", lambda run: (isinstance(run, RunSummary), getattr(run, "priority", 0)), step=9)),
    Column("DUE", 6, right=True, drop=7, calm=True, shell_rank=0, meaning="time left until the deadline",
           cell=lambda row: deadline_cell(row.state, row.run.id, row.now_ms) if isinstance(row.run, Run) else EMPTY,
           order=Order("due", lambda run: (getattr(run, "deadline_ms", None) or _NEVER,), step=10)),
    Column("AT", 8, drop=11, meaning="when it began, by the clock of the engine",
           cell=lambda row: Cell(moment(row.run.started_ms, row.now_ms), "muted"), order=_NEWEST),
    Column("TOOK", 12, right=True, drop=2, calm=True, meaning="how long it took, or has taken so far", cell=_time_cell,
           order=Order("longest", lambda run: (-_took_ms(run),), step=11)),
    Column("TIME IN", 16, drop=13, shell_rank=0, cell=lambda row: Cell(largest_share(row.run), "muted"),
           meaning="what took most of the time of a run along its critical path; enter says more"),
    Column("TOKENS", 9, right=True, drop=12, meaning=TOKENS_MEANING, cell=lambda row: tokens_cell(row.run.usage),
           order=Order("tokens", lambda run: (tokens_rank(run.usage),), step=13)),
    Column("COST", 8, right=True, drop=1, shell_rank=0, meaning=COST_MEANING,
           cell=lambda row: cost_cell(row.run.usage), order=Order("cost", lambda run: (cost_rank(run.usage),), step=1)),
    Column("OUTPUT", 16, grow=2, drop=5, shell_rank=0, meaning="the output of a run, or its state", cell=_output_cell),
    Column("ERROR", shell_rank=9, meaning="why it failed, or was cancelled", cell=_error_cell),
)  # fmt: skip
ORDERS, HEADS = orders_of(COLUMNS, _OLDEST), heads_of(COLUMNS)


def runs(state: State, counts: Digest, *, now_ms: int, order: str = "newest", needle: str = "") -> Listing:
    """Return open and finished runs as rows; keys are their ids."""
    finished = {run.id: run for run in reversed(state.finished)}
    row_filter = parse_partial_filter(needle)
    every: list[AnyRun] = [*reversed(state.runs.values()), *finished.values()]
    matching_runs = sorted(
        row_filter.apply(every, lambda run: RunSubject(state, run, counts.activities, now_ms)), key=ORDERS[order]
    )

    def make(key: str) -> tuple[Cell, ...]:
        run = state.runs.get(key) or finished.get(key)
        return (Cell("gone", "muted"),) if run is None else make_cells(columns, RunRow(state, run, counts, now_ms))

    widest = max((cell_len(run.title) for run in every), default=0)  # the rest of the width goes to OUTPUT
    oldest_ms = min((run.started_ms for run in every), default=now_ms)
    moment_width = len(moment(oldest_ms, now_ms))  # wide enough for a date only if there is one
    most_tasks = max(map(_total, every), default=0)
    columns = visible_columns(
        COLUMNS,
        {
            "REQUEST": (_REQUEST_WIDTH, max(_REQUEST_WIDTH, min(widest, _MAX_REQUEST_WIDTH))),
            "TASKS": (max(5, 2 * len(f"{most_tasks:,}") + 1),) * 2,
            "AT": (moment_width, moment_width),
        },
        without=_empty_columns(state),
    )
    return Listing(
        columns=columns,
        keys=[run.id for run in matching_runs],
        make=make,
        empty=empty_message(needle, "run", "this team has had no request yet", "n  gives it one"),
        total=len(state.runs) + len(finished),
    )


def _empty_columns(state: State) -> set[str]:
    """Return the headings of columns without a value in any run."""
    used_columns = {
        "LEFT": bool(state.runs),
        "LABELS": bool(labels_by_run(state)),
        "PRI": any(run.priority != DEFAULT_PRIORITY for run in state.runs.values()),
        "DUE": any(deadline_of(state, run_id) is not None for run_id in state.runs),
        "TIME IN": any(largest_share(run) for run in state.finished),
        **dict.fromkeys(USAGE_TITLES, is_metered(state)),
    }
    return {title for title, is_used in used_columns.items() if not is_used}
