"""What an edited team file would change in a team, shown before it is done; and who is no longer in it."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import click

from dashboard.cli.database import naming
from dashboard.cli.output import REFUSED, WRONG_USAGE, emit, fail, is_interactive, say
from engine.core.commands import LoadTeam
from engine.core.context import Context
from engine.core.decide.loading import plan_of
from engine.core.errors import Refused
from engine.core.fact import changed
from engine.core.state import State
from engine.core.team_plan import Change, sentence


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


def agreed(command: LoadTeam, plan: list[Change], *, prune: bool, keep: bool) -> LoadTeam:
    """Return the command as the operator wants it; a person is asked, a script answers with an option.

    Raises:
        Failure: If members are no longer in the file and nothing says what becomes of them, exit 2.
        Abort: If a person does not want it.
    """
    dropped = any(change.change == "dropped" for change in plan)
    if prune or keep or not plan:
        return changed(command, prune=prune)
    if not is_interactive():
        if dropped:
            for line in _lines(plan):
                say(line)
            hint = "--prune removes them, --keep keeps them"
            fail("no_longer_in_file", "members are no longer in the file", hint, WRONG_USAGE)
        return command
    for line in _lines(plan):
        say(line)
    click.confirm("Change the team like that?", abort=True, err=True)
    return changed(command, prune=dropped and click.confirm("Remove who is no longer in the file?", err=True))


def show(ctx: click.Context, db: Path, state: State, plan: list[Change]) -> None:
    """Say what would change; nothing is done."""
    items = [asdict(change) for change in plan]
    body = {"v": 1, "kind": "plan", "dry_run": True, **naming(db, state), "seq": state.seq, "items": items}
    emit(ctx, body, _lines(plan) or ["nothing to change"])


def _lines(plan: list[Change]) -> list[str]:
    return [sentence(change) for change in plan]
