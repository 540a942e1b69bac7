"""`export` and `import`: carry a whole team with its open work to another file or another machine.

Rule: an export reads the files and needs no engine; an import is a command, so that the engine checks all of it again
and records in the journal what was imported.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from dashboard.clean import clean
from dashboard.cli.database import check_database, database_of, team_fields, team_in
from dashboard.cli.printing.items import fields_of
from dashboard.cli.printing.output import DONE, CommandFailure, emit, fail, quote_path, say
from dashboard.cli.sending import perform
from dashboard.cli.trust import allow_code, trust_list
from dashboard.engines.process import bound_engine, is_alive
from dashboard.views.changes.outcomes import describe_archive
from dashboard.views.words.amounts import size
from engine.archive import ImportPlan, ImportRefused, export_archive, plan_import
from engine.core.commands import ImportState
from engine.core.errors import Refused
from engine.core.queries.team.code import UNASKED
from engine.core.state import State
from engine.errors import ExportRefused
from engine.reading.folding import fold_file

TAKEN_WITHIN_S = 300.0


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--history", is_flag=True, help="Put every event into it as well, for other programs to read.")
@click.option("--force", is_flag=True, help="Replace what stands there.")
@click.option("--only", metavar="SUPERVISOR", help="Only this supervisor, with everything under it and its runs.")
@click.pass_context
def export(ctx: click.Context, file: Path, *, history: bool, force: bool, only: str | None) -> int:
    """Write the whole state to the archive FILE: agents, registry, open runs and what they have done so far.

    The engine may be running or not; work in progress is exported as if the engine had just been lost.
    """
    db = database_of(ctx, changes=False)
    try:
        exported = export_archive(db, file, history=history, overwrite=force, only=only)
    except Refused as error:
        fail(error.code, error.reason)
    except ExportRefused as error:
        fail("export_refused", str(error))
    body = {**fields_of(exported, "path bytes seq state_sha256"), **team_fields(db)}
    text = "exported" if only is None else f"exported {only}"
    summary = f"✓ {text} to {exported.path} ({size(exported.bytes)}), as of seq {exported.seq:,} (team {team_in(db)})"
    emit(ctx, "export", body, summary)
    if exported.bound:
        say(f"these functions exist only in the program that defined them: {', '.join(exported.bound)}")
        say("imported elsewhere, their agents wait until each is swapped")
    return DONE


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what it would do, without doing it.")
@click.option("--trust", is_flag=True, help="Allow the code that its agents call.")
@click.pass_context
def import_(ctx: click.Context, file: Path, *, dry_run: bool, trust: bool) -> int:
    """Import the archive FILE: shows what it contains, then imports it with its runs paused.

    A database that does not exist yet is created: quarterdeck import FILE --db new.db
    """
    db = _target(ctx, dry_run=dry_run)
    if db is not None:
        check_database(db)
    try:
        plan = plan_import(file, db, trust_list())
    except ImportRefused as error:
        fail("import_refused", str(error))
    if dry_run:
        emit(ctx, "import", _body(db, plan, dry_run=True), _lines(file, plan))
        return DONE
    assert db is not None
    for line in _lines(file, plan):
        say(line)
    state = fold_file(db) if db.exists() else State()
    allow_code(plan.references, state, db=db, path=file.resolve(), sha256=plan.sha256, trust=trust)
    command = ImportState(path=str(file.resolve()), sha256=plan.sha256)
    folder = None if state.team is None else Path(state.team.folder)
    with nullcontext() if is_alive(db) else bound_engine(db, "--without-code", folder=folder):
        silent = f"the engine has not answered within {TAKEN_WITHIN_S:.0f} s"
        outcome = perform(db, command, TAKEN_WITHIN_S, silent=silent)
    text = f"✓ {outcome.summary}, applied at seq {outcome.seq:,} (team {team_in(db)})"
    emit(ctx, "import", _body(db, plan, dry_run=False), text)
    if plan.creates["runs"]:
        db_option = f"--db {quote_path(db)}"
        say(f"its open runs are paused: quarterdeck runs --open {db_option}, then quarterdeck resume RUN {db_option}")
    return DONE


def _target(ctx: click.Context, *, dry_run: bool) -> Path | None:
    """Return the database to import into; a dry run needs none."""
    try:
        return database_of(ctx, changes=not dry_run)
    except CommandFailure as failure:
        if dry_run and failure.code == "no_database":
            return None
        raise


def _body(db: Path | None, plan: ImportPlan, *, dry_run: bool) -> dict[str, object]:
    fields = fields_of(plan, "creates needs_trust missing clashes")
    return {"dry_run": dry_run, **fields, **({} if db is None else team_fields(db))}


def _lines(file: Path, plan: ImportPlan) -> list[str]:
    """Return what an import would create, in words."""
    lines = [f"{file} brings {describe_archive(plan.creates)}"]
    unasked = [reference for reference in plan.needs_trust if reference.startswith(UNASKED)]
    code = [reference for reference in plan.needs_trust if reference not in unasked]
    lines += _titled_lines("it calls code that is not trusted yet:", code)
    lines += _titled_lines("its agents call tools that nobody is asked about, whatever their authors say:", unasked)
    if plan.missing:
        lines.append(
            f"code of it that is neither in {plan.folder} nor installed: {', '.join(map(clean, plan.missing))}; "
            "its agents cannot work until it is there"
        )
    lines += _titled_lines("names that are in use:", plan.clashes)
    lines += _titled_lines("functions that exist only in the program that defined them; swap their agents:", plan.bound)
    return lines


def _titled_lines(title: str, items: Sequence[str]) -> list[str]:
    return [title, *(f"  {clean(item)}" for item in items)] if items else []
