"""`ps`, `agents`, `tasks`, `runs`, `events`: look at a team, with or without an engine.

One rule holds inside: the state is folded from the file, so what is shown here and on the dashboard is the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from dashboard.cli.database import database_of, naming
from dashboard.cli.following import events
from dashboard.cli.items import (
    Item,
    agent_item,
    finished_run_item,
    open_run_item,
    supervisor_item,
    task_item,
)
from dashboard.cli.output import WRONG_USAGE, Table, emit, fail
from dashboard.cli.times import now_in
from dashboard.views.amounts import clock, duration, median, percent
from dashboard.views.digest import Digest, digest
from dashboard.views.glyphs import RUN, of_task
from dashboard.views.header import waiting_said
from dashboard.views.work import now_of_agent, now_of_supervisor, state_of_agent, why
from engine.core.errors import Refused
from engine.core.fold import fold
from engine.core.hierarchy import levels, warning_of
from engine.core.queries.targets import find_supervisor
from engine.core.state import RunStatus, RunSummary, State, Task
from engine.folding import events_of, folded_from, pages
from store import EngineInfo, Reader


@click.command("ps")
@click.pass_context
def ps(ctx: click.Context) -> None:
    """Show the engine, and each supervisor with what it is at."""
    path = database_of(ctx, changes=False)
    with Reader(path) as reader:
        state, engine, standbys = folded_from(reader), reader.engine(), reader.standbys()
    counts = digest(state, working=engine is not None and engine.alive)
    body = {
        "v": 1,
        "kind": "ps",
        **naming(path, state),
        "engine": _engine_item(engine),
        "standbys": [{"pid": each.pid, "since_ms": each.since_ms} for each in standbys],
        "seq": state.seq,
        "items": [supervisor_item(state, each, counts) for each in state.supervisors.values()],
    }

    def shown() -> list[str]:
        rows = [
            (item["name"], item["parent"] or "", item["depth"], item["strategy"], item["status"], item["agents"],
             item["running"], item["waiting"], duration(item["hand_over_ms"]),
             now_of_supervisor(state, state.supervisors[item["id"]], counts).text)
            for item in (supervisor_item(state, each, counts) for each in state.supervisors.values())
        ]  # fmt: skip
        columns = (
            "SUPERVISOR", "UNDER", "LEVEL", "STRATEGY", "STATE", "AGENTS", "RUNNING", "WAITING", "HAND-OVER", "NOW",
        )  # fmt: skip
        table = Table(columns, rows, empty="no team here yet; start one with: quarterdeck up TEAM")
        waiting = f"; {waiting_said(standbys)}" if standbys else ""
        deep = warning_of(state, len(levels(state)))
        warned = [deep] if deep is not None else []
        return [str(path), f"{_engine_line(engine)}, seq {state.seq:,}{waiting}", "", *table.lines(), *warned]

    emit(ctx, body, shown)


def _engine_item(engine: EngineInfo | None) -> Item | None:
    if engine is None:
        return None
    return {"pid": engine.pid, "alive": engine.alive, "since_ms": engine.since_ms, "token": engine.token}


def _engine_line(engine: EngineInfo | None) -> str:
    if engine is None:
        return "no engine has worked on this file yet"
    if engine.alive:
        doubt = ", but it does not answer" if engine.hung else ""
        return f"engine {engine.pid} at work since {clock(engine.since_ms)}{doubt}"
    return f"no engine: the last one, {engine.pid}, {'stopped' if engine.ended_ms is not None else 'was lost'}"


@click.command("agents")
@click.option("--under", metavar="SUPERVISOR", help="Only those of one supervisor.")
@click.pass_context
def agents(ctx: click.Context, under: str | None) -> None:
    """List agents with what they do and how they have done."""
    db = database_of(ctx, changes=False)
    with Reader(db) as reader:
        state, live, working, now_ms = folded_from(reader), reader.live(), _working(reader), now_in(reader)
    try:
        above = find_supervisor(state, under) if under is not None else None
    except Refused as refused:
        fail(refused.code, refused.reason, "", WRONG_USAGE)
    counts = digest(state, working=working)
    found = [agent for agent in state.agents.values() if above is None or agent.supervisor_id == above.id]
    items = [agent_item(state, agent, counts) for agent in found]

    def shown() -> Table:
        rows = [
            (item["name"], item["supervisor"], f"g{item['generation']}",
             state_of_agent(agent, working=working).text, item["queue"], item["done"],
             item["failed"], percent(item["success_rate"]), duration(median(agent.durations_ms)), _tokens(item),
             now_of_agent(state, agent, counts, live, now_ms).text)
            for agent, item in zip(found, items, strict=True)
        ]  # fmt: skip
        columns = ("AGENT", "UNDER", "GEN", "STATE", "QUEUE", "DONE", "ERR", "OK", "P50", "TOKENS", "NOW")
        return Table(columns, rows, empty="no agents yet; add some with: quarterdeck add FILE", right=_AT_RIGHT)

    emit(ctx, _list("agents", db, state, items), shown)


@click.command("tasks")
@click.option("--run", "run_id", metavar="RUN", help="Those of one run, also of a finished one.")
@click.option("--all", "every", is_flag=True, help="Those of finished runs too.")
@click.pass_context
def tasks(ctx: click.Context, run_id: str | None, *, every: bool) -> None:
    """List the tasks of open runs."""
    db = database_of(ctx, changes=False)
    with Reader(db) as reader:
        state = folded_from(reader)
        working = _working(reader)
        found = (
            _tasks_of(reader, state, run_id)
            if run_id is not None
            else _lines(state, now_ms=now_in(reader), working=working)
        )
        if every and run_id is None:
            found = [*_tasks_of_finished(reader, state.finished), *found]
    columns = ("TASK", "RUN", "STATE", "TITLE", "AGENT", "TRIES", "TOOK", "WHY")
    empty = "no open tasks; those of finished runs: quarterdeck tasks --all"
    table = Table(columns, [line.cells for line in found], empty=empty, right=_AT_RIGHT)
    emit(ctx, _list("tasks", db, state, [line.item for line in found]), table)


@dataclass(frozen=True, slots=True)
class _Line:
    """A task, for scripts and for people."""

    item: Item
    cells: tuple[object, ...]


def _lines(state: State, run_id: str | None = None, *, now_ms: int, working: bool = True) -> list[_Line]:
    """Return the tasks of agents in `state`, of all runs or of one; `working` tells whether an engine is at work."""
    counts = digest(state, working=working)
    wanted = [task for task in state.tasks.values() if task.kind == "agent" and run_id in (None, task.run_id)]
    return [_line(state, task, counts, now_ms) for task in wanted]


def _line(state: State, task: Task, counts: Digest, now_ms: int) -> _Line:
    item = task_item(state, task)
    cells = (
        task.id,
        task.run_id,
        of_task(task, working=counts.working).text,
        task.title,
        item["agent"] or "",
        task.attempts,
        _took(task, now_ms),
        why(state, task, counts, now_ms) or task.error or "",
    )
    return _Line(item, cells)


def _tasks_of(reader: Reader, state: State, run_id: str) -> list[_Line]:
    if run_id in state.runs:
        return _lines(state, run_id, now_ms=now_in(reader), working=_working(reader))
    summary = state.summary(run_id)
    if summary is None:
        fail("unknown_work", f"there is no run {run_id!r}", "list them with: quarterdeck runs", WRONG_USAGE)
    if not summary.seq:
        fail("unknown_work", f"the tasks of {run_id} stayed in the journal it was imported from", "", WRONG_USAGE)
    then = folded_from(reader, summary.seq - 1)
    return _lines(then, run_id, now_ms=then.at_ms)


def _tasks_of_finished(reader: Reader, finished: Sequence[RunSummary]) -> list[_Line]:
    """Return the tasks of every run whose end is in this journal, as they were then: one walk from the first end."""
    runs = {run.seq: run.id for run in finished if run.seq}
    if not runs:
        return []
    found: list[_Line] = []
    then = folded_from(reader, min(runs) - 1)
    for records in pages(reader, then.seq, max(runs)):
        for record, event in zip(records, events_of(records), strict=True):
            if record.seq in runs:
                found += _lines(then, runs[record.seq], now_ms=then.at_ms)
            fold(then, [event])
    return found


@click.command("runs")
@click.option("--open", "open_only", is_flag=True, help="Only those that have not ended.")
@click.pass_context
def runs(ctx: click.Context, *, open_only: bool) -> None:
    """List runs, the newest last; of the finished ones the last 200."""
    db = database_of(ctx, changes=False)
    with Reader(db) as reader:
        state, engine, now_ms = folded_from(reader), reader.engine(), now_in(reader)
    alive = engine is not None and engine.alive
    items = [] if open_only else [finished_run_item(run) for run in state.finished]
    items += [open_run_item(run, engine_alive=alive) for run in state.runs.values()]

    def shown() -> Table:
        rows = [
            (item["id"], RUN[RunStatus(item["status"])].text, item["strategy"] or "",
             f"{item['tasks_done']:,}/{item['tasks_total']:,}", clock(item["started_ms"]),
             duration((item["ended_ms"] or now_ms) - item["started_ms"]), _tokens(item), item["request"])
            for item in items
        ]  # fmt: skip
        columns = ("RUN", "STATE", "STRATEGY", "TASKS", "AT", "TOOK", "TOKENS", "REQUEST")
        return Table(columns, rows, empty='no runs yet; give the team a request: quarterdeck run "…"', right=_AT_RIGHT)

    emit(ctx, _list("runs", db, state, items), shown)


_AT_RIGHT = frozenset({"OK", "P50", "TOOK", "TOKENS", "TASKS"})


def _working(reader: Reader) -> bool:
    engine = reader.engine()
    return engine is not None and engine.alive


def _list(kind: str, db: Path, state: State, items: list[Item]) -> Item:
    return {"v": 1, "kind": kind, **naming(db, state), "seq": state.seq, "items": items}


def _tokens(item: Item) -> int | None:
    counted = [item[name] for name in ("tokens_in", "tokens_out") if item[name] is not None]
    return sum(counted) if counted else None


def _took(task: Task, now_ms: int) -> str:
    if task.started_ms is None:
        return ""
    return duration((task.ended_ms if task.ended_ms is not None else now_ms) - task.started_ms)


__all__ = ["agents", "events", "ps", "runs", "tasks"]
