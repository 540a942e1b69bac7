"""`engine`: run the engine of a database in the foreground. `up` and `demo` start it as a separate process."""

import logging
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from dashboard.cli.database import database_of, team_database, team_fields
from dashboard.cli.engines.engine_options import EngineOptions, takes_engine_options
from dashboard.cli.engines.stop import GRACE_S, hand_over
from dashboard.cli.engines.up import check_same_team, confirm_load, is_loaded, merge_options, plan_load, state_of
from dashboard.cli.printing.output import DONE, INTERRUPTED, emit, fail, is_json, say
from dashboard.cli.printing.times import FiniteRange
from dashboard.cli.trust import ensure_trusted
from dashboard.engines.process import Announcer
from engine.core.commands import Winner
from engine.core.records.records import copy_with


@click.command("engine")
@click.option("--team", metavar="TEAM", type=click.Path(path_type=Path), help="Load this team file first.")
@click.option("--trust", "trusting", is_flag=True, help="Trust the team file as it is now.")
@merge_options
@takes_engine_options
@click.option(
    "--hand-over", "handing_over", is_flag=True, help="Let the running engine end, and a standby engine take over."
)
@click.option(
    "--grace",
    metavar="SECONDS",
    type=FiniteRange(min=0, max=600),
    help="With --hand-over: how long work may run on to the end of its step; by default 2.",
)
@click.pass_context
def engine(
    ctx: click.Context,
    /,
    team: Path | None,
    *,
    trusting: bool,
    prune: bool,
    keep: bool,
    on_conflict: Winner,
    handing_over: bool,
    grace: float | None,
    **values: Any,
) -> int:
    """Run an engine until it is stopped.

    After a kill it needs nothing but the database, and goes on with what was open. SIGTERM and Ctrl-C end it cleanly, a
    second one at once.

    With --standby it waits beside the engine at work and takes over when that one is gone, whatever ended it; only
    'quarterdeck stop' stops the whole team, and ends those that stand by too.
    """
    options = EngineOptions(**values)
    _check_options(options, has_team=team is not None, handing_over=handing_over, grace=grace)
    if handing_over:
        hand_over(ctx, GRACE_S if grace is None else grace)
        return DONE
    code = None
    if team is not None:
        from engine.teamfile.code import TeamCode  # pydantic and yaml, which an engine needs for nothing else

        code = TeamCode.read(team)
    db = database_of(ctx, changes=True) if code is None else team_database(ctx, code.team)
    is_empty = db.is_file() and not db.stat().st_size
    if code is None and options.ready_fd is None and not options.standby and (is_empty or not db.exists()):
        text = "is empty" if is_empty else "does not exist"
        fail("missing_file", f"{db} {text}", "begin with a team: quarterdeck up TEAM")
    for descriptor in (options.ready_fd, options.while_fd):
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
    announcer = None if options.ready_fd is None else Announcer(options.ready_fd)
    state = state_of(db)
    load = None
    if code is not None:
        ensure_trusted(code, allowed=trusting, db=db, state=state)
        load = copy_with(code.team.load_command(), on_conflict=on_conflict)
        check_same_team(ctx, db, state, Path(load.path))
        if state.seq and not is_loaded(state, load, code.digests):
            load = confirm_load(ctx, db, load, plan_load(state, load, code.digests), prune=prune, keep=keep)
    folder = code.team.folder if code is not None else None if state.team is None else state.team.folder
    if folder is not None:
        with suppress(OSError):  # so that relative names in its agents mean the same each time
            os.chdir(folder)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")

    from dashboard.cli.engines.engine_process import EngineProcess, refuse_code_elsewhere  # with the host: 0.2 s

    if not (options.standby or options.without_code):
        refuse_code_elsewhere(state, db)
    serving = EngineProcess(
        db,
        options,
        partial(_announce, ctx, db, announcer),
        load=load,
        digests={} if code is None else code.digests,
        as_json=is_json(ctx),
    )
    serving.run()
    if serving.team_was_stopped:
        say(f"the team was stopped: engine {os.getpid()} no longer stands by")
    elif options.standby and serving.ended_waiting and serving.ended_by is not None:
        say(f"engine {os.getpid()} no longer stands by ({serving.ended_by.name})")
    return INTERRUPTED if serving.ended_by is signal.SIGINT else DONE


def _check_options(options: EngineOptions, *, has_team: bool, handing_over: bool, grace: float | None) -> None:
    """Refuse options that exclude each other."""
    others = options.takeover or has_team
    for wrong, problem in (
        (
            options.standby and (handing_over or others),
            "--standby needs nothing but the database: give it without --team, --takeover, --hand-over",
        ),
        (handing_over and others, "--hand-over is for the engine at work: give it without --team and --takeover"),
        (options.takeover_after is not None and not options.standby, "--takeover-after goes with --standby"),
        (grace is not None and not handing_over, "--grace goes with --hand-over"),
    ):
        if wrong:
            raise click.UsageError(problem)


def _announce(ctx: click.Context, db: Path, announcer: Announcer | None, kind: str, did: str) -> None:
    """Report that the engine is up or on standby: to the pipe of its starter, as JSON, or as text."""
    if announcer is not None and not announcer.is_up:
        announcer.up()
    elif is_json(ctx):
        emit(ctx, kind, {**team_fields(db), "pid": os.getpid()}, None)
    else:
        say(f"engine {os.getpid()} {did} on {db}; Ctrl-C ends it")
