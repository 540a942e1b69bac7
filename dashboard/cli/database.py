"""Finds the database that a subcommand works on, and lists databases.

Rule: a team is changed only if it was named, by `--db`, QUARTERDECK_DB or the current folder. The only running team is
read without being named, and changed after a confirmation.
"""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from dashboard.clean import clean
from dashboard.cli.printing.output import CommandFailure, OutputSettings, fail, is_interactive, is_json, quote_path, say
from dashboard.engines.process import is_alive
from dashboard.reading.databases import DatabaseInfo, databases, databases_in, folders_to_search
from dashboard.user.typed_paths import expand_path
from dashboard.views.words.amounts import pluralize
from engine.core.errors import CoreError
from engine.core.events import CommandApplied
from engine.core.state import State
from engine.platform import folders
from engine.reading.folding import events_of, fold_file, fold_from
from store import Reader, StoreError, check_place
from store.layout.files import Files

if TYPE_CHECKING:
    from engine.teamfile import TeamFile

DB_VARIABLE = "QUARTERDECK_DB"
TEAM_FILE = "team.yaml"
"""A folder with a team file of this name means that team."""


def data_folder() -> Path:
    """Return the folder of this user's databases and trust list; it may not exist yet."""
    try:
        return folders.data_folder()
    except folders.NoHome:
        fail("no_home", "this user has no home folder", "set XDG_DATA_HOME or give --db")


def ensure_data_folder() -> Path:
    """Return the data folder; create it if it is missing."""
    folder = data_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        fail("no_data_folder", f"{folder} cannot be made ({error.strerror})", "set XDG_DATA_HOME or give --db")
    return folder


def database_of(ctx: click.Context, *, changes: bool) -> Path:
    """Return the database that a subcommand works on.

    It is the one of `--db`, else of QUARTERDECK_DB, else of the current folder or the nearest folder above it, else the
    only one with an engine at work. With `changes` a person confirms the last choice.
    """
    path = explicit_database(ctx) or _database_here()
    if path is None:
        candidates = databases(data_folder())
        running = [database for database in candidates if database.alive]
        if len(running) != 1:
            _fail_to_choose(running, [database for database in candidates if database.error is None])
        path = running[0].path
        _confirm_only_team(ctx, path, changes=changes)
    ctx.ensure_object(OutputSettings).database = path
    return path


def explicit_database(ctx: click.Context) -> Path | None:
    """Return the absolute path from `--db` or QUARTERDECK_DB, if either is given."""
    db = ctx.ensure_object(OutputSettings).db
    if db is None and os.environ.get(DB_VARIABLE):
        db = Path(os.environ[DB_VARIABLE])
    return None if db is None else expand_path(db).absolute()


def database_of_file(team: Path) -> Path | None:
    """Return the database that `up` made for a team file, even if its supervisor had another name then."""
    return next(iter(sorted(data_folder().glob(f"*-{path_digest(team)}.db"))), None)


def team_file_here() -> Path:
    """Return the team file of the current folder."""
    path = Path(TEAM_FILE)
    if not path.is_file():
        fail("usage", f"there is no {TEAM_FILE} in this folder", "name a team file, or write one: quarterdeck init")
    return path


def team_database(ctx: click.Context, file: "TeamFile") -> Path:
    """Return the database of a team file, which may not exist yet. Files with equal team names have different ones."""
    db = explicit_database(ctx) or database_of_file(file.path)
    if db is None:
        db = data_folder() / f"{file.name}-{path_digest(file.path)}.db"
        Files.of(db)
        ensure_data_folder()
    check_database(db)
    ctx.ensure_object(OutputSettings).database = db
    return db


def check_database(db: Path) -> None:
    """Check that an engine works on a database, or could; create nothing.

    Raises:
        StoreError: If no engine could work on it.
    """
    if not is_alive(db):
        check_place(db)


