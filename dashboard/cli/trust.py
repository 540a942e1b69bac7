"""Asks for trust in the code that a command needs; `trust` allows, lists and revokes it.

A team file is allowed as a whole; what files with specs and archives name is allowed once for a database.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dashboard.cli.database import data_folder
from dashboard.cli.printing.output import REFUSED, TextTable, emit, fail, is_interactive, quote_path, say
from dashboard.views.words.amounts import pluralize
from engine.core.documents.document import references_in
from engine.core.queries.people.offers import offered_in
from engine.core.queries.team.code import UNASKED, is_imported, references_of
from engine.core.state import State
from engine.reading.folding import fold_file
from engine.trusted_code.trust import FILE, TrustList, UntrustedFile, code_folder, grant, needs_assignment, needs_trust
from store.wall_clock import wall_ms

if TYPE_CHECKING:
    from engine.teamfile import TeamFile
    from engine.teamfile.code import TeamCode


@click.command("trust")
@click.argument("team", required=False, type=click.Path(path_type=Path))
@click.option("--list", "listing", is_flag=True, help="List the files that are trusted.")
@click.option("--revoke", is_flag=True, help="Stop trusting the file.")
@click.pass_context
def trust(ctx: click.Context, team: Path | None, *, listing: bool, revoke: bool) -> None:
    """Allow the team file TEAM to run the code it names.

    The file is trusted as it is now and where it stands, with the files of its folder that its code imports: after an
    edit of any of them it has to be trusted again. TEAM may be a database, whose agents' code is allowed then.
    """
    if listing == (team is not None) or (revoke and listing):
        fail("usage", "give a team file, or --list", "see: quarterdeck trust --help")
    if team is None:
        _show_list(ctx)
    elif revoke:
        _revoke(ctx, team)
    elif team.suffix == ".db":
        _allow_database(ctx, team)
    else:
        from engine.teamfile.code import TeamCode  # pydantic: an engine, which trusts what it has, does without it

        code = TeamCode.read(team)
        file = code.team
        allow(code)
        text = f"trusted {file.path}; it may use {_describe_code(file.references, list(code.files))}"
        emit(ctx, "trust", _body(file.path, file.references, list(code.files), trusted=True), text)


def trust_list() -> TrustList:
    """Return this user's list of trusted files."""
    return TrustList(data_folder() / FILE)


def allow(code: "TeamCode") -> None:
    """Put a team file on the list, with the code that it runs now."""
    file, at_ms = code.team, wall_ms()
    trust_list().allow(file.path, file.sha256, references=file.references, at_ms=at_ms, files=code.files)


def ensure_trusted(code: "TeamCode", *, allowed: bool, db: Path, state: State) -> None:
    """Return once a team file may be loaded into a database, which has `state`, and run its code there.

    `--trust` allowed its code, it is on the list, or the person says so.

    Raises:
        UntrustedFile: If it may not, and nobody can be asked.
    """
    file = code.team
    if file.references:
        _ensure_trusted(code, allowed=allowed)
    if file.references or needs_assignment(
        state, path=str(file.path), folder=str(file.folder), references=file.references
    ):
        assign(file, db)


def assign(file: "TeamFile", db: Path, folder: Path | None = None) -> None:
    """Note on the list that its user loads a team file into a database; its agents work in `folder`, or beside it."""
    trust_list().assign(file.path, file.sha256, db=db.resolve(), folder=folder or file.folder, at_ms=wall_ms())


def _ensure_trusted(code: "TeamCode", *, allowed: bool) -> None:
    file = code.team
    if allowed:
        allow(code)
        return
    try:
        trust_list().check(file.path, file.sha256, references=file.references, files=code.files)
    except UntrustedFile as error:
        if not is_interactive():
            raise
        _ask_for_trust(code, error.changed)


def _ask_for_trust(code: "TeamCode", changed: list[str]) -> None:
    file = code.team
    reason = f"has changed since you trusted it ({', '.join(changed)})" if changed else "is new here"
    text = "runs this code" if all(map(is_imported, file.references)) else "runs or reaches this"
    say(f"{file.path} {reason}. It {text}:", *(f"  {reference}" for reference in file.references))
    _confirm(
        f"{', '.join(code.files) or 'no file'} in {file.folder}", f"{file.path} is not trusted, nothing was started"
    )
    allow(code)


