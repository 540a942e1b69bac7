"""`steps` and `fork`: the recorded steps of a task, and a database that continues from a moment.

Rule: both read the files and need no engine; a fork writes a new file and nothing else.
"""

import json
from pathlib import Path

import click

from dashboard.cli.database import database_of, team_fields
from dashboard.cli.printing.items import Item, fields_of, usage_item
from dashboard.cli.printing.output import DONE, TextTable, emit, fail, quote_path, say
from dashboard.cli.printing.times import seq_of
from dashboard.views.past import fork_moment
from dashboard.views.words.amounts import duration, money, pluralize
from engine.core.errors import Refused
from engine.core.queries.targets import id_in
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text, preview
from engine.history.steps import Step, steps_of
from engine.reading.folding import fold_file
from store import NameTaken, Reader

_MAX_CHARACTERS = 60
_QUOTED = "a text needs quotes: '\"Lisbon\"'"


@click.command("steps")
@click.argument("task")
@click.pass_context
def steps(ctx: click.Context, task: str) -> None:
    """List the recorded steps of TASK, of all its attempts: what it did, what came of it, and what it cost."""
    db, task_id = database_of(ctx, changes=False), id_in(task)
    with Reader(db) as reader:
        task_steps = list(steps_of(reader, task_id))
        if not task_steps and not reader.records(0, 1, task_id=task_id):
            fail("unknown_work", f"there is no task {task!r}", "list them: quarterdeck tasks --all")
    items = [step_item(step) for step in task_steps]

    def make_table() -> TextTable:
        rows = [
            (
                step.attempt,
                step.step,
                step.what,
                step.model or "",
                preview(as_text(step.output), _MAX_CHARACTERS),
                step.usage.tokens_in,
                step.usage.tokens_out,
                money(step.usage),
                duration(step.duration_ms),
            )
            for step in task_steps
        ]
        columns = ("TRY", "STEP", "WHAT", "MODEL", "OUTPUT", "IN", "OUT", "USD", "TOOK")
        return TextTable(columns, rows, empty=f"{task_id} has recorded no step", right=frozenset({"TOOK", "USD"}))

    emit(ctx, "steps", {**team_fields(db), "items": items}, make_table)


def step_item(step: Step) -> Item:
    """Return a recorded step."""
    fields = fields_of(step, "task_id attempt step what name model input output")
    return {**fields, **usage_item(step.usage), "duration_ms": step.duration_ms}


@click.command("fork")
@click.argument("new", metavar="NEW.db", type=click.Path(path_type=Path))
@click.option("--at", metavar="WHEN", help="A seq, or a time: 10m, 12:04, 2026-01-31T12:04; by default now.")
@click.option("--step", metavar="TASK/STEP", help="A recorded step that gets another result.")
@click.option("--output-json", metavar="JSON", help="With --step: the result.")
@click.pass_context
def fork(ctx: click.Context, new: Path, *, at: str | None, step: str | None, output_json: str | None) -> int:
    """Make the database NEW.db, which goes on from a moment of this one, with its runs paused.

    With --step what came after that step in its task is dropped, and the task goes on from there.
    """
    from engine.history import forking  # the whole engine, longer than all that `steps` does

    db = database_of(ctx, changes=False)
    if (step is None) != (output_json is None):
        fail("usage", "--step and --output-json belong together", "give both, or neither")
    try:
        with Reader(db) as reader:
            at_seq = None if at is None else seq_of(reader, at)
            changed_step = None
            if step is not None:
                changed_step = forking.ChangedStep(
                    forking.step_named(reader, *parts_of(step)), json_given(output_json or "", _QUOTED)
                )
        new_fork = forking.fork(db, new, at_seq=at_seq, changed=changed_step)
    except NameTaken as name_error:
        fail("name_taken", str(name_error))
    except Refused as refused:
        fail(refused.code, refused.reason)
    body = {**fields_of(new_fork, "path at_seq runs tasks")}
    text = f"{pluralize(new_fork.runs, 'open run')} with {pluralize(new_fork.tasks, 'task')}, paused"
    at_moment = fork_moment(at_seq or new_fork.at_seq, new_fork.at_seq)
    emit(ctx, "fork", body | {"path": str(new_fork.path)}, f"✓ forked to {new_fork.path} at {at_moment}: {text}")
    if new_fork.runs:
        run = next(iter(fold_file(new_fork.path).runs)) if new_fork.runs == 1 else "RUN"
        db_option = f"--db {quote_path(new_fork.path)}"
        say(f"continue: quarterdeck engine {db_option}, then: quarterdeck resume {run} {db_option}")
    return DONE


def parts_of(step: str) -> tuple[str, str]:
    """Return the task and the key that `TASK/STEP` names."""
    task_id, slash, key = id_in(step).partition("/")
    if not slash:
        fail("usage", f"{step!r} names no step", "such as t5/KEY; 'quarterdeck steps t5' lists them")
    return task_id, key


def json_given(text: str, hint: str) -> JsonValue:
    """Read the value of `--output-json`; exit with a hint if it is none."""
    try:
        value: JsonValue = json.loads(text)
    except ValueError as error:
        fail("usage", f"--output-json is not JSON: {error}", hint)
    return value
