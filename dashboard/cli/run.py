"""`run` and `wait`: submit a request to a team, and print its output."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import click

from dashboard.cli.database import database_of, team_fields, team_in
from dashboard.cli.fields import build_command, takes
from dashboard.cli.printing.following import stream_run
from dashboard.cli.printing.output import (
    DONE,
    INTERRUPTED,
    NO_ENGINE,
    WORK_FAILED,
    emit,
    fail,
    is_json,
    quote_path,
    say,
    write_output,
)
from dashboard.cli.printing.progress import ProgressLine, RunEnd, await_run, end_of
from dashboard.cli.sending import check_outcome, client_on, outcome_body
from dashboard.engines.process import bound_engine, is_alive
from dashboard.interrupts import no_interrupt_lost
from dashboard.views.words.names import readable
from engine.core.commands import Command, Submit
from engine.core.queries.targets import find_supervisor, id_in
from engine.reading.folding import fold_file
from engine.supervisor.client import Client, CommandReply

ANSWER_WITHIN_S = 10.0
LARGEST_REQUEST_BYTES = 1_000_000
_output_option = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the output to a file.",
    callback=lambda _ctx, _parameter, value: None if value == Path("-") else value,  # stdout, as elsewhere
)


_follow_option = click.option(
    "--follow", is_flag=True, help="Show what agents say and do as it comes; with --json an object for each event."
)


@click.command("run")
@takes(Submit)
@_output_option
@_follow_option
@click.option("--continue", "continues", is_flag=True, help="Go on with the last conversation.")
@click.option("--detach", is_flag=True, help="Do not wait; print the run's id.")
@click.option("--queue", is_flag=True, help="Without an engine: queue it for the next one.")
@click.pass_context
@no_interrupt_lost()
def run(
    ctx: click.Context,
    /,
    request: str,
    output: Path | None,
    *,
    supervisor: str | None,
    conversation: str | None,
    continues: bool,
    detach: bool,
    queue: bool,
    follow: bool,
    **values: object,
) -> int:
    """Give the team REQUEST and print its output; '-' reads the request from stdin.

    If no engine is running, one is started for the duration of the run.
    """
    db = database_of(ctx, changes=True)
    if continues and conversation is not None:
        fail("usage", "--continue continues the last conversation, and --conversation names one", "give one of them")
    values |= {"request": _read_request(request), "supervisor": supervisor}
    values |= {"conversation": _last_conversation(db, supervisor) if continues else conversation}
    command = build_command(Submit, values)
    _check_target(output)
    alive = is_alive(db)
    if queue and not alive:
        command_id = client_on(db).send(command)
        body = outcome_body(db, CommandReply(command_id=command_id, status="pending"))
        emit(
            ctx,
            "outcome",
            body,
            f"queued for team {body['team']}; it begins with: quarterdeck engine --db {quote_path(db)}",
        )
        return DONE
    if alive:
        return _submit_and_report(ctx, db, command, output, detach=detach, bound=False, follow=follow)
    state = fold_file(db)
    if detach:
        hint = f"start one: quarterdeck engine --db {quote_path(db)}; or leave it for the next one: --queue"
        fail("no_engine", "no engine is at work", hint, NO_ENGINE)
    if not state.supervisors:
        fail("no_team", f"{db} holds no team", "load one: quarterdeck up TEAM --db FILE")
    say(f"no engine is at work on {db}; one is started for this run")
    with bound_engine(db, folder=None if state.team is None else Path(state.team.folder)):
        return _submit_and_report(ctx, db, command, output, detach=False, bound=True, follow=follow)


@click.command("wait")
@click.argument("run_id", metavar="RUN")
@_output_option
@_follow_option
@click.pass_context
@no_interrupt_lost()
def wait(ctx: click.Context, run_id: str, output: Path | None, *, follow: bool) -> int:
    """Wait until RUN has ended, and print its output."""
    db, run_id = database_of(ctx, changes=False), id_in(run_id)
    _check_target(output)
    if end_of(db, run_id) is None and run_id in fold_file(db).runs and not is_alive(db):
        hint = f"continue it with: quarterdeck engine --db {quote_path(db)}"
        fail("no_engine", f"run {run_id} is suspended, no engine is at work", hint, NO_ENGINE)
    follows = stream_run(db, run_id, as_json=is_json(ctx), quiet_until_now=True) if follow else None
    return finish(ctx, db, run_id, output, follows=follows)


def finish(
    ctx: click.Context,
    db: Path,
    run_id: str,
    output: Path | None,
    *,
    bound: bool = False,
    progress: ProgressLine | None = None,
    follows: AbstractContextManager[None] | None = None,
) -> int:
    """Wait for a run, write its output to a file or stdout, and return the exit status.

    Args:
        output: The file; None is stdout.
        bound: Whether its engine ends with this process.
        progress: Reports the progress; a changing line by default.
        follows: Shows the stream of the run, in place of that line, while it is open.
    """
    progress = progress or ProgressLine(db, run_id, every_s=0.2, quiet=follows is not None)
    try:
        with no_interrupt_lost(), follows or nullcontext():
            run_end = await_run(db, run_id, progress)
    except KeyboardInterrupt:
        progress.end()
        say(_way_back(run_id, db, bound=bound))
        return INTERRUPTED
    progress.end()
    return write_end(ctx, db, run_end, output)


def write_end(ctx: click.Context, db: Path, run_end: RunEnd, output: Path | None) -> int:
    """Write the output of a run, and return the exit status."""
    text = "" if run_end.output is None else readable(run_end.output)
    run_of = f"run {run_end.run_id} of team {team_in(db)}"
    suffix = ""
    if output is not None and run_end.status == "done":
        try:
            output.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            problem = f"{run_of} is done, but {output} cannot be written ({error.strerror})"
            fail("unwritable", problem, f"print its output: quarterdeck wait {run_end.run_id} --db {quote_path(db)}")
        suffix = f"; wrote {output}"
    if is_json(ctx):
        emit(ctx, "run", run_end.body() | team_fields(db), None)
    elif output is None and text:
        write_output(text.removesuffix("\n"))
    if run_end.status != "done":
        fail(f"run_{run_end.status}", f"{run_of} {_describe_failure(run_end)}", "", WORK_FAILED)
    if not is_json(ctx):
        say(f"{run_of} is done{suffix}")
    return DONE


def _submit_and_report(
    ctx: click.Context, db: Path, command: Command, output: Path | None, *, detach: bool, bound: bool, follow: bool
) -> int:
    client = client_on(db)
    try:
        with no_interrupt_lost():  # one block, so that no moment after the sending is without the message
            run_id, outcome = submit(client, db, command)
            if not detach:
                follows = stream_run(db, run_id, as_json=is_json(ctx), quiet_until_now=False) if follow else None
                return finish(ctx, db, run_id, output, bound=bound, follows=follows)
            if not is_json(ctx):
                say(f"submitted to team {team_in(db)}")
            emit(ctx, "outcome", {**outcome_body(db, outcome), "run_id": run_id}, run_id)
            return DONE
    except KeyboardInterrupt:
        for command_id in client.sent:
            # It may be in the inbox: wait a second for the outcome, which names the run.
            interrupted_id = client.wait(command_id, 1.0).result.get("run_id")
            if interrupted_id is None:
                say(f"see its outcome: quarterdeck runs --db {quote_path(db)}")
            elif end_of(db, str(interrupted_id)) is None:
                say(_way_back(str(interrupted_id), db, bound=bound))
        return INTERRUPTED


def _way_back(run_id: str, db: Path, *, bound: bool) -> str:
    """Return the message for a caller that stops waiting, whose engine may end with it."""
    if bound:
        return f"stopped; run {run_id} continues with: quarterdeck engine --db {quote_path(db)}"
    return f"still running: quarterdeck wait {run_id} --db {quote_path(db)}"


@no_interrupt_lost()
def submit(client: Client, db: Path, command: Command) -> tuple[str, CommandReply]:
    """Submit a request to the engine of a database, and return the id of its run and the outcome.

    Raises:
        Failure: If it is refused, or no engine answers.
    """
    outcome = client.perform(command, ANSWER_WITHIN_S)
    hint = f"it is queued, and begins when the engine answers: quarterdeck runs --db {quote_path(db)}"
    check_outcome(outcome, f"the engine did not answer within {ANSWER_WITHIN_S:.0f} s", hint)
    return str(outcome.result["run_id"]), outcome


def _last_conversation(db: Path, supervisor: str | None) -> str:
    """Return the conversation of a supervisor that was continued last."""
    conversations = find_supervisor(fold_file(db), supervisor).conversations
    if not conversations:
        fail("usage", "there is no conversation to go on with", "begin one: --conversation NAME")
    return next(reversed(conversations))


def _read_request(request: str) -> str:
    if request == "-":
        request = sys.stdin.buffer.read(LARGEST_REQUEST_BYTES + 1).decode("utf-8", errors="replace").strip()
    if not request.strip():
        fail("usage", "the request is empty", "say what to do: quarterdeck run 'Write …'")
    if len(request.encode("utf-8", errors="replace")) > LARGEST_REQUEST_BYTES:
        fail("usage", f"the request is larger than {LARGEST_REQUEST_BYTES:,} bytes", "name a file in it instead")
    return request.encode("utf-8", errors="replace").decode()


def _check_target(output: Path | None) -> None:
    """Check early that the output file can be written."""
    if output is None:
        return
    if output.is_dir():
        fail("usage", f"{output} is a folder", "name a file")
    if not output.absolute().parent.is_dir():
        fail("usage", f"the folder {output.absolute().parent} does not exist", "make it first")


def _describe_failure(run_end: RunEnd) -> str:
    if run_end.status == "cancelled":
        return "was cancelled"
    status = "was skipped" if run_end.status == "skipped" else run_end.status
    return f"{status}: {run_end.error or 'it does not say why'}"
