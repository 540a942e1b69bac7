"""`export` and `import`: carry a whole team with its open work to another file or another machine.

One rule holds inside: an export reads the files and needs no engine; an import is a command, so that the engine checks
all of it again and says in the journal what came in.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from dashboard.clean import clean
from dashboard.cli.database import check_database, database_of, naming, team_in
from dashboard.cli.ordering import client_on, fail_refused
from dashboard.cli.output import DONE, NO_ENGINE, WRONG_USAGE, Failure, emit, fail, say
from dashboard.cli.trust import allow_code, trust_list
from dashboard.client import Outcome
from dashboard.process import is_alive, let_go, start_engine, wait_until_up
from dashboard.views.amounts import counted, size
from engine.archive import ExportResult, ImportPlan, ImportRefused, export_archive, plan_import
from engine.core.commands import ImportState
from engine.core.errors import Refused
from engine.core.state import State
from engine.errors import ExportRefused
from engine.folding import folded

TAKEN_WITHIN_S = 300.0


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--history", is_flag=True, help="Put every event into it as well, for other programs to read.")
@click.option("--force", is_flag=True, help="Replace what stands there.")
@click.option("--only", metavar="SUPERVISOR", help="This one with everything under it and its runs, and no more.")
@click.pass_context
def export(ctx: click.Context, file: Path, *, history: bool, force: bool, only: str | None) -> int:
    """Write the whole state to the archive FILE: agents, registry, open runs and what they have done so far.

    The engine may be at work, or gone; work under way is in it as if the engine had just been lost.
    """
    db = database_of(ctx, changes=False)
    try:
        done = export_archive(db, file, history=history, overwrite=force, only=only)
    except Refused as error:
        fail(error.code, error.reason, "", WRONG_USAGE)
    except ExportRefused as error:
        fail("export_refused", str(error), "", WRONG_USAGE)
    body = {
        "v": 1,
        "kind": "export",
        "path": str(done.path),
        "bytes": done.bytes,
        "seq": done.seq,
        "state_sha256": done.state_sha256,
        **naming(db),
    }
    what = "exported" if only is None else f"exported {only}"
    told = f"✓ {what} to {done.path} ({size(done.bytes)}), as of seq {done.seq:,} (team {team_in(db)})"
    emit(ctx, body, told)
    _say_bound(done)
    return DONE


def _say_bound(done: ExportResult | ImportPlan) -> None:
    if done.bound:
        say(f"these functions exist in the program that made them alone: {', '.join(done.bound)}")
        say("their agents wait elsewhere, until each is swapped")


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what it would do, and do nothing.")
@click.option("--trust", is_flag=True, help="Allow the code that its agents call.")
@click.pass_context
def import_(ctx: click.Context, file: Path, *, dry_run: bool, trust: bool) -> int:
    """Take in the archive FILE: shows what it brings, then brings it, its runs paused.

    A database that does not exist yet is made: quarterdeck import FILE --db new.db
    """
    db = _target(ctx, dry_run=dry_run)
    if db is not None:
        check_database(db)
    try:
        plan = plan_import(file, db, trust_list())
    except ImportRefused as error:
        fail("import_refused", str(error), "", WRONG_USAGE)
    if dry_run:
        emit(ctx, _body(db, plan, dry_run=True), _lines(file, plan))
        return DONE
    assert db is not None
    for line in _lines(file, plan):
        say(line)
    folder = _folder(db)
    state = folded(db) if db.exists() else State()
    allow_code(plan.references, state, db=db, path=file.resolve(), sha256=plan.sha256, trust=trust)
    command = ImportState(path=str(file.resolve()), sha256=plan.sha256)
    outcome = _imported(db, command, folder)
    told = f"✓ {outcome.summary}, applied at seq {outcome.seq:,} (team {team_in(db)})"
    emit(ctx, _body(db, plan, dry_run=False), told)
    _say_next(db, plan)
    return DONE


def _target(ctx: click.Context, *, dry_run: bool) -> Path | None:
    """Return the database to import into; a dry run needs none."""
    try:
        return database_of(ctx, changes=not dry_run)
    except Failure as failure:
        if dry_run and failure.code == "no_database":
            return None
        raise


def _imported(db: Path, command: ImportState, folder: Path | None) -> Outcome:
    with _engine_on(db, folder), client_on(db) as client:
        outcome = client.perform(command, TAKEN_WITHIN_S)
    if outcome.status == "refused":
        fail_refused(outcome)
    if outcome.status == "pending":
        fail("no_answer", f"the engine has not answered within {TAKEN_WITHIN_S:.0f} s", "", NO_ENGINE)
    return outcome


@contextmanager
def _engine_on(db: Path, folder: Path | None) -> Iterator[None]:
    """Have an engine on a database for this block: the one at work, else one of our own."""
    if is_alive(db):
        yield
        return
    engine = start_engine(db, folder=folder, bound=True, without_code=True)
    try:
        wait_until_up(engine)
        yield
    finally:
        let_go(engine)


def _folder(db: Path) -> Path | None:
    """Return where the team's code is looked for; None is the current folder."""
    team = folded(db).team if db.exists() else None
    folder = Path(team.folder) if team is not None else None
    return folder if folder is not None and folder.is_dir() else None


def _body(db: Path | None, plan: ImportPlan, *, dry_run: bool) -> dict[str, object]:
    return {
        "v": 1,
        "kind": "import",
        "dry_run": dry_run,
        "creates": plan.creates,
        "needs_trust": plan.needs_trust,
        "clashes": plan.clashes,
        **({} if db is None else naming(db)),
    }


def _lines(file: Path, plan: ImportPlan) -> list[str]:
    """Return what an import brings, in words."""
    nouns = {"finished": "finished run", "runs": "open run"}
    brought = [counted(count, nouns.get(kind, kind.removesuffix("s"))) for kind, count in plan.creates.items() if count]
    lines = [f"{file} brings {', '.join(brought) or 'nothing'}"]
    lines += _listed("it calls code that is not trusted yet:", plan.needs_trust)
    lines += _listed("names that are in use:", plan.clashes)
    lines += _listed("functions that only the program had that made them; swap their agents:", plan.bound)
    return lines


def _listed(title: str, items: Sequence[str]) -> list[str]:
    return [title, *(f"  {clean(item)}" for item in items)] if items else []


def _say_next(db: Path, plan: ImportPlan) -> None:
    if plan.creates["runs"]:
        say(f"its open runs are paused: quarterdeck runs --open --db {db}, then quarterdeck resume RUN --db {db}")
