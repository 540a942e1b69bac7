"""Ends the running engine cleanly: for good with `stop`, or so that a standby engine takes over."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import click

from dashboard.cli.database import database_of, team_in
from dashboard.cli.printing.output import NO_ENGINE, emit, fail, quote_path
from dashboard.cli.sending import check_outcome, client_on, outcome_body, perform
from dashboard.engines.process import engine_at_work, is_alive, poll, start_engine
from engine.core.commands import HandOver, StopEngine
from engine.supervisor.client import CommandReply
from store import EngineInfo, Reader
from store.leadership.standbys import standbys as standbys_of

ANSWER_WITHIN_S = 10.0
END_WITHIN_S = 30.0
STANDBYS_END_WITHIN_S = 3.0


@click.command("stop")
@click.pass_context
def stop(ctx: click.Context) -> None:
    """End the engine cleanly, and those on standby. Open work continues when an engine starts again."""
    db = database_of(ctx, changes=True)
    with Reader(db) as reader:
        engine, standbys = reader.engine(), reader.standbys()
    if engine is None or not engine.alive:
        fail("no_engine", f"no engine is at work on {db}", "list what there is: quarterdeck doctor", NO_ENGINE)
    if engine.hung and engine.no_room:
        fail("no_answer", f"the engine {engine.pid} has no room to write {db}", "free some space", NO_ENGINE)
    if engine.hung:
        hint = f"end it with: kill -9 {engine.pid}; nothing that was acknowledged is lost"
        fail("no_answer", f"the engine {engine.pid} hangs", hint, NO_ENGINE)
    outcome = client_on(db).perform(StopEngine(token=engine.token), ANSWER_WITHIN_S)
    if outcome.status == "refused":
        check_outcome(outcome, "", "")
    if not poll(lambda: not is_alive(db), timeout_s=END_WITHIN_S if outcome.status == "applied" else 0):
        problem = "does not answer" if outcome.status == "pending" else f"has not ended within {END_WITHIN_S:.0f} s"
        fail("no_answer", f"the engine {engine.pid} {problem}", f"end it with: kill {engine.pid}", NO_ENGINE)
    # Without those that hang, which end as they wake.
    poll(lambda: all(standby.hung for standby in standbys_of(db)), timeout_s=STANDBYS_END_WITHIN_S)
    body = {**outcome_body(db, outcome), "status": "applied"}  # it has ended, also where it could not say so
    pids = ", ".join(str(standby.pid) for standby in standbys)
    standbys_text = f", and so {'has' if len(standbys) == 1 else 'have'} {pids} that stood by" if standbys else ""
    text = f"engine {engine.pid} of team {team_in(db)} has ended{standbys_text}"
    emit(ctx, "outcome", body, f"{text}; start it again with: quarterdeck engine --db {quote_path(db)}")


GRACE_S = 2.0
"""How long work may go on to the end of its step."""
BACK_WITHIN_S = 30.0


def hand_over(ctx: click.Context, grace_s: float) -> None:
    """Have the engine hand over, and print when the next one is at work."""
    db = database_of(ctx, changes=True)
    began_s = time.monotonic()
    previous, successor, outcome = perform_hand_over(db, grace_s)
    duration_text = f"in {time.monotonic() - began_s:.1f} s (team {team_in(db)})"
    text = f"engine {previous.pid} handed over to engine {successor.pid} {duration_text}"
    emit(ctx, "outcome", outcome_body(db, outcome), text)


@contextmanager
def standing_by(db: Path, folder: Path) -> Iterator[None]:
    """Run a fresh standby for the block, to which the engine can hand over, such as to load changed code.

    A process cannot unload code that it has imported. Without a hand-over the standby ends and the engine goes on.
    """
    standby = start_engine(db, "--standby", folder=folder)
    try:
        yield
    finally:
        engine = engine_at_work(db)
        if engine is not None and engine.pid != standby.process.pid:
            standby.end()  # the engine did not hand over, or handed over to an older standby
        else:
            standby.leave()


def perform_hand_over(db: Path, grace_s: float) -> tuple[EngineInfo, EngineInfo, CommandReply]:
    """Have the engine hand over; return it, its successor, and the outcome of the command.

    Raises:
        Failure: If no engine is at work, none stands by, or none took over.
    """
    with Reader(db) as reader:
        engine = reader.engine()
        if engine is None or not engine.alive:
            hint = f"start one: quarterdeck engine --db {quote_path(db)}"
            fail("no_engine", f"no engine is at work on {db}", hint, NO_ENGINE)
        if engine.hung:
            hint = f"take over from it: quarterdeck engine --takeover --db {quote_path(db)}"
            fail("no_answer", f"the engine {engine.pid} hangs and cannot hand over", hint, NO_ENGINE)
        silent, hint = f"the engine {engine.pid} does not answer", f"end it with: kill {engine.pid}"
        command = HandOver(token=engine.token, grace_s=grace_s)
        outcome = perform(db, command, ANSWER_WITHIN_S + grace_s, silent=silent, hint=hint)
        successor = poll(partial(_successor_of, engine, reader), timeout_s=BACK_WITHIN_S)
    if successor is None:
        hint = f"start one: quarterdeck engine --db {quote_path(db)}"
        fail("no_engine", f"the engine {engine.pid} has ended, and none that stood by took over", hint, NO_ENGINE)
    return engine, successor, outcome


def _successor_of(previous: EngineInfo, reader: Reader) -> EngineInfo | None:
    engine = reader.engine()
    return engine if engine is not None and engine.alive and engine.token > previous.token else None
