"""`replay`: replay a finished run; nothing is called and nothing is written.

With `--with-model` it goes on from a step, in a file of its own: see `replay_with_model.py`.
"""

from dataclasses import asdict
from pathlib import Path

import anyio
import click

from dashboard.cli.database import database_of
from dashboard.cli.printing.output import DONE, WORK_FAILED, TextTable, emit, fail
from dashboard.cli.replay_with_model import one_line, rerun_with_model
from dashboard.cli.trust import trust_list
from dashboard.reading.replayed import describe_replay
from engine.core.queries.targets import id_in
from engine.errors import OpenRun, UnknownRun, Unusable
from engine.history.replaying import Replay
from engine.history.replaying import replay as replayed

_MAX_CHARACTERS = 70


@click.command("replay")
@click.argument("run_id", metavar="RUN")
@click.option("--code", is_flag=True, help="Call the functions of function agents too.")
@click.option("--with-model", metavar="NAME", help="Let it go on with another model, from --from, in --into.")
@click.option("--from", "step", metavar="TASK/STEP", help="The step of a model that is asked again.")
@click.option("--into", metavar="NEW.db", type=click.Path(path_type=Path), help="The new database.")
@click.pass_context
def replay(
    ctx: click.Context, run_id: str, *, code: bool, with_model: str | None, step: str | None, into: Path | None
) -> int:
    """Walk through the finished RUN again without any call, and say which step would differ first.

    With --with-model it goes on from a step with another model, in a new database, and both are shown step by step.
    """
    db, run_id = database_of(ctx, changes=False), id_in(run_id)
    options = (with_model, step, into)
    if any(option is not None for option in options):
        if with_model is None or step is None or into is None:
            fail("usage", "--with-model, --from and --into belong together", "give all three")
        return rerun_with_model(ctx, db, run_id, model=with_model, step=step, into=into)
    try:
        replay = anyio.run(lambda: replayed(db, run_id, code=code, allowed=trust_list()))
    except OpenRun as error:
        fail("unknown_work", str(error), f"wait for it: quarterdeck result {run_id} --wait")
    except UnknownRun:
        fail("unknown_work", f"no run {run_id!r} has ended here", "list them: quarterdeck runs")
    except Unusable as unusable:
        fail("unusable", unusable.reason)
    differs = None if replay.differs is None else asdict(replay.differs)
    body = {"run_id": replay.run_id, "steps": replay.steps, "differs": differs}
    emit(ctx, "replay", body, lambda: _format_replay(replay))
    return DONE if replay.differs is None else WORK_FAILED


def _format_replay(replay: Replay) -> list[str]:
    difference = replay.differs
    table = (
        ()
        if difference is None
        else TextTable(
            ("WAS", "NOW"), [(one_line(difference.was, _MAX_CHARACTERS), one_line(difference.now, _MAX_CHARACTERS))]
        ).lines()
    )
    return [describe_replay(replay), *table]
