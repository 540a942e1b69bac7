"""Sends commands to the engine of a database, allows the code that they bring, and prints their outcomes.

Rule: every change has an outcome. *Applied at seq N* goes to stdout; a refusal goes to stderr with its reason, exit 3;
no engine is exit 4, unless `--queue` leaves the command for the next one.
"""

from collections.abc import Callable, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from dashboard.cli.database import database_of, team_fields
from dashboard.cli.fields import build_command, takes
from dashboard.cli.printing.items import fields_of
from dashboard.cli.printing.output import DONE, NO_ENGINE, REFUSED, emit, fail, quote_path
from dashboard.cli.printing.times import FiniteRange
from dashboard.engines.process import is_alive
from dashboard.interrupts import Stop
from dashboard.views.header import program_line
from dashboard.views.words.subcommands import subcommand_of
from engine.core.commands import Command
from engine.platform.sender import sender_of
from engine.reading.folding import fold_file
from engine.supervisor.client import Client, CommandReply

TIMEOUT_S = 10.0
_META = "quarterdeck."
F = TypeVar("F", bound=Callable[..., Any])


class Sending(NamedTuple):
    """How a subcommand sends: to which database, how long it waits, whether it queues without an engine."""

    path: Path
    queue: bool
    timeout_s: float

    @classmethod
    def of(cls, ctx: click.Context, *, changes: bool = True) -> "Sending":
        """Read the options of `sending_options`; `changes` is False where nothing is sent, such as in a dry run."""
        return cls(database_of(ctx, changes=changes), ctx.meta[_META + "queue"], ctx.meta[_META + "timeout"])


def client_on(db: Path) -> Client:
    """Return a client that sends in the name of the running subcommand."""
    return Client(db, sender=sender_of(click.get_current_context().command_path), stop=Stop())


def sending_options(command: F) -> F:
    """Add `--queue` and `--timeout`; read them with `Sending.of`."""
    for option in (
        click.option(
            "--timeout",
            type=FiniteRange(0, 86_400),
            default=TIMEOUT_S,
            show_default=True,
            metavar="S",
            expose_value=False,
            callback=_remember,
            help="Seconds to wait for the outcome.",
        ),
        click.option(
            "--queue",
            is_flag=True,
            expose_value=False,
            callback=_remember,
            help="Without an engine, queue it for the next one.",
        ),
    ):
        command = option(command)
    return command


def change(name: str, *, looks: bool = False) -> Callable[[Callable[..., Command]], click.Command]:
    """Make a subcommand of a function that returns the command to send.

    Args:
        looks: Whether the function reads the team first; its first argument then returns the `Sending`.
    """

    def make_command(build: Callable[..., Command]) -> click.Command:
        @wraps(build)
        @click.pass_context
        def send(ctx: click.Context, /, **values: object) -> int:
            sending = cache(lambda: Sending.of(ctx))
            built = build(sending, **values) if looks else build(**values)
            return send_and_report(ctx, sending(), built)

        subcommand = click.command(name)(sending_options(send))
        subcommand.params.sort(key=lambda option: option.name in ("queue", "timeout"))  # last in the help
        return subcommand

    return make_command


def allow_references(
    sending: Sending, references: Sequence[str], path: Path, sha256: str, *, source: str, trust: bool
) -> None:
    """Put references on this user's list for the database that a command goes to, as `trust.allow_code`."""
    from dashboard.cli.trust import allow_code  # the closure of code, 40 ms, which only code needs

    state = fold_file(sending.path)
    allow_code(references, state, db=sending.path, path=path, sha256=sha256, source=source, trust=trust)


def make_subcommand(command: type[Any]) -> click.Command:
    """Make a subcommand of the words, the fields and the docstring of the command that it sends."""

    def build(**values: object) -> Command:
        return build_command(command, values)

    build.__doc__ = command.__doc__
    return change(subcommand_of(command).word)(takes(command)(build))


def _remember(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
    ctx.meta[f"{_META}{parameter.name}"] = value


def send_and_report(ctx: click.Context, sending: Sending, command: Command) -> int:
    """Send a command, print its outcome, and return the exit status."""
    alive = is_alive(sending.path)
    if not alive and not sending.queue:
        start = (
            program_line(fold_file(sending.path)) or f"start one: quarterdeck engine --db {quote_path(sending.path)}"
        )
        hint = f"{start}; or leave the command for the next one: --queue"
        fail("no_engine", "no engine answers, so nothing was changed", hint, NO_ENGINE)
    outcome = client_on(sending.path).perform(command, sending.timeout_s if alive else 0)
    if "conflict" in outcome.result:
        hint = f"read it with: quarterdeck memory show {outcome.result['conflict']}"
        fail("conflict", outcome.summary, hint, REFUSED)
    written = {name: outcome.result[name] for name in ("insight_id",) if name in outcome.result}
    body = {**outcome_body(sending.path, outcome), **written}
    team = body["team"]
    lines = None
    if outcome.status == "applied":
        lines = [f"✓ {outcome.summary or 'done'}, applied at seq {outcome.seq:,} (team {team})"]
    elif not alive:
        lines = [f"queued as {outcome.command_id}; the next engine carries it out (team {team})"]
    emit(ctx, "outcome", body, lines)
    if outcome.status == "pending" and (sending.queue or not alive):
        return DONE
    silent = f"the engine has not answered within {sending.timeout_s:g} s; the command stays queued"
    hint = f"look for its outcome with: quarterdeck events --since 1m (command {outcome.command_id})"
    check_outcome(outcome, silent, hint)
    return DONE


def outcome_body(db: Path, outcome: CommandReply) -> dict[str, object]:
    """Return the outcome of a command in the shape of `--json`."""
    return {
        **fields_of(outcome, "command_id status seq reason"),
        **team_fields(db),
    }


def perform(db: Path, command: Command, timeout_s: float, *, silent: str, hint: str = "") -> CommandReply:
    """Send a command and return its outcome once it is applied; as `check_outcome`."""
    outcome = client_on(db).perform(command, timeout_s)
    check_outcome(outcome, silent, hint)
    return outcome


def check_outcome(outcome: CommandReply, silent: str, hint: str) -> None:
    """Check that a command was applied.

    Args:
        outcome: The outcome of the command.
        silent: The message, with `hint`, if the engine has not answered.

    Raises:
        Failure: If it was refused, exit 3; if no engine answered, exit 4.
    """
    if outcome.status == "refused":
        fail(outcome.code or "refused", f"refused: {outcome.reason or 'the engine does not say why'}", "", REFUSED)
    if outcome.status == "pending":
        fail("no_answer", outcome.reason or silent, hint, NO_ENGINE)
