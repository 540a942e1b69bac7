"""`ps`, `agents`, `tasks`, `runs`: look at a team, with or without an engine.

Rule: the state is folded from the file, so that these lists and the dashboard agree.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TypeAlias

import click

from dashboard.cli.database import database_of, team_fields
from dashboard.cli.printing.filtering import check_filter, filter_option
from dashboard.cli.printing.items import Item, agent_item, run_item, supervisor_item, task_item
from dashboard.cli.printing.output import WRONG_USAGE, TextTable, emit, fail
from dashboard.cli.printing.times import now_in
from dashboard.engines.process import doubt_of
from dashboard.views.facts.agent import now_of_agent, state_of_agent
from dashboard.views.facts.supervisor import now_of_supervisor
from dashboard.views.facts.work import waiting_reason
from dashboard.views.header import describe_standbys
from dashboard.views.measures.digest import Digest, make_digest
from dashboard.views.words.amounts import duration, median, moment, money, percent, pluralize, short_money
from dashboard.views.words.filters import Filter
from dashboard.views.words.glyphs import run_mark, task_mark
from dashboard.views.words.subjects import RunSubject, SupervisorSubject, TaskSubject, filter_agents
from engine.core.errors import Refused
from engine.core.fold import fold
from engine.core.queries.targets import find_supervisor, id_in, name_of
from engine.core.queries.team.track_record import mean_of
from engine.core.queries.team.tree import levels_of, warning_of
from engine.core.state import Agent, Run, RunSummary, State, Task
from engine.reading.folding import events_of, finished_run, fold_from, pages
from store import EngineInfo, Reader, find_loss

_PS_COLUMNS = ("SUPERVISOR", "UNDER", "LEVEL", "STRATEGY", "STATE", "AGENTS", "RUNNING", "WAITING", "HAND-OVER", "NOW")
_RIGHT_ALIGNED = frozenset({"OK", "P50", "TOOK", "TOKENS", "DONE", "TIME EACH", "USD EACH", "COST"})


@dataclass(frozen=True, slots=True)
class _TeamReading:
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

    def body(self, kind: str, items: list[Item], **more: object) -> Item:
        """Return a list in the shape of `--json`."""
        return {"v": 1, "kind": kind, **team_fields(self.db, self.state), **more, "seq": self.state.seq, "items": items}


@contextmanager
def _read_team(ctx: click.Context) -> Iterator[_TeamReading]:
    db = database_of(ctx, changes=False)
    with Reader(db) as reader:
        yield _TeamReading(db, reader, fold_from(reader), reader.engine(), now_in(reader))


@click.command("ps")
@filter_option
@click.pass_context
def ps(ctx: click.Context, row_filter: Filter) -> None:
    """Show the engine, and each supervisor with its current work."""
    with _read_team(ctx) as look:
        state, engine, standbys = look.state, look.engine, look.reader.standbys()
    loss = None if engine and engine.alive else find_loss(look.db)
    counts = make_digest(state, working=look.working)
    supervisors = row_filter.apply(state.supervisors.values(), lambda supervisor: SupervisorSubject(state, supervisor))
    check_filter(row_filter)
    items = [supervisor_item(state, supervisor, counts) for supervisor in supervisors]
    engine_item = engine and {name: getattr(engine, name) for name in ("pid", "alive", "since_ms", "token")}
    waiting = [{"pid": standby.pid, "since_ms": standby.since_ms} for standby in standbys]

    def make_lines() -> list[str]:
        rows = [
            (
                item["name"],
                item["parent"] or "",
                item["depth"],
                item["strategy"],
                item["status"],
                item["agents"],
                item["running"],
                item["waiting"],
                duration(item["hand_over_ms"]),
                now_of_supervisor(state, state.supervisors[item["id"]], counts).text,
            )
            for item in items
        ]
        empty = (
            "no supervisor passes the filter" if row_filter else "no team here yet; start one with: quarterdeck up TEAM"
        )
        table = TextTable(_PS_COLUMNS, rows, empty=empty)
        standbys_text = f"; {describe_standbys(standbys)}" if standbys else ""
        loss_text = f"; {pluralize(loss.rows, 'acknowledged event')} missing, see quarterdeck doctor" if loss else ""
        depth_warning = warning_of(state, len(levels_of(state)))
        head = [str(look.db), f"{_engine_line(engine, look.now_ms)}, seq {state.seq:,}{standbys_text}{loss_text}", ""]
        return [*head, *table.lines(), *([depth_warning] if depth_warning is not None else [])]

    emit(ctx, look.body("ps", items, engine=engine_item, standbys=waiting), make_lines)


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
    with _read_team(ctx) as look:
        state, live = look.state, look.reader.live()
    try:
        supervisor = find_supervisor(state, under) if under is not None else None
    except Refused as refused:
        fail(refused.code, refused.reason, "", WRONG_USAGE)
    counts = make_digest(state, working=look.working)
    matching_agents = [
        agent for agent in state.agents.values() if supervisor is None or agent.supervisor_id == supervisor.id
    ]
    matching_agents = filter_agents(state, matching_agents, row_filter)
    check_filter(row_filter)
    items = [agent_item(state, agent, counts) for agent in matching_agents]

    def make_table() -> TextTable:
        rows = [
            (
                item["name"],
                item["supervisor"],
                f"g{item['generation']}",
                state_of_agent(state, agent, working=look.working).text,
                item["queue"],
                item["done"],
                item["failed"],
                percent(item["success_rate"]),
                duration(median(agent.at_work_ms)),
                _tokens(item),
                now_of_agent(state, agent, counts, live, look.now_ms).text,
            )
            for agent, item in zip(matching_agents, items, strict=True)
        ]
        columns = ["AGENT", "UNDER", "GEN", "STATE", "QUEUE", "DONE", "FAIL", "OK", "P50", "TOKENS", "NOW"]
        none = "no agent passes the filter" if row_filter else "no agents yet; add some with: quarterdeck add FILE"
        return TextTable(columns, rows, empty=none, right=_RIGHT_ALIGNED)

    emit(
        ctx, look.body("agents", items), partial(_track_records, state, matching_agents) if by_category else make_table
    )


def _track_records(state: State, agents: Sequence[Agent]) -> TextTable:
    """Return what came of the work of agents in each category, a line each."""
    rows = []
    for agent in agents:
        for category, record in sorted(agent.track_record.items()):
            total = record.done + record.failed
            seconds, cost_usd = mean_of(record)
            rows.append(
                (
                    agent.name,
                    name_of(state, agent.supervisor_id),
                    category or "none",
                    record.done,
                    record.failed,
                    record.cancelled,
                    percent(record.done / total if total else None),
                    duration(seconds * 1000),
                    None if cost_usd is None else short_money(Decimal(str(cost_usd))),
                    money(record.usage),
                )
            )
    columns = ["AGENT", "UNDER", "CATEGORY", "DONE", "FAIL", "CANCELLED", "OK", "TIME EACH", "USD EACH", "COST"]
    return TextTable(columns, rows, empty="no agent has worked yet", right=_RIGHT_ALIGNED)


@click.command("tasks")
@click.option("--run", "run_id", metavar="RUN", help="Those of one run, also of a finished one.")
@click.option("--all", "every", is_flag=True, help="Those of finished runs too.")
@filter_option
@click.pass_context
def tasks(ctx: click.Context, run_id: str | None, *, every: bool, row_filter: Filter) -> None:
    """List the tasks of open runs."""
    run_id = None if run_id is None else id_in(run_id)
    with _read_team(ctx) as look:
        if run_id is not None and run_id not in look.state.runs:
            lines = _lines_of_finished(look.reader, [_finished_run(look, run_id)], row_filter)
        else:
            lines = _lines(look.state, run_id, row_filter, now_ms=look.now_ms, working=look.working)
        if every and run_id is None:
            lines = [*_lines_of_finished(look.reader, look.state.finished, row_filter), *lines]
    check_filter(row_filter)
    columns = ["TASK", "RUN", "STATE", "TITLE", "AGENT", "TRIES", "TOOK", "WHY"]
    none = "no open task passes the filter" if row_filter else "no open tasks"
    empty = f"{none}; those of finished runs: quarterdeck tasks --all"
    table = TextTable(columns, [cells for _, cells in lines], empty=empty, right=_RIGHT_ALIGNED)
    emit(ctx, look.body("tasks", [item for item, _ in lines]), table)


_Line: TypeAlias = tuple[Item, tuple[object, ...]]
"""A task, for scripts and for people."""


def _lines(state: State, run_id: str | None, row_filter: Filter, *, now_ms: int, working: bool = True) -> list[_Line]:
    """Return the tasks of agents in `state`, of all runs or of one; `working` tells whether an engine is at work."""
    counts = make_digest(state, working=working)
    matching_tasks = [task for task in state.tasks.values() if task.kind == "agent" and run_id in (None, task.run_id)]
    return [
        _line(state, task, counts, now_ms)
        for task in row_filter.apply(matching_tasks, lambda task: TaskSubject(state, task, now_ms))
    ]


def _line(state: State, task: Task, counts: Digest, now_ms: int) -> _Line:
    item = task_item(state, task)
    until_ms = task.ended_ms if task.ended_ms is not None else now_ms
    took = "" if task.started_ms is None else duration(until_ms - task.started_ms)
    status = task_mark(task, working=counts.working).text
    reason = waiting_reason(state, task, counts, now_ms) or task.error or ""
    return item, (task.id, task.run_id, status, task.title, item["agent"] or "", task.attempts, took, reason)


def _finished_run(look: _TeamReading, run_id: str) -> RunSummary:
    summary = look.state.summary(run_id) or finished_run(look.reader, run_id)
    if summary is None:
        fail("unknown_work", f"there is no run {run_id!r}", "list them with: quarterdeck runs", WRONG_USAGE)
    if not summary.seq:
        fail("unknown_work", f"the tasks of {run_id} stayed in the journal it was imported from", "", WRONG_USAGE)
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
                lines += _lines(state, runs[record.seq], row_filter, now_ms=state.at_ms)
            fold(state, [event])
    return lines


@click.command("runs")
@click.option("--open", "open_only", is_flag=True, help="Only those that have not ended.")
@filter_option
@click.pass_context
def runs(ctx: click.Context, *, open_only: bool, row_filter: Filter) -> None:
    """List runs, the newest last; of the finished ones the last 200."""
    with _read_team(ctx) as look:
        listed: list[Run | RunSummary] = [] if open_only else [*look.state.finished]
    listed = row_filter.apply(
        [*listed, *look.state.runs.values()], lambda run: RunSubject(look.state, run, look.now_ms)
    )
    check_filter(row_filter)
    items = [run_item(run, engine_alive=look.working) for run in listed]

    def make_table() -> TextTable:
        rows = [
            (
                item["id"],
                run_mark(run, working=look.working).text,
                item["strategy"] or "",
                f"{item['tasks_done']:,}/{item['tasks_total']:,}",
                moment(item["started_ms"], look.now_ms),
                duration((item["ended_ms"] or look.now_ms) - item["started_ms"]),
                _tokens(item),
                item["request"],
                item["error"] or "",
            )
            for run, item in zip(listed, items, strict=True)
        ]
        columns = ["RUN", "STATE", "STRATEGY", "DONE", "AT", "TOOK", "TOKENS", "REQUEST", "ERROR"]
        begin = 'give the team a request: quarterdeck run "…"'
        none = f"no open runs; {begin}" if open_only else f"no runs yet; {begin}"
        return TextTable(columns, rows, empty="no run passes the filter" if row_filter else none, right=_RIGHT_ALIGNED)

    emit(ctx, look.body("runs", items), make_table)


def _tokens(item: Item) -> int | None:
    counted = [item[name] for name in ("tokens_in", "tokens_out") if item[name] is not None]
    return sum(counted) if counted else None
