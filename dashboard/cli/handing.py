"""`engine --hand-over`: the engine at work ends cleanly, and one that stands by goes on."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dashboard.cli.database import database_of, team_in
from dashboard.cli.ordering import client_on, fail_refused, outcome_body
from dashboard.cli.output import NO_ENGINE, emit, fail
from dashboard.client import Outcome
from dashboard.process import end, leave, start_engine, wait_until_up
from engine.core.commands import HandOver
from store import EngineInfo, Reader

GRACE_S = 2.0
"""How long work may go on to the end of its step."""
ANSWER_WITHIN_S = 10.0
BACK_WITHIN_S = 30.0


def hand_over(ctx: click.Context, grace_s: float) -> None:
    """Have the engine hand over, and say so once another is at work.

    Raises:
        Failure: As `handed_over`.
    """
    db = database_of(ctx, changes=True)
    began_s = time.monotonic()
    before, after, outcome = handed_over(db, grace_s)
    took = f"in {time.monotonic() - began_s:.1f} s (team {team_in(db)})"
    emit(ctx, outcome_body(db, outcome), f"engine {before.pid} handed over to engine {after.pid} {took}")


@contextmanager
def standing_by(db: Path, folder: Path) -> Iterator[None]:
    """Have a fresh process stand by for the block, such as one that loads other code and then has the engine hand over.

    An engine that has imported code keeps it for as long as it lasts. Where nothing was handed over, it goes on.
    """
    standby = start_engine(db, folder=folder, standby=True)
    try:
        wait_until_up(standby)
        yield
    finally:
        with Reader(db) as reader:
            engine = reader.engine()
        if engine is not None and engine.alive and engine.pid != standby.process.pid:
            end(standby)  # not needed: nobody handed over, or to another that stood by before
        else:
            leave(standby)


def handed_over(db: Path, grace_s: float) -> tuple[EngineInfo, EngineInfo, Outcome]:
    """Have the engine hand over, and return it, the one that is at work then, and the outcome of the command.

    Raises:
        Failure: If none is at work, none stands by, or none took over.
    """
    with Reader(db) as reader:
        engine = reader.engine()
        if engine is None or not engine.alive:
            fail("no_engine", f"no engine is at work on {db}", f"start one: quarterdeck engine --db {db}", NO_ENGINE)
        if engine.hung:
            hint = f"take over from it: quarterdeck engine --takeover --db {db}"
            fail("no_answer", f"the engine {engine.pid} hangs and cannot hand over", hint, NO_ENGINE)
        with client_on(db) as client:
            command = HandOver(token=engine.token, grace_s=grace_s)
            outcome = client.perform(command, ANSWER_WITHIN_S + grace_s)
        if outcome.status == "refused":
            fail_refused(outcome)
        if outcome.status == "pending":
            fail("no_answer", f"the engine {engine.pid} does not answer", f"end it with: kill {engine.pid}", NO_ENGINE)
        after = _next(reader, engine)
    if after is None:
        hint = f"start one: quarterdeck engine --db {db}"
        fail("no_engine", f"the engine {engine.pid} has ended, and none that stood by took over", hint, NO_ENGINE)
    return engine, after, outcome


def _next(reader: Reader, before: EngineInfo) -> EngineInfo | None:
    """Wait for the engine after one; None when there is none in time, and nobody stands by any more."""
    deadline = time.monotonic() + BACK_WITHIN_S
    while time.monotonic() < deadline:
        now = reader.engine()
        if now is not None and now.alive and now.token > before.token:
            return now
        time.sleep(0.02)
    return None