def _allow_database(ctx: click.Context, db: Path) -> None:
    state = fold_file(db)
    offered = (each for question in state.escalations.values() for each in offered_in(question.detail))
    found = [reference for each in offered for reference in references_of(each.spec)]
    references = list(dict.fromkeys([*references_in(state), *found]))
    grant(trust_list(), references, state, db=db, path=db.resolve(), sha256="")
    resume_command = f"quarterdeck resume AGENT --db {quote_path(db)}"
    text = f"trusted what the agents of {db} use: {_describe_code(references, [])}; then: {resume_command}"
    emit(ctx, "trust", _body(db.resolve(), references, [], trusted=True), text)


def _show_list(ctx: click.Context) -> None:
    entries = trust_list().entries()
    body = {"items": [asdict(entry) | {"db": entry.db or None} for entry in entries]}
    rows = [(entry.path, entry.sha256[:12], len(entry.references), len(entry.files), entry.db) for entry in entries]
    columns = ("FILE", "CONTENT", "REFERENCES", "FILES", "FOR")
    emit(ctx, "trust", body, TextTable(columns, rows, empty="no file is trusted"))


def _revoke(ctx: click.Context, team: Path) -> None:
    path = team.resolve()
    if not trust_list().revoke(path):
        fail("not_trusted", f"{path} was not trusted", "list what is: quarterdeck trust --list")
    text = f"{path} is not trusted any more; an engine that runs it continues until it is stopped"
    emit(ctx, "trust", _body(path, [], [], trusted=False), text)


def _body(path: Path, references: list[str], files: list[str], *, trusted: bool) -> dict[str, object]:
    item = {"path": str(path), "references": references, "files": files, "trusted": trusted}
    return {"items": [item]}


def _describe_code(references: list[str], files: list[str]) -> str:
    if not references:
        return "no code of yours"
    unasked = [reference for reference in references if reference.startswith(UNASKED)]
    code = [reference for reference in references if is_imported(reference)]
    outside = [reference for reference in references if not is_imported(reference) and reference not in unasked]
    origin = f", from {', '.join(files)}" if files else ""
    functions = [f"{pluralize(len(code), 'function')}: {', '.join(code)}{origin}"] if code else []
    others = [f"{pluralize(len(outside), 'address or program', 'addresses and programs')}: {', '.join(outside)}"]
    return "; ".join([*functions, *(others if outside else []), *unasked])


def allow_code(
    references: Sequence[str], state: State, *, db: Path, path: Path, sha256: str, trust: bool, source: str = ""
) -> None:
    """Put references on this user's list for a database that holds `state`, once `--trust` or an answer says so.

    `path` is the file that names them, with the hash of its content; `source` says it in words. Where they are not
    allowed, exit 3.
    """
    needed = needs_trust(trust_list(), references, state, db)
    if not needed:
        return
    if not trust:
        _ask_to_allow(needed, source or str(path), code_folder(state, Path.cwd()))
    grant(trust_list(), references, state, db=db, path=path, sha256=sha256)


def _ask_to_allow(needed: Sequence[str], source: str, folder: Path) -> None:
    if not is_interactive():
        first_references = ", ".join(needed[:3]) + (f" and {len(needed) - 3} more" if len(needed) > 3 else "")
        text = f"{source} runs code that is not trusted: {first_references}"
        details = [f"  {reference}" for reference in needed[3:]]
        fail("not_trusted", text, "allow it with --trust", REFUSED, details=details)
    say(f"{source} runs code that is not trusted yet:", *(f"  {reference}" for reference in needed))
    _confirm(str(folder), "not trusted, so nothing was changed")


def _confirm(origin: str, refusal: str) -> None:
    say(f"from {origin}, and from the installed packages")
    if not click.confirm("Trust it?", err=True):
        fail("not_trusted", refusal, "", REFUSED)
