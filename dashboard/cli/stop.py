"""`stop`: end the engine cleanly; open runs go on when the next one starts."""

import time
from pathlib import Path

import click

from dashboard.cli.database import database_of, team_in
from dashboard.cli.ordering import client_on, fail_refused, outcome_body
from dashboard.cli.output import NO_ENGINE, emit, fail
from dashboard.process import wait_until_gone
from engine.core.commands import StopEngine
from store import Reader
from store.standbys import standbys as standbys_of

ANSWER_WITHIN_S = 10.0
END_WITHIN_S = 30.0
STANDBYS_END_WITHIN_S = 3.0


@click.command("stop")
@click.pass_context
def stop(ctx: click.Context) -> None:
    """End the engine cleanly, and those that stand by. What is open goes on when an engine starts again."""
    db = database_of(ctx, changes=True)
    with Reader(db) as reader:
        engine, standbys = reader.engine(), reader.standbys()
    if engine is None or not engine.alive:
        fail("no_engine", f"no engine is at work on {db}", "list what there is: quarterdeck doctor", NO_ENGINE)
    if engine.hung:
        hint = f"end it with: kill -9 {engine.pid}; nothing that was acknowledged is lost"
        fail("no_answer", f"the engine {engine.pid} hangs", hint, NO_ENGINE)
    with client_on(db) as client:
        outcome = client.perform(StopEngine(token=engine.token), ANSWER_WITHIN_S)
    if outcome.status == "refused":
        fail_refused(outcome)
    if not wait_until_gone(db, timeout_s=END_WITHIN_S if outcome.status == "applied" else 0):
        did = "does not answer" if outcome.status == "pending" else f"has not ended within {END_WITHIN_S:.0f} s"
        fail("no_answer", f"the engine {engine.pid} {did}", f"end it with: kill {engine.pid}", NO_ENGINE)
    _wait_for_standbys(db)
    body = {**outcome_body(db, outcome), "status": "applied"}  # it has ended, also where it could not say so
    pids = ", ".join(str(each.pid) for each in standbys)
    too = f", and so {'has' if len(standbys) == 1 else 'have'} {pids} that stood by" if standbys else ""
    told = f"engine {engine.pid} of team {team_in(db)} has ended{too}"
    emit(ctx, body, f"{told}; start it again with: quarterdeck engine --db {db}")


def _wait_for_standbys(db: Path) -> None:
    """Return when nobody stands by any more; one that does not answer is left alone, it ends when it wakes."""
    deadline = time.monotonic() + STANDBYS_END_WITHIN_S
    while time.monotonic() < deadline and any(not each.hung for each in standbys_of(db)):
        time.sleep(0.02)
