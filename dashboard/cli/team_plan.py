"""What an edited team file would change in a team, shown before it is done; and who is no longer in it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import to_builtins

from dashboard.cli.database import naming
from dashboard.cli.output import REFUSED, WRONG_USAGE, Settings, emit, fail, is_interactive, say
from engine.core.commands import LoadTeam
from engine.core.context import Context
from engine.core.decide.loading import plan_of
from engine.core.errors import Refused
from engine.core.fact import changed
from engine.core.state import State
from engine.core.team_plan import Change, sentence

F = TypeVar("F", bound=Callable[..., Any])


def answers(command: F) -> F:
    """Add the options that say beforehand what becomes of what an edited file changes."""
    for option in (
        click.option("--on-conflict", type=click.Choice(["declared", "current"]), default="declared", show_default=True,
                     help="What was changed since the file was loaded: as the file declares it, or as it is."),
        click.option("--keep", is_flag=True, help="Keep who is no longer in the file."),
        click.option("--prune", is_flag=True, help="Remove who is no longer in the file, once their work is done."),
    ):  # fmt: skip
        command = option(command)
    return command


def planned(state: State, command: LoadTeam, digests: Mapping[str, str]) -> list[Change]:
    """Return what loading the file would change in the team that is there.

    Args:
        state: What is there.
        command: What loads the file.
        digests: The code of each of its references, by its hash.

    Raises:
        Failure: If it would be refused, exit 3.
    """
    try:
        return plan_of(state, command, Context(now_ms=state.at_ms, jitter=0.0, granted=digests))
    except Refused as refusal:
        fail(refusal.code, refusal.reason, "", REFUSED)


def agreed(
    ctx: click.Context, db: Path, command: LoadTeam, plan: list[Change], *, prune: bool, keep: bool
) -> LoadTeam:  # fmt: skip
    """Return the command as the operator wants it; a person is asked, a script answers with an option.

    Args:
        ctx: Of the subcommand.
        db: The database that holds the team.
        command: What loads the file.
        plan: What that changes in the team.
        prune: Members that are no longer in the file are removed.
        keep: They stay.

    Raises:
        Failure: If members are no longer in the file and nothing says what becomes of them, exit 2.
        Abort: If a person does not want it.
    """
    if prune and keep:
        fail("usage", "--prune and --keep say the opposite", "give one of them")
    as_json = ctx.ensure_object(Settings).json
    dropped = any(change.change == "dropped" for change in plan)
    answered = prune or keep or not plan
    asks = not answered and is_interactive() and not as_json
    if not as_json:
        for line in lines_of(plan):
            say(line)
    if asks:
        click.confirm("Change the team like that?", abort=True, err=True)
        return changed(command, prune=dropped and click.confirm("Remove who is no longer in the file?", err=True))
    if dropped and not answered:
        hint = "--prune removes them, --keep keeps them"
        about = {**naming(db), "items": items_of(plan)}
        fail("no_longer_in_file", "members are no longer in the file", hint, WRONG_USAGE, about=about)
    return changed(command, prune=prune)


def items_of(plan: list[Change]) -> list[dict[str, object]]:
    """Return a plan in the shape of `--json`."""
    return [to_builtins(change) for change in plan]


def show(ctx: click.Context, db: Path, state: State, plan: list[Change]) -> None:
    """Say what would change; nothing is done."""
    body = {"v": 1, "kind": "plan", "dry_run": True, **naming(db, state), "seq": state.seq, "items": items_of(plan)}
    emit(ctx, body, lines_of(plan) or ["nothing to change"])


def lines_of(plan: list[Change]) -> list[str]:
    """Return a plan in words."""
    return [sentence(change) for change in plan]
