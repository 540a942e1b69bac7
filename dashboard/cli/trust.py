"""`trust`: allow a team file to run its code, list what is allowed, revoke it."""

import sys
import time
from pathlib import Path

import click

from dashboard.cli.database import TRUST_LIST, data_folder
from dashboard.cli.output import REFUSED, WRONG_USAGE, Table, emit, fail, say
from engine.teamfile import TeamFile, read_team
from engine.trust import TrustList, UntrustedFile


@click.command("trust")
@click.argument("team", required=False, type=click.Path(path_type=Path))
@click.option("--list", "listing", is_flag=True, help="List the files that are trusted.")
@click.option("--revoke", is_flag=True, help="Trust the file no longer.")
@click.pass_context
def trust(ctx: click.Context, team: Path | None, *, listing: bool, revoke: bool) -> None:
    """Allow the team file TEAM to run the code it names.

    The file is trusted as it is now and where it stands: after an edit it has to be trusted again.
    """
    if listing == (team is not None) or (revoke and listing):
        fail("usage", "give a team file, or --list", "see: quarterdeck trust --help", WRONG_USAGE)
    if team is None:
        _show_list(ctx)
    elif revoke:
        _revoke(ctx, team)
    else:
        file = read_team(team)
        allow(file)
        said = f"trusted {file.path}; it may run {_counted(file.references)}"
        emit(ctx, _body(file.path, file.references, trusted=True), said)


def trust_list() -> TrustList:
    """Return this user's list of trusted files."""
    return TrustList(data_folder() / TRUST_LIST)


def allow(file: TeamFile) -> None:
    """Put a team file on the list."""
    at_ms = time.time_ns() // 1_000_000
    trust_list().allow(file.path, file.sha256, references=file.references, at_ms=at_ms)


def ensure_trusted(file: TeamFile, *, allowed: bool) -> None:
    """Return once a team file may run its code; on a terminal the person is asked.

    Args:
        file: Which file.
        allowed: `--trust` was given.

    Raises:
        Failure: If it may not.
    """
    if not file.references:
        return
    if allowed:
        allow(file)
        return
    try:
        trust_list().check(file.path, file.sha256, file.references)
    except UntrustedFile as error:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        _ask(file, changed=error.changed)


def _ask(file: TeamFile, *, changed: bool) -> None:
    say(f"{file.path} {'has changed since you trusted it' if changed else 'is new here'}. It runs this code:")
    for reference in file.references:
        say(f"  {reference}")
    say(f"from the installed packages, then from {file.folder}")
    if not click.confirm("Trust it?", err=True):
        fail("not_trusted", f"{file.path} is not trusted, nothing was started", "", REFUSED)
    allow(file)


def _show_list(ctx: click.Context) -> None:
    entries = trust_list().entries()
    body = {
        "v": 1,
        "kind": "trust",
        "items": [
            {"path": entry.path, "sha256": entry.sha256, "references": entry.references, "at_ms": entry.at_ms}
            for entry in entries
        ],
    }
    rows = [(entry.path, entry.sha256[:12], len(entry.references)) for entry in entries]
    emit(ctx, body, Table(("FILE", "CONTENT", "REFERENCES"), rows, empty="no file is trusted"))


def _revoke(ctx: click.Context, team: Path) -> None:
    path = team.resolve()
    if not trust_list().revoke(path):
        fail("not_trusted", f"{path} was not trusted", "list what is: quarterdeck trust --list", WRONG_USAGE)
    said = f"{path} is not trusted any more; an engine that runs it goes on until it is stopped"
    emit(ctx, _body(path, [], trusted=False), said)


def _body(path: Path, references: list[str], *, trusted: bool) -> dict[str, object]:
    return {"v": 1, "kind": "trust", "items": [{"path": str(path), "references": references, "trusted": trusted}]}


def _counted(references: list[str]) -> str:
    if not references:
        return "no code of yours"
    return f"{len(references)} function{'s' if len(references) != 1 else ''}: {', '.join(references)}"
