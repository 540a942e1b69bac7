"""`ps`, `agents`, `tasks`, `runs`, `events`: look at a team, with or without an engine.

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
from dashboard.cli.printing.filtering import checked, filtering
from dashboard.cli.printing.items import Item, agent_item, run_item, supervisor_item, task_item
from dashboard.cli.printing.output import WRONG_USAGE, Table, emit, fail
from dashboard.cli.printing.times import now_in
from dashboard.engines.process import doubt_of
from dashboard.views.facts.work import now_of_agent, now_of_supervisor, state_of_agent, why
from dashboard.views.header import waiting_said
from dashboard.views.measures.digest import Digest, digest
from dashboard.views.words.amounts import duration, median, moment, money, percent, pluralize, short_money
from dashboard.views.words.filters import Filter
from dashboard.views.words.glyphs import of_run, of_task
from dashboard.views.words.subjects import OfRun, OfSupervisor, OfTask, agents_passing
from engine.core.errors import Refused
from engine.core.fold import fold
from engine.core.queries.targets import find_supervisor, id_in, name_of
from engine.core.queries.team.track_record import mean_of
from engine.core.queries.team.tree import levels_of, warning_of
from engine.core.state import Agent, Run, RunSummary, State, Task
from engine.reading.folding import events_of, finished_run, fold_from, pages
from store import EngineInfo, Reader, find_loss

_AT_RIGHT = frozenset({"OK", "P50", "TOOK", "TOKENS", "DONE", "TIME EACH", "USD EACH", "COST"})


@dataclass(frozen=True, slots=True)
class _Look:
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
def _looking(ctx: click.Context) -> Iterator[_Look]:
    db = database_of(ctx, changes=False)
    with Reader(db) as reader:
        yield _Look(db, reader, fold_from(reader), reader.engine(), now_in(reader))


@click.command("ps")
@filtering
@click.pass_context
def ps(ctx: click.Context, wanted: Filter) -> None:
    """Show the engine, and each supervisor with its current work."""
    with _looking(ctx) as look:
        state, engine, standbys = look.state, look.engine, look.reader.standbys()
    loss = None if engine and engine.alive else find_loss(look.db)
    counts = digest(state, working=look.working)
    found = wanted.of(state.supervisors.values(), lambda one: OfSupervisor(state, one))
    checked(wanted)
    items = [supervisor_item(state, each, counts) for each in found]
    engine_item = engine and {name: getattr(engine, name) for name in ("pid", "alive", "since_ms", "token")}
    waiting = [{"pid": each.pid, "since_ms": each.since_ms} for each in standbys]

    def shown() -> list[str]:
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
        columns = [
            "SUPERVISOR",
            "UNDER",
            "LEVEL",
            "STRATEGY",
            "STATE",
            "AGENTS",
            "RUNNING",
            "WAITING",
            "HAND-OVER",
            "NOW",
        ]
        none = "no supervisor passes the filter" if wanted else "no team here yet; start one with: quarterdeck up TEAM"
        table = Table(columns, rows, empty=none)
        beside = f"; {waiting_said(standbys)}" if standbys else ""
        lost = f"; {pluralize(loss.rows, 'acknowledged event')} missing, see quarterdeck doctor" if loss else ""
        deep = warning_of(state, len(levels_of(state)))
        top = [str(look.db), f"{_engine_line(engine, look.now_ms)}, seq {state.seq:,}{beside}{lost}", ""]
        return [*top, *table.lines(), *([deep] if deep is not None else [])]

    emit(ctx, look.body("ps", items, engine=engine_item, standbys=waiting), shown)


def _engine_line(engine: EngineInfo | None, now_ms: int) -> str:
    if engine is None:
        return "no engine has worked on this file yet"
    if engine.alive:
        return f"engine {engine.pid} at work since {moment(engine.since_ms, now_ms)}{doubt_of(engine)}"
    return f"no engine: the last one, {engine.pid}, {'stopped' if engine.ended_ms is not None else 'was lost'}"


@click.command("agents")
@click.option("--under", metavar="SUPERVISOR", help="Only those of one supervisor.")
@click.option("--by-category", is_flag=True, help="What came of their work in each category of requests.")
@filtering
@click.pass_context
def agents(ctx: click.Context, under: str | None, wanted: Filter, *, by_category: bool) -> None:
    """List agents with what they do and how they have done."""
    with _looking(ctx) as look:
        state, live = look.state, look.reader.live()
    try:
        above = find_supervisor(state, under) if under is not None else None
    except Refused as refused:
        fail(refused.code, refused.reason, "", WRONG_USAGE)
    counts = digest(state, working=look.working)
    found = [agent for agent in state.agents.values() if above is None or agent.supervisor_id == above.id]
    found = agents_passing(state, found, wanted)
    checked(wanted)
    items = [agent_item(state, agent, counts) for agent in found]

    def shown() -> Table:
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
            for agent, item in zip(found, items, strict=True)
        ]
        columns = ["AGENT", "UNDER", "GEN", "STATE", "QUEUE", "DONE", "FAIL", "OK", "P50", "TOKENS", "NOW"]
        none = "no agent passes the filter" if wanted else "no agents yet; add some with: quarterdeck add FILE"
        return Table(columns, rows, empty=none, right=_AT_RIGHT)

    emit(ctx, look.body("agents", items), partial(_track_records, state, found) if by_category else shown)


def _track_records(state: State, found: Sequence[Agent]) -> Table:
    """Return what came of the work of agents in each category, a line each."""
    rows = []
    for agent in found:
        for category, record in sorted(agent.track_record.items()):
            ended = record.done + record.failed
            seconds, cost_usd = mean_of(record)
            rows.append(
                (
                    agent.name,
                    name_of(state, agent.supervisor_id),
                    category or "none",
                    record.done,
                    record.failed,
                    record.cancelled,
                    percent(record.done / ended if ended else None),
                    duration(seconds * 1000),
                    None if cost_usd is None else short_money(Decimal(str(cost_usd))),
                    money(record.usage),
                )
            )
    columns = ["AGENT", "UNDER", "CATEGORY", "DONE", "FAIL", "CANCELLED", "OK", "TIME EACH", "USD EACH", "COST"]
    return Table(columns, rows, empty="no agent has worked yet", right=_AT_RIGHT)


@click.command("tasks")
@click.option("--run", "run_id", metavar="RUN", help="Those of one run, also of a finished one.")
@click.option("--all", "every", is_flag=True, help="Those of finished runs too.")
@filtering
@click.pass_context
def tasks(ctx: click.Context, run_id: str | None, *, every: bool, wanted: Filter) -> None:
    """List the tasks of open runs."""
    run_id = None if run_id is None else id_in(run_id)
    with _looking(ctx) as look:
        if run_id is not None and run_id not in look.state.runs:
            found = _lines_of_finished(look.reader, [_finished(look, run_id)], wanted)
        else:
            found = _lines(look.state, run_id, wanted, now_ms=look.now_ms, working=look.working)
        if every and run_id is None:
            found = [*_lines_of_finished(look.reader, look.state.finished, wanted), *found]
    checked(wanted)
    columns = ["TASK", "RUN", "STATE", "TITLE", "AGENT", "TRIES", "TOOK", "WHY"]
    none = "no open task passes the filter" if wanted else "no open tasks"
    empty = f"{none}; those of finished runs: quarterdeck tasks --all"
    table = Table(columns, [cells for _, cells in found], empty=empty, right=_AT_RIGHT)
    emit(ctx, look.body("tasks", [item for item, _ in found]), table)


_Line: TypeAlias = tuple[Item, tuple[object, ...]]
"""A task, for scripts and for people."""


def _lines(state: State, run_id: str | None, wanted: Filter, *, now_ms: int, working: bool = True) -> list[_Line]:
    """Return the tasks of agents in `state`, of all runs or of one; `working` tells whether an engine is at work."""
    counts = digest(state, working=working)
    found = [task for task in state.tasks.values() if task.kind == "agent" and run_id in (None, task.run_id)]
    return [_line(state, task, counts, now_ms) for task in wanted.of(found, lambda task: OfTask(state, task, now_ms))]


def _line(state: State, task: Task, counts: Digest, now_ms: int) -> _Line:
    item = task_item(state, task)
    until_ms = task.ended_ms if task.ended_ms is not None else now_ms
    took = "" if task.started_ms is None else duration(until_ms - task.started_ms)
    status = of_task(task, working=counts.working).text
    reason = why(state, task, counts, now_ms) or task.error or ""
    return item, (task.id, task.run_id, status, task.title, item["agent"] or "", task.attempts, took, reason)


def _finished(look: _Look, run_id: str) -> RunSummary:
    summary = look.state.summary(run_id) or finished_run(look.reader, run_id)
    if summary is None:
        fail("unknown_work", f"there is no run {run_id!r}", "list them with: quarterdeck runs", WRONG_USAGE)
    if not summary.seq:
        fail("unknown_work", f"the tasks of {run_id} stayed in the journal it was imported from", "", WRONG_USAGE)
    return summary


def _lines_of_finished(reader: Reader, finished: Sequence[RunSummary], wanted: Filter) -> list[_Line]:
    """Return the tasks of every run whose end is in this journal, as they were then: one walk from the first end."""
    runs = {run.seq: run.id for run in finished if run.seq}
    if not runs:
        return []
    found: list[_Line] = []
    then = fold_from(reader, min(runs) - 1)
    for records in pages(reader, then.seq, max(runs)):
        for record, event in zip(records, events_of(records), strict=True):
            if record.seq in runs:
                found += _lines(then, runs[record.seq], wanted, now_ms=then.at_ms)
            fold(then, [event])
    return found


@click.command("runs")
@click.option("--open", "open_only", is_flag=True, help="Only those that have not ended.")
@filtering
@click.pass_context
def runs(ctx: click.Context, *, open_only: bool, wanted: Filter) -> None:
    """List runs, the newest last; of the finished ones the last 200."""
    with _looking(ctx) as look:
        listed: list[Run | RunSummary] = [] if open_only else [*look.state.finished]
    listed = wanted.of([*listed, *look.state.runs.values()], lambda run: OfRun(look.state, run, look.now_ms))
    checked(wanted)
    items = [run_item(run, engine_alive=look.working) for run in listed]

    def shown() -> Table:
        rows = [
            (
                item["id"],
                of_run(run, working=look.working).text,
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
        return Table(columns, rows, empty="no run passes the filter" if wanted else none, right=_AT_RIGHT)

    emit(ctx, look.body("runs", items), shown)


def _tokens(item: Item) -> int | None:
    counted = [item[name] for name in ("tokens_in", "tokens_out") if item[name] is not None]
    return sum(counted) if counted else None
