"""`replay`: walk through a finished run again, or let it go on from a step with another model, in a file of its own.

Rule: without `--with-model` nothing is called and nothing is written.
"""

import json
from dataclasses import asdict
from pathlib import Path

import anyio
import click

from dashboard.cli.database import database_of
from dashboard.cli.output import DONE, WORK_FAILED, WRONG_USAGE, Table, emit, fail, say
from dashboard.cli.progress import Progress, await_run, end_of
from dashboard.cli.sending import check_outcome, client_on
from dashboard.cli.trust import trust_list
from dashboard.process import bound_engine
from dashboard.views.amounts import counted
from dashboard.views.names import readable
from engine.core.commands import Command, Resume, SwapAgent
from engine.core.errors import Refused
from engine.core.fact import JsonValue, changed
from engine.core.queries.targets import at
from engine.core.values import preview
from engine.errors import UnknownRun, Unusable
from engine.folding import folded, folded_at
from engine.forking import fork, step_named
from engine.replaying import OUTPUT, Difference, Replay
from engine.replaying import replay as replayed
from store import NameTaken, Reader

_WITHIN_S = 30.0
_SHOWN = 70


@click.command("replay")
@click.argument("run_id", metavar="RUN")
@click.option("--code", is_flag=True, help="Call the functions of function agents too.")
@click.option("--with-model", metavar="NAME", help="Let it go on with another model, from --from, in --into.")
@click.option("--from", "step", metavar="TASK/STEP", help="The step of a model that is made anew.")
@click.option("--into", metavar="NEW.db", type=click.Path(path_type=Path), help="The new database.")
@click.pass_context
def replay(
    ctx: click.Context, run_id: str, *, code: bool, with_model: str | None, step: str | None, into: Path | None
) -> int:
    """Walk through the finished RUN again without any call, and say which step would differ first.

    With --with-model it goes on from a step with another model, in a new database, and both outcomes are shown.
    """
    db, run_id = database_of(ctx, changes=False), run_id.removeprefix("@")
    given = (with_model, step, into)
    if any(one is not None for one in given):
        if with_model is None or step is None or into is None:
            fail("usage", "--with-model, --from and --into belong together", "give all three", WRONG_USAGE)
        found = _with_model(db, run_id, model=with_model, step=step, into=into)
    else:
        try:
            found = anyio.run(lambda: replayed(db, run_id, code=code, allowed=trust_list()))
        except UnknownRun:
            fail("unknown_work", f"no run {run_id!r} has ended here", "list them: quarterdeck runs", WRONG_USAGE)
        except Unusable as unusable:
            fail("unusable", unusable.reason, "", WRONG_USAGE)
    differs = None if found.differs is None else asdict(found.differs)
    body = {"v": 1, "kind": "replay", "run_id": found.run_id, "steps": found.steps, "differs": differs}
    emit(ctx, body, lambda: _shown(found, with_model))
    return DONE if found.differs is None or with_model is not None else WORK_FAILED


def _shown(found: Replay, with_model: str | None) -> list[str]:
    steps = counted(found.steps, "recorded step")
    if found.differs is None:
        return [f"✓ {found.run_id} comes to the same: {steps} answered from the journal"]
    one = found.differs
    told = "with another model" if with_model is not None else f"{steps} answered from the journal"
    where = f"the output of {one.task_id}" if one.step == OUTPUT else f"step {one.step} of {one.task_id}"
    now = "NOW" if with_model is None else f"WITH {with_model}"
    table = Table(("WAS", now), [(_line(one.was), _line(one.now))])
    return [f"{found.run_id} differs at {where} ({told})", *table.lines()]


def _line(value: JsonValue) -> str:
    return "nothing" if value is None else preview(value if isinstance(value, str) else json.dumps(value), _SHOWN)


def _with_model(db: Path, run_id: str, *, model: str, step: str, into: Path) -> Replay:
    """Let a run go on from a step with another model, and return how it ended beside how it had."""
    before = end_of(db, run_id)
    if before is None:
        fail("unknown_work", f"no run {run_id!r} has ended here", "list them: quarterdeck runs", WRONG_USAGE)
    task_id, slash, key = step.removeprefix("@").partition("/")
    if not slash:
        fail("usage", f"{step!r} names no step", "such as t5/KEY; 'quarterdeck steps t5' lists them", WRONG_USAGE)
    try:
        with Reader(db) as reader:
            seq = step_named(reader, task_id, key)
        made = fork(db, into, at_seq=seq - 1)
    except NameTaken as taken:
        fail("name_taken", str(taken), "", WRONG_USAGE)
    except Refused as refused:
        fail(refused.code, refused.reason, "", WRONG_USAGE)
    then, state = folded_at(db, seq - 1), folded(into)
    attempt = then.tasks[task_id].attempt
    if attempt is None or attempt.agent_id is None or run_id not in state.runs:
        fail("usage", f"step {key!r} of {task_id} is not one of {run_id}", "", WRONG_USAGE)
    agent = state.agents[attempt.agent_id]
    spec = changed(state.spec_of(agent), model=model)
    if not spec.is_played_by_model:
        fail("usage", f"{agent.name} is not played by a model", "name a step of a model agent", WRONG_USAGE)
    say(f"forked to {into} at seq {made.at_seq:,}; {agent.name} goes on there with {model}")
    with bound_engine(into, folder=None if then.team is None else Path(then.team.folder)):
        _sent(into, SwapAgent(agent=at(agent.id), spec=spec))
        _sent(into, Resume(target=at(run_id)))
        ended = await_run(into, run_id, Progress(run_id, every_s=0.2))
    was, now = (readable(one.output) if one.output is not None else one.error for one in (before, ended))
    return Replay(run_id, 0, None if was == now else Difference(task_id, key, was, now))


def _sent(db: Path, command: Command) -> None:
    with client_on(db) as client:
        outcome = client.wait(client.send(command), _WITHIN_S)
    check_outcome(outcome, "the engine did not answer", "")
