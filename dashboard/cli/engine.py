"""`engine`: be the engine of a database, in the foreground. `up` and `demo` start it as a process of its own."""

import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import click

from dashboard.cli.database import databases, given_database, made_data_folder
from dashboard.cli.output import DONE, INTERRUPTED, Settings, emit, fail, say
from dashboard.cli.trust import ensure_trusted
from engine.folding import folded
from engine.teamfile import TeamFile, read_team
from store import Durability


@click.command("engine")
@click.option("--team", metavar="TEAM", type=click.Path(path_type=Path), help="Load this team file first.")
@click.option("--trust", "trusting", is_flag=True, help="Trust the team file as it is now.")
@click.option("--takeover", is_flag=True, help="End an engine of this database that hangs, and take its place.")
@click.option(
    "--durability",
    type=click.Choice(["full", "normal"]),
    default="full",
    help="normal is faster; a power cut can lose the last moments.",
)
@click.option("--ready-fd", type=int, hidden=True)
@click.option("--while-fd", type=int, hidden=True)
@click.pass_context
def engine(
    ctx: click.Context, team: Path | None, *, trusting: bool, takeover: bool, durability: Durability,
    ready_fd: int | None, while_fd: int | None,
) -> int:  # fmt: skip
    """Run an engine until it is stopped.

    After a kill it needs nothing but the database, and goes on with what was open. SIGTERM and Ctrl-C end it cleanly, a
    second one at once.
    """
    file = None if team is None else read_team(team)
    if file is not None:
        ensure_trusted(file, allowed=trusting)
    db = _database(ctx, file)
    if file is None and ready_fd is None and not db.exists():
        fail("missing_file", f"{db} does not exist", "begin with a team: quarterdeck up TEAM")
    for descriptor in (ready_fd, while_fd):
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
    _go_to_folder(db, file)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")

    import anyio  # with the host, 0.2 s that wrong arguments do not cost

    from dashboard.cli.serving import Serving, Terms

    terms = Terms(
        db=db,
        load=None if file is None else file.load_command(trusted=True),
        takeover=takeover,
        durability=durability,
        while_fd=while_fd,
    )
    serving = Serving(terms, lambda: _announce(ctx, db, ready_fd))
    anyio.run(serving.serve)
    return INTERRUPTED if serving.ended_by is signal.SIGINT else DONE


def _announce(ctx: click.Context, db: Path, ready_fd: int | None) -> None:
    if ready_fd is not None:
        with suppress(BrokenPipeError):  # whoever started it did not wait
            os.write(ready_fd, b"up\n")
        os.close(ready_fd)
    elif ctx.ensure_object(Settings).json:
        emit(ctx, {"v": 1, "kind": "engine", "db": str(db), "pid": os.getpid()}, None)
    else:
        say(f"engine {os.getpid()} is at work on {db}; Ctrl-C ends it")


def _database(ctx: click.Context, file: TeamFile | None) -> Path:
    given = given_database(ctx)
    if given is not None:
        return given
    if file is not None:
        return made_data_folder() / f"{file.name}.db"
    idle = [each for each in databases() if not each.alive and each.error is None]
    if len(idle) != 1:
        listed = ", ".join(str(each.path) for each in idle) or "none is without an engine"
        fail("which_database", f"say which database: {listed}", "with --db FILE")
    return idle[0].path


def _go_to_folder(db: Path, file: TeamFile | None) -> None:
    """Run in the folder of the team, so that what its agents open by a relative name is the same each time."""
    folder = None if file is None else file.folder
    if folder is None and db.is_file() and db.stat().st_size:
        team = folded(db).team
        folder = None if team is None else Path(team.folder)
    if folder is not None:
        with suppress(OSError):
            os.chdir(folder)
