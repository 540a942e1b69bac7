"""`engine --hand-over`: the engine at work ends cleanly, and one that stands by goes on."""

import time

import click

from dashboard.cli.database import database_of, team_in
from dashboard.cli.ordering import client_on, fail_refused, outcome_body
from dashboard.cli.output import NO_ENGINE, emit, fail
from engine.core.commands import HandOver
from store import EngineInfo, Reader

ANSWER_WITHIN_S = 10.0
BACK_WITHIN_S = 30.0


def hand_over(ctx: click.Context, grace_s: float) -> None:
    """Have the engine hand over, and return once another is at work.

    Raises:
        Failure: If none is at work, none stands by, or none took over.
    """
    db = database_of(ctx, changes=True)
    with Reader(db) as reader:
        engine = reader.engine()
        if engine is None or not engine.alive:
            fail("no_engine", f"no engine is at work on {db}", f"start one: quarterdeck engine --db {db}", NO_ENGINE)
        if engine.hung:
            hint = f"take over from it: quarterdeck engine --takeover --db {db}"
            fail("no_answer", f"the engine {engine.pid} hangs and cannot hand over", hint, NO_ENGINE)
        began_s = time.monotonic()
        with client_on(db) as client:
            command = HandOver(token=engine.token, grace_s=grace_s)
            outcome = client.perform(command, ANSWER_WITHIN_S + grace_s)
        if outcome.status == "refused":
            fail_refused(db, outcome)
        if outcome.status == "pending":
            fail("no_answer", f"the engine {engine.pid} does not answer", f"end it with: kill {engine.pid}", NO_ENGINE)
        after = _next(reader, engine)
    if after is None:
        hint = f"start one: quarterdeck engine --db {db}"
        fail("no_engine", f"the engine {engine.pid} has ended, and none that stood by took over", hint, NO_ENGINE)
    took = f"in {time.monotonic() - began_s:.1f} s (team {team_in(db)})"
    emit(ctx, outcome_body(db, outcome), f"engine {engine.pid} handed over to engine {after.pid} {took}")


def _next(reader: Reader, before: EngineInfo) -> EngineInfo | None:
    """Wait for the engine after one; None when there is none in time, and nobody stands by any more."""
    deadline = time.monotonic() + BACK_WITHIN_S
    while time.monotonic() < deadline:
        now = reader.engine()
        if now is not None and now.alive and now.token > before.token:
            return now
        time.sleep(0.02)
    return None
