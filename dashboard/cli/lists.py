"""`ps`, `agents`, `tasks`, `runs`: look at a team, with or without an engine.

Rule: the state is folded from the file, so that these lists and the dashboard agree.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import click

from dashboard.cli.database import database_of, team_fields
from dashboard.cli.printing.filtering import check_filter, filter_option
from dashboard.cli.printing.items import Item, agent_item, fields_of, run_item, supervisor_item, task_item
from dashboard.cli.printing.listings import make_table
from dashboard.cli.printing.output import TextTable, emit, fail
from dashboard.cli.printing.times import now_in
from dashboard.engines.process import doubt_of
from dashboard.views.agents import COLUMNS as AGENT_COLUMNS
from dashboard.views.agents import AgentRow
from dashboard.views.drawing.rows import Cell, Column
from dashboard.views.facts.supervisor import now_of_supervisor, state_of_supervisor
from dashboard.views.header import describe_standbys
from dashboard.views.measures.digest import Digest, make_digest
from dashboard.views.runs import COLUMNS as RUN_COLUMNS
from dashboard.views.runs import RunRow
from dashboard.views.tasks import COLUMNS as TASK_COLUMNS
from dashboard.views.tasks import TaskRow
from dashboard.views.words.amounts import UNKNOWN, column_money, count, duration, moment, money, percent, pluralize
from dashboard.views.words.filters import Filter
from dashboard.views.words.subjects import RunSubject, SupervisorSubject, TaskSubject, filter_agents
from engine.core.errors import Refused
from engine.core.fold import fold
from engine.core.queries.targets import find_supervisor, id_in, name_of
from engine.core.queries.team.figures import success_share
from engine.core.queries.team.track_record import mean_of
from engine.core.queries.team.tree import levels_of, warning_of
from engine.core.state import Agent, Run, RunSummary, State, TrackRecord
from engine.reading.folding import events_of, finished_run, fold_from, pages
from store import EngineInfo, Reader, find_loss


class SupervisorRow(NamedTuple):
    """A supervisor, with what its cells are made from."""

    state: State
    counts: Digest
    item: Item


class RecordRow(NamedTuple):
    """What came of the work of an agent in a category of requests."""

    state: State
    agent: Agent
    category: str
    record: TrackRecord


def _now_cell(row: SupervisorRow) -> Cell:
    return now_of_supervisor(row.state, row.state.supervisors[row.item["id"]], row.counts)


def _mean_cost_cell(row: RecordRow) -> Cell:
    cost_usd = mean_of(row.record)[1]
    return Cell(UNKNOWN if cost_usd is None else column_money(Decimal(str(cost_usd))))


_SUPERVISOR_COLUMNS: tuple[Column[SupervisorRow, Any], ...] = (
    Column("SUPERVISOR", cell=lambda row: Cell(row.item["name"])),
    Column("UNDER", cell=lambda row: Cell(row.item["parent"] or "")),
    Column("LEVEL", right=True, cell=lambda row: Cell(count(row.item["depth"]))),
    Column("STRATEGY", cell=lambda row: Cell(row.item["strategy"])),
    Column("STATE", cell=lambda row: state_of_supervisor(row.state.supervisors[row.item["id"]], row.counts)),
    Column("AGENTS", right=True, cell=lambda row: Cell(count(row.item["agents"]))),
    Column("RUNNING", right=True, cell=lambda row: Cell(count(row.item["running"]))),
    Column("WAITING", right=True, cell=lambda row: Cell(count(row.item["waiting"]))),
    Column("HAND-OVER", cell=lambda row: Cell(duration(row.item["hand_over_ms"]))),
    Column("NOW", cell=_now_cell),
)
_RECORD_COLUMNS: tuple[Column[RecordRow, Any], ...] = (
    Column("AGENT", cell=lambda row: Cell(row.agent.name)),
    Column("UNDER", cell=lambda row: Cell(name_of(row.state, row.agent.supervisor_id))),
    Column("CATEGORY", cell=lambda row: Cell(row.category or "none")),
    Column("DONE", right=True, cell=lambda row: Cell(count(row.record.done))),
    Column("FAIL", right=True, cell=lambda row: Cell(count(row.record.failed))),
    Column("CANCELLED", right=True, cell=lambda row: Cell(count(row.record.cancelled))),
    Column("OK", right=True, cell=lambda row: Cell(percent(success_share(row.record.done, row.record.failed)))),
    Column("TIME EACH", right=True, cell=lambda row: Cell(duration(mean_of(row.record)[0] * 1000))),
    Column("USD EACH", right=True, cell=_mean_cost_cell),
    Column("COST", right=True, cell=lambda row: Cell(money(row.record.usage))),
)


@dataclass(frozen=True, slots=True)
class TeamReading:
    """A team as its file shows it."""

    db: Path
    reader: Reader
    state: State
    engine: EngineInfo | None
    now_ms: int

    @property
    def working(self) -> bool:
        """Whether an engine is at work."""
        return self.engine is not None and self.engine.alive

    def body(self, items: list[Item], **more: object) -> Item:
        """Return a list in the shape of `--json`."""
        return {**team_fields(self.db, self.state), **more, "seq": self.state.seq, "items": items}


@contextmanager
def read_team(ctx: click.Context) -> Iterator[TeamReading]:
    """Open the team that a subcommand lists."""
    db = database_of(ctx, changes=False)
    with Reader(db) as reader:
        yield TeamReading(db, reader, fold_from(reader), reader.engine(), now_in(reader))


@click.command("ps")
@filter_option
@click.pass_context
def ps(ctx: click.Context, row_filter: Filter) -> None:
    """Show the engine, and each supervisor with its current work."""
    with read_team(ctx) as look:
        state, engine, standbys, live = look.state, look.engine, look.reader.standbys(), look.reader.live()
    loss = None if engine and engine.alive else find_loss(look.db)
    counts = make_digest(state, working=look.working, live=live, now_ms=look.now_ms)
    supervisors = row_filter.apply(state.supervisors.values(), lambda supervisor: SupervisorSubject(state, supervisor))
    check_filter(row_filter)
    items = [supervisor_item(state, supervisor, counts) for supervisor in supervisors]
    engine_item = engine and fields_of(engine, "pid alive since_ms token")
    waiting = [fields_of(standby, "pid since_ms") for standby in standbys]

    def make_lines() -> list[str]:
        empty = (
            "no supervisor passes the filter" if row_filter else "no team here yet; start one with: quarterdeck up TEAM"
        )
        rows = [SupervisorRow(state, counts, item) for item in items]
        table = make_table(_SUPERVISOR_COLUMNS, rows, empty=empty)
        standbys_text = f"; {describe_standbys(standbys)}" if standbys else ""
        loss_text = f"; {pluralize(loss.rows, 'acknowledged event')} missing, see quarterdeck doctor" if loss else ""
        depth_warning = warning_of(state, len(levels_of(state)))
        head = [str(look.db), f"{_engine_line(engine, look.now_ms)}, seq {state.seq:,}{standbys_text}{loss_text}", ""]
        return [*head, *table.lines(), *([depth_warning] if depth_warning is not None else [])]

    emit(ctx, "ps", look.body(items, engine=engine_item, standbys=waiting), make_lines)


def _engine_line(engine: EngineInfo | None, now_ms: int) -> str:
    if engine is None:
        return "no engine has worked on this file yet"
    if engine.alive:
        return f"engine {engine.pid} at work since {moment(engine.since_ms, now_ms)}{doubt_of(engine)}"
    return f"no engine: the last one, {engine.pid}, {'stopped' if engine.ended_ms is not None else 'was lost'}"


@click.command("agents")
@click.option("--under", metavar="SUPERVISOR", help="Only those of one supervisor.")
@click.option("--by-category", is_flag=True, help="What came of their work in each category of requests.")
@filter_option
@click.pass_context
def agents(ctx: click.Context, under: str | None, row_filter: Filter, *, by_category: bool) -> None:
    """List agents with what they do and how they have done."""
    with read_team(ctx) as look:
        state, live = look.state, look.reader.live()
    try:
        supervisor = find_supervisor(state, under) if under is not None else None
    except Refused as refused:
        fail(refused.code, refused.reason)
    counts = make_digest(state, working=look.working, live=live, now_ms=look.now_ms)
    matching_agents = [
        agent for agent in state.agents.values() if supervisor is None or agent.supervisor_id == supervisor.id
    ]
    matching_agents = filter_agents(state, matching_agents, row_filter, counts)
    check_filter(row_filter)
    items = [agent_item(state, agent, counts) for agent in matching_agents]

    def agent_table() -> TextTable:
        if by_category:
            records = [
                RecordRow(state, agent, category, record)
                for agent in matching_agents
                for category, record in sorted(agent.track_record.items())
            ]
            return make_table(_RECORD_COLUMNS, records, empty="no agent has worked yet")
        rows = [AgentRow(state, agent, counts, live, look.now_ms) for agent in matching_agents]
        none = "no agent passes the filter" if row_filter else "no agents yet; add some with: quarterdeck add FILE"
        return make_table(AGENT_COLUMNS, rows, empty=none)

    emit(ctx, "agents", look.body(items), agent_table)


@click.command("tasks")
@click.option("--run", "run_id", metavar="RUN", help="Those of one run, also of a finished one.")
@click.option("--all", "every", is_flag=True, help="Those of finished runs too.")
@filter_option
@click.pass_context
def tasks(ctx: click.Context, run_id: str | None, *, every: bool, row_filter: Filter) -> None:
    """List the tasks of open runs."""
    run_id = None if run_id is None else id_in(run_id)
    with read_team(ctx) as look:
        if run_id is not None and run_id not in look.state.runs:
            lines = _lines_of_finished(look.reader, [_finished_run(look, run_id)], row_filter)
        else:
            lines = _lines(look.state, run_id, row_filter, look.now_ms, look.reader.live(), working=look.working)
        if every and run_id is None:
            lines = [*_lines_of_finished(look.reader, look.state.finished, row_filter), *lines]
    check_filter(row_filter)
    none = "no open task passes the filter" if row_filter else "no open tasks"
    empty = f"{none}; those of finished runs: quarterdeck tasks --all"
    table = make_table(TASK_COLUMNS, [row for _, row in lines], empty=empty)
    emit(ctx, "tasks", look.body([item for item, _ in lines]), table)


_Line: TypeAlias = tuple[Item, TaskRow]
"""A task, for scripts and for people."""


def _lines(
    state: State,
    run_id: str | None,
    row_filter: Filter,
    now_ms: int,
    live: Mapping[str, str],
    *,
    working: bool = True,
) -> list[_Line]:
    """Return the tasks of agents in `state`, of all runs or of one; `working` tells whether an engine is at work."""
    counts = make_digest(state, working=working, live=live, now_ms=now_ms)
    matching_tasks = [task for task in state.tasks.values() if task.kind == "agent" and run_id in (None, task.run_id)]
    return [
        (task_item(state, task, counts.activities), TaskRow(state, task, counts, live, now_ms))
        for task in row_filter.apply(matching_tasks, lambda task: TaskSubject(state, task, counts.activities, now_ms))
    ]


def _finished_run(look: TeamReading, run_id: str) -> RunSummary:
    summary = look.state.summary(run_id) or finished_run(look.reader, run_id)
    if summary is None:
        fail("unknown_work", f"there is no run {run_id!r}", "list them with: quarterdeck runs")
    if not summary.seq:
        fail("unknown_work", f"the tasks of {run_id} stayed in the journal it was imported from")
    return summary


def _lines_of_finished(reader: Reader, finished: Sequence[RunSummary], row_filter: Filter) -> list[_Line]:
    """Return the tasks of every run whose end is in this journal, as they were then: one walk from the first end."""
    runs = {run.seq: run.id for run in finished if run.seq}
    if not runs:
        return []
    lines: list[_Line] = []
    state = fold_from(reader, min(runs) - 1)
    for records in pages(reader, state.seq, max(runs)):
        for record, event in zip(records, events_of(records), strict=True):
            if record.seq in runs:
                lines += _lines(state, runs[record.seq], row_filter, state.at_ms, {})
            fold(state, [event])
    return lines


@click.command("runs")
@click.option("--open", "open_only", is_flag=True, help="Only those that have not ended.")
@filter_option
@click.pass_context
def runs(ctx: click.Context, *, open_only: bool, row_filter: Filter) -> None:
    """List runs, the newest last; of the finished ones the last 200."""
    with read_team(ctx) as look:
        listed: list[Run | RunSummary] = [] if open_only else [*look.state.finished]
        counts = make_digest(look.state, working=look.working, live=look.reader.live(), now_ms=look.now_ms)
    listed = row_filter.apply(
        [*listed, *look.state.runs.values()], lambda run: RunSubject(look.state, run, counts.activities, look.now_ms)
    )
    check_filter(row_filter)
    items = [run_item(look.state, run, counts.activities, engine_alive=look.working) for run in listed]

    def run_table() -> TextTable:
        rows = [RunRow(look.state, run, counts, look.now_ms) for run in listed]
        begin = 'give the team a request: quarterdeck run "…"'
        none = f"no open runs; {begin}" if open_only else f"no runs yet; {begin}"
        return make_table(RUN_COLUMNS, rows, empty="no run passes the filter" if row_filter else none)

    emit(ctx, "runs", look.body(items), run_table)
