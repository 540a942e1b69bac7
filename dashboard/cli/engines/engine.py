"""`engine`: run the engine of a database in the foreground. `up` and `demo` start it as a separate process."""

import logging
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dashboard.cli.database import database_of, team_database, team_fields
from dashboard.cli.engines.stop import GRACE_S, hand_over
from dashboard.cli.engines.up import check_same_team, confirm_load, is_loaded, merge_options, plan_load
from dashboard.cli.printing.output import DONE, INTERRUPTED, OutputSettings, emit, fail, say
from dashboard.cli.printing.times import FiniteRange
from dashboard.cli.trust import ensure_trusted, trust_list
from dashboard.engines.process import Announcer
from engine.core.commands import LoadTeam, Winner
from engine.core.records.records import copy_with
from engine.core.state import State
from engine.reading.folding import fold_file
from store import Durability

if TYPE_CHECKING:
    from dashboard.cli.engines.engine_process import EngineOptions
    from engine.teamfile.code import TeamCode


@click.command("engine")
@click.option("--team", metavar="TEAM", type=click.Path(path_type=Path), help="Load this team file first.")
@click.option("--trust", "trusting", is_flag=True, help="Trust the team file as it is now.")
@merge_options
@click.option("--takeover", is_flag=True, help="End an engine of this database that hangs, and take its place.")
@click.option("--standby", is_flag=True, help="Wait, and take over when the running engine is gone.")
@click.option(
    "--takeover-after",
    metavar="SECONDS",
    type=FiniteRange(min=3),
    help="With --standby: also take over from an engine that has been silent for so long; 3 or more.",
)
@click.option(
    "--hand-over", "handing_over", is_flag=True, help="Let the running engine end, and a standby engine take over."
)
@click.option(
    "--grace",
    metavar="SECONDS",
    type=FiniteRange(min=0, max=600),
    help="With --hand-over: how long work may run on to the end of its step; by default 2.",
)
@click.option(
    "--durability",
    type=click.Choice(["full", "normal"]),
    default="full",
    help="normal is faster; a power cut can lose the last moments.",
)
@click.option(
    "--without-code", is_flag=True, help="Start although agents need code of the program that made them; those wait."
)
@click.option(
    "--accept-loss",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    help="Start although N acknowledged events are missing at the end of the database; doctor counts them.",
)
@click.option("--ready-fd", type=int, hidden=True)
@click.option("--while-fd", type=int, hidden=True)
@click.pass_context
def engine(
    ctx: click.Context,
    team: Path | None,
    *,
    trusting: bool,
    prune: bool,
    keep: bool,
    on_conflict: Winner,
    takeover: bool,
    standby: bool,
    takeover_after: float | None,
    handing_over: bool,
    grace: float | None,
    durability: Durability,
    accept_loss: int,
    without_code: bool,
    ready_fd: int | None,
    while_fd: int | None,
) -> int:
    """Run an engine until it is stopped.

    After a kill it needs nothing but the database, and goes on with what was open. SIGTERM and Ctrl-C end it cleanly, a
    second one at once.

    With --standby it waits beside the engine at work and takes over when that one is gone, whatever ended it; only
    'quarterdeck stop' stops the whole team, and ends those that stand by too.
    """
    _check_options(
        standby=standby,
        handing_over=handing_over,
        others=takeover or team is not None,
        takeover_after=takeover_after,
        grace=grace,
    )
    if handing_over:
        hand_over(ctx, GRACE_S if grace is None else grace)
        return DONE
    code = None
    if team is not None:
        from engine.teamfile.code import TeamCode  # pydantic and yaml, which an engine needs for nothing else

        code = TeamCode.read(team)
    db = database_of(ctx, changes=True) if code is None else team_database(ctx, code.team)
    is_empty = db.is_file() and not db.stat().st_size
    if code is None and ready_fd is None and not standby and (is_empty or not db.exists()):
        text = "is empty" if is_empty else "does not exist"
        fail("missing_file", f"{db} {text}", "begin with a team: quarterdeck up TEAM")
    for descriptor in (ready_fd, while_fd):
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
    announcer = None if ready_fd is None else Announcer(ready_fd)
    state = fold_file(db) if db.is_file() and not is_empty else None
    load = None
    if code is not None:
        ensure_trusted(code, allowed=trusting, db=db, state=state or State())
        load = _load_of(ctx, db, code, state, prune=prune, keep=keep, on_conflict=on_conflict)
    _enter(code.team.folder if code is not None else None if state is None or state.team is None else state.team.folder)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")

    from dashboard.cli.engines.engine_process import EngineOptions, refuse_code_elsewhere  # with the host: 0.2 s

    if state is not None and not (standby or without_code):
        refuse_code_elsewhere(state, db)
    terms = EngineOptions(
        db=db,
        load=load,
        digests={} if code is None else code.digests,
        allowed=trust_list(),
        takeover=takeover,
        durability=durability,
        while_fd=while_fd,
        standby=standby,
        takeover_after_s=takeover_after,
        json=ctx.ensure_object(OutputSettings).json,
        accept_loss=accept_loss,
        without_code=without_code,
    )
    return _serve(ctx, terms, announcer)


