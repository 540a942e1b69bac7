"""`engine --hand-over`: the engine at work ends cleanly, and one that stands by goes on."""

import time

import click

from dashboard.cli.database import chosen_database
from dashboard.cli.ordering import client_on
from dashboard.cli.output import NO_ENGINE, REFUSED, emit, fail
from engine.core.commands import HandOver
from store import EngineInfo, Reader

ANSWER_WITHIN_S = 10.0
BACK_WITHIN_S = 30.0


def hand_over(ctx: click.Context, grace_s: float) -> None:
    """Have the engine hand over, and return once another is at work.

    Raises:
        Failure: If none is at work, none stands by, or none took over.
    """
    db = chosen_database(ctx)
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
            fail(outcome.code or "refused", outcome.reason or "the engine refused to hand over", "", REFUSED)
        if outcome.status == "pending":
            fail("no_answer", f"the engine {engine.pid} does not answer", f"end it with: kill {engine.pid}", NO_ENGINE)
        after = _next(reader, engine)
    if after is None:
        hint = f"start one: quarterdeck engine --db {db}"
        fail("no_engine", f"the engine {engine.pid} has ended, and none that stood by took over", hint, NO_ENGINE)
    body = {
        "v": 1,
        "kind": "outcome",
        "command_id": outcome.command_id,
        "status": "applied",
        "seq": outcome.seq,
        "reason": None,
    }
    emit(ctx, body, f"engine {engine.pid} handed over to engine {after.pid} in {time.monotonic() - began_s:.1f} s")


def _next(reader: Reader, before: EngineInfo) -> EngineInfo | None:
    """Wait for the engine after one; None when there is none in time, and nobody stands by any more."""
    deadline = time.monotonic() + BACK_WITHIN_S
    while time.monotonic() < deadline:
        now = reader.engine()
        if now is not None and now.alive and now.token > before.token:
            return now
        time.sleep(0.02)
    return None