def path_digest(path: Path) -> str:
    """Return the first 8 hex digits of the hash of a real path."""
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:8]


def add_team(failure: CommandFailure, db: Path) -> CommandFailure:
    """Add the team of a database to a failure, except to wrong usage."""
    try:
        state = fold_file(db)
    except (StoreError, CoreError):
        return failure  # the file cannot be read, and the failure names it already
    if not state.roots or failure.code == "usage":
        return failure
    about = {**team_fields(db, state), **failure.about}
    failure.about = about
    return failure


def team_fields(db: Path, state: State | None = None) -> dict[str, str]:
    """Return the JSON fields that name the database and its team."""
    return {"db": str(db), "team": team_in(db, state)}


def team_in(db: Path, state: State | None = None) -> str:
    """Return the name of the team in a database: that of its supervisor at the top, else that of the file."""
    try:
        roots = (fold_file(db) if state is None else state).roots
    except StoreError:
        roots = []
    return roots[0].name if roots else db.stem


def _database_here() -> Path | None:
    """Return the database that the current folder determines, or the nearest folder above it that determines one."""
    for folder in folders_to_search():
        ours = databases_in(folder)
        if len(ours) == 1:
            return ours[0]
        is_team = (folder / TEAM_FILE).is_file()
        path = database_of_file(folder / TEAM_FILE) if is_team else None
        if path is not None or (is_team and not ours):
            return path  # a team that was never started ends the search too: a folder above stands for another one
        if ours:
            listed = [_database_line(path) for path in ours]
            fail("which_database", f"{folder} holds {len(ours)} databases; say which with --db FILE:", details=listed)
    return None


def _confirm_only_team(ctx: click.Context, db: Path, *, changes: bool) -> None:
    """Report that the only live team is used; before a change, ask for confirmation."""
    if not changes:
        if not is_json(ctx):  # there the answer says it
            say(f"the only team that is up: {team_in(db)} ({db})")
    elif not is_interactive():
        reason = f"no team was named, so nothing was changed; the only one that is up is {team_in(db)}"
        fail("which_database", reason, f"to change it: --db {quote_path(db)}")
    else:
        click.confirm(f"No team was named. Change {clean(team_in(db))} ({clean(str(db))})?", abort=True, err=True)


def _fail_to_choose(running: list[DatabaseInfo], usable: list[DatabaseInfo]) -> NoReturn:
    file = next((path for folder in folders_to_search() if (path := folder / TEAM_FILE).is_file()), None)
    if file is not None and not running:
        fail("never_up", f"the team of {file} was never started", f"start it: quarterdeck up {quote_path(file)}")
    if not usable:
        hint = "see one at work: quarterdeck demo; or begin your own: quarterdeck init"
        fail("no_database", "there is no team yet", hint)
    reason = f"{pluralize(len(running), 'engine is', 'engines are')} at work" if running else "no engine is at work"
    listed = [_database_line(database.path, database.state) for database in (running or usable)]
    fail("which_database", f"{reason}; say which with --db FILE:", details=listed)


def _database_line(db: Path, *details: str) -> str:
    """Return one line for a list of databases to choose from."""
    return "  " + "  ".join(clean(text) for text in (str(db), *details, _origin(db)) if text)


def _origin(db: Path) -> str:
    """Return the team of a database and where it came from, to tell teams of one name apart."""
    try:
        with Reader(db) as reader:
            state = fold_from(reader)
            first_events = events_of(reader.records(0, 1, kinds=("command_applied",)))
    except (StoreError, CoreError):
        return ""
    if not state.roots:
        return "no team"
    name = f"team {team_in(db, state)}"
    if state.team is not None:
        return f"{name} of {state.team.path}"
    senders = [event.sender for event in first_events if isinstance(event, CommandApplied)]
    _, _, program = "".join(senders).partition(" ")  # at most one, such as `ann@box:4711 python crew.py`
    return f"{name}, made by {program}" if program else name