def _check_options(
    *, standby: bool, handing_over: bool, others: bool, takeover_after: float | None, grace: float | None
) -> None:
    """Refuse options that exclude each other; `others` says whether --team or --takeover is given."""
    for wrong, problem in (
        (
            standby and (handing_over or others),
            "--standby needs nothing but the database: give it without --team, --takeover, --hand-over",
        ),
        (handing_over and others, "--hand-over is for the engine at work: give it without --team and --takeover"),
        (takeover_after is not None and not standby, "--takeover-after goes with --standby"),
        (grace is not None and not handing_over, "--grace goes with --hand-over"),
    ):
        if wrong:
            raise click.UsageError(problem)


def _load_of(
    ctx: click.Context,
    db: Path,
    code: "TeamCode",
    state: State | None,
    *,
    prune: bool,
    keep: bool,
    on_conflict: Winner,
) -> LoadTeam:
    """Return the command that loads the team file, once changes of an existing team are confirmed."""
    load = copy_with(code.team.load_command(), on_conflict=on_conflict)
    if state is not None:
        check_same_team(ctx, db, state, Path(load.path))
        if not is_loaded(state, load, code.digests):
            return confirm_load(ctx, db, load, plan_load(state, load, code.digests), prune=prune, keep=keep)
    return load


def _enter(folder: str | Path | None) -> None:
    """Make the team's folder the working directory, so that relative names in its agents mean the same each time."""
    if folder is not None:
        with suppress(OSError):
            os.chdir(folder)


def _serve(ctx: click.Context, terms: "EngineOptions", announcer: Announcer | None) -> int:
    """Run the engine until it ends, and return the exit status."""
    from dashboard.cli.engines.engine_process import EngineProcess  # as above

    def at_work() -> None:
        before = serving.took_over_from
        did = "is at work" if before is None else f"took over from engine {before} and is at work"
        _announce(ctx, terms.db, None if terms.standby else announcer, "engine", did)

    serving = EngineProcess(terms, at_work, lambda: _announce(ctx, terms.db, announcer, "standby", "stands by"))
    serving.run()
    if serving.team_was_stopped:
        say(f"the team was stopped: engine {os.getpid()} no longer stands by")
    elif terms.standby and serving.ended_waiting and serving.ended_by is not None:
        say(f"engine {os.getpid()} no longer stands by ({serving.ended_by.name})")
    return INTERRUPTED if serving.ended_by is signal.SIGINT else DONE


def _announce(ctx: click.Context, db: Path, announcer: Announcer | None, kind: str, did: str) -> None:
    """Report that the engine is up or on standby: to the pipe of its starter, as JSON, or as text."""
    if announcer is not None:
        announcer.up()
    elif ctx.ensure_object(OutputSettings).json:
        emit(ctx, {"v": 1, "kind": kind, **team_fields(db), "pid": os.getpid()}, None)
    else:
        say(f"engine {os.getpid()} {did} on {db}; Ctrl-C ends it")
