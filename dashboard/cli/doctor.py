"""`doctor`: look at the programs, the folders and the databases, and say what to do about each finding."""

import json
import os
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import click

from dashboard.clean import clean
from dashboard.cli.database import data_folder, explicit_database
from dashboard.cli.printing.output import DONE, WRONG_USAGE, emit, quote_path
from dashboard.cli.trust import trust_list
from dashboard.reading.databases import DatabaseInfo, find_databases, inspect_database
from dashboard.views.header import describe_standbys
from dashboard.views.words.amounts import duration, pluralize
from engine.catalogue.catalogue import Catalogue
from engine.core.encoding.codec import decode_state_fast
from engine.core.errors import CoreError
from engine.errors import CatalogueError, Unusable
from engine.models.local_services import installed_agents, running_servers
from engine.models.providers import find_keys
from engine.reading.folding import fold_from
from engine.runtimes.programs.worktree import describe_worktrees
from engine.teamfile import TeamFileError, read_team
from engine.teamfile.code import TeamCode
from engine.trusted_code.trust import TrustError
from store import InboxClient, Reader, StoreError, can_command, find_loss, verify
from store.layout.filesystem import check_local
from store.wall_clock import wall_ms

AHEAD_MS = 60_000
"""How far the newest event of a file may be ahead of this computer's clock without a note."""
MAX_MODELS_SHOWN = 5
Level = Literal["ok", "note", "fault"]
WAL_FAULT = ((3, 7, 0), (3, 51, 2))
"""SQLite versions, first and last, in which two checkpointers can corrupt a write-ahead log."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check."""

    level: Level
    what: str
    message: str
    """The finding, and what to do about it."""


@click.command("doctor")
@click.option(
    "--verify", "verifying", is_flag=True, help="Walk the whole hash chain of each database; 5 s a million events."
)
@click.pass_context
def doctor(ctx: click.Context, *, verifying: bool) -> int:
    """Check this machine and the databases for problems."""
    given_path = explicit_database(ctx)
    databases = [inspect_database(given_path)] if given_path is not None else find_databases(data_folder())
    local_findings = [*_programs(), *_models(), *_folders(), *_catalogue(), *_worktrees(), *_tool_servers()]
    findings = [*local_findings, *_databases(databases, verifying=verifying)]
    body = {
        "ok": all(finding.level != "fault" for finding in findings),
        "items": [asdict(finding) for finding in findings],
    }
    marks = {"ok": "ok   ", "note": "note ", "fault": "FAULT"}
    emit(ctx, "doctor", body, [f"{marks[finding.level]}  {finding.what}: {finding.message}" for finding in findings])
    return DONE if body["ok"] else WRONG_USAGE


def _programs() -> Iterator[Finding]:
    yield Finding("ok", "quarterdeck", f"{version('quarterdeck')} in {Path(__file__).resolve().parents[2]}")
    yield Finding("ok", "Python", f"{sys.version.split()[0]} at {sys.executable}")
    yield sqlite_finding(sqlite3.sqlite_version_info)
    for name in ("textual", "litellm"):
        try:
            yield Finding("ok", name, version(name))
        except PackageNotFoundError:
            yield Finding("fault", name, "is not installed: reinstall quarterdeck")
    encoding = sys.stdout.encoding or "ascii"
    if "utf" not in encoding.lower():
        yield Finding("note", "terminal", f"its encoding is {encoding}: set LANG to one with UTF-8 to see every sign")


def sqlite_finding(version: tuple[int, int, int]) -> Finding:
    """Report whether a version of SQLite has the fault of its write-ahead log that the store avoids."""
    text = ".".join(map(str, version))
    first, last = WAL_FAULT
    if version < (3, 38, 0):
        return Finding("fault", "SQLite", f"{text}: use a Python with 3.38 or newer")
    if first <= version <= last:
        danger = "can damage a database that two programs checkpoint at once"
        return Finding(
            "note", "SQLite", f"{text} {danger}: only the engine does here; open no live database with sqlite3"
        )
    return Finding("ok", "SQLite", text)


def _models() -> Iterator[Finding]:
    model = os.environ.get("QUARTERDECK_MODEL", "").strip()
    if model:
        yield Finding("ok", "QUARTERDECK_MODEL", clean(model))
    keys = [f"{variable} ({provider})" for provider, variable in find_keys(os.environ).items()]
    no_key = "none in the environment; set one such as OPENAI_API_KEY where the engine runs"
    yield Finding("ok", "model keys", ", ".join(keys) or no_key)
    servers = running_servers()
    for server in servers:
        model_names = ", ".join(server.models[:MAX_MODELS_SHOWN])
        more = f" and {len(server.models) - MAX_MODELS_SHOWN} more" if len(server.models) > MAX_MODELS_SHOWN else ""
        yield Finding(
            "ok", "model server", clean(f"{server.name}, {server.url}: {model_names or 'no models yet'}{more}")
        )
        if server.models and server.base_url is not None:
            model_json = json.dumps({"model": server.models[0], "base_url": server.base_url})
            yield Finding("ok", "model server", clean(f"in a team file, under models:  local: {model_json}"))
    if not servers:
        yield Finding("ok", "model server", "none on this computer answers (asked: ports 11434, 8000, 1234)")
    agents = ", ".join(installed_agents())
    yield Finding("ok", "command-line agents", agents or "none of those that are known here is installed")


def _catalogue() -> Iterator[Finding]:
    try:
        yield Finding("ok", "catalogue", pluralize(Catalogue.open().count(), "entry", "entries"))
    except CatalogueError as error:
        yield Finding("fault", "catalogue", str(error))


def _folders() -> Iterator[Finding]:
    folder = data_folder()
    parent = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(parent, os.W_OK | os.X_OK):
        text = f"{folder} cannot be {'written' if parent == folder else 'made'}"
        yield Finding("fault", "data folder", f"{text}: correct the mode of {parent}, or set XDG_DATA_HOME")
    elif not os.statvfs(parent).f_bavail:
        yield Finding("fault", "data folder", f"no space is left in {parent}: free some, or set XDG_DATA_HOME")
    elif parent != folder:
        yield Finding("ok", "data folder", f"{folder} (made when it is needed)")
    else:
        try:
            check_local(folder.resolve())
            yield Finding("ok", "data folder", str(folder))
        except StoreError as error:
            yield Finding("fault", "data folder", str(error))
    if parent != folder:
        return
    try:
        yield Finding("ok", "trusted files", str(len(trust_list().entries())))
    except TrustError as error:
        yield Finding("fault", "trusted files", str(error))


def _worktrees() -> Iterator[Finding]:
    for path, words in describe_worktrees():
        hint = f"merge what you need, then: git -C {path} worktree remove {path}"
        yield Finding("note", str(path), f"{words}; left by an agent, or at work: {hint}")


def _tool_servers() -> Iterator[Finding]:
    """Check the tool servers that a trusted team file of this folder names."""
    path = Path("team.yaml")
    try:
        file = read_team(path) if path.is_file() else None
        code = None if file is None else TeamCode(file)
        if file is None or code is None or not trust_list().is_trusted(file.path, file.sha256, code.files):
            return
    except (TeamFileError, TrustError, Unusable):
        return  # `check` says what is wrong with it
    for loc, tools in code.servers():
        is_well = isinstance(tools, list)
        text = pluralize(len(tools), "tool") if isinstance(tools, list) else f"does not work: {tools.reason}"
        yield Finding("ok" if is_well else "fault", f"tool server {loc[-1]}", text)


def _databases(databases: list[DatabaseInfo], *, verifying: bool) -> Iterator[Finding]:
    if not databases:
        yield Finding("ok", "databases", "none yet; quarterdeck demo makes one")
    for database in databases:
        yield _check_engine(database)
        if database.error is None:
            yield from _check_readable(database.path)
            yield from _check_loss(database.path)
            yield from _check_clock(database.path)
            for standby in database.standbys:
                if standby.hung:
                    text = f"engine {standby.pid} stands by and does not answer: end it with: kill -9 {standby.pid}"
                    yield Finding("note", str(database.path), text)
            yield from inbox_findings(database)
            for path in sorted(database.path.parent.glob(f"{database.path.name}-new-*")):
                yield Finding("note", str(path), "is left over from a crash: delete it")
            if verifying:
                yield _check_chain(database.path)


def _check_engine(database: DatabaseInfo) -> Finding:
    engine, subject = database.engine, str(database.path)
    waiting = describe_standbys(database.standbys)
    waiting = f"; {waiting}" if waiting else ""
    if database.error is not None:
        return Finding("fault", subject, database.error.removeprefix(f"{subject} "))
    if engine is None:
        return Finding("ok", subject, "no engine has run on it")
    if engine.no_room:
        return Finding("fault", subject, f"engine {engine.pid} has no room to write: free some space, then it goes on")
    if engine.hung:
        return Finding(
            "fault",
            subject,
            f"engine {engine.pid} hangs: quarterdeck engine --takeover --db {quote_path(database.path)}",
        )
    if engine.alive:
        return Finding("ok", subject, f"engine {engine.pid} is at work{waiting}")
    if engine.ended_ms is None:
        return Finding(
            "note",
            subject,
            f"engine {engine.pid} was killed; to continue: quarterdeck engine --db {quote_path(database.path)}",
        )
    return Finding("ok", subject, "no engine; the last one stopped cleanly")


def _check_readable(path: Path) -> Iterator[Finding]:
    try:
        with Reader(path) as reader:
            fold_from(reader, decode=decode_state_fast)
    except (StoreError, CoreError) as error:
        yield Finding("fault", f"{path} (journal)", str(error).removeprefix(f"{path} "))


def _check_loss(path: Path) -> Iterator[Finding]:
    loss = find_loss(path)
    if loss is None:
        return
    text = f"{pluralize(loss.rows, 'acknowledged event')} missing: it ends at {loss.end_seq:,}"
    text += f", and event {loss.acknowledged_seq:,} was written"
    if loss.answers:
        kinds = [kind if count == 1 else f"{kind} x{count}" for kind, count in loss.answers.items()]
        text += f"; among them the outcomes of {', '.join(kinds)}"
    if loss.durability == "normal":
        yield Finding("note", f"{path} (end)", f"{text}; as durability normal allows after a power cut")
        return
    accept = f"quarterdeck engine --accept-loss {loss.rows} --db {quote_path(path)}"
    hint = f"restore the file and its -wal from a copy, or: {accept}"
    yield Finding("fault", f"{path} (end)", f"{text}: {hint}")


def _check_clock(path: Path) -> Iterator[Finding]:
    with Reader(path) as reader:
        ahead_ms = reader.newest_ms() - wall_ms()
    if ahead_ms > AHEAD_MS:
        text = f"its newest event is {duration(ahead_ms)} ahead of this computer's clock"
        hint = "if that clock is wrong, set it; else times in this file stay ahead, and deadlines count from them"
        yield Finding("note", f"{path} (time)", f"{text}: {hint}")


def inbox_findings(database: DatabaseInfo) -> Iterator[Finding]:
    """Tell what is odd about the inbox of a team."""
    if not can_command(database.path):
        yield Finding("note", f"{database.path}-inbox", "you may read this team, and not give it commands")
        return
    try:
        with InboxClient(database.path) as inbox:
            waiting = len(inbox.pending())
    except StoreError as error:
        yield Finding("fault", f"{database.path}-inbox", str(error))
        return
    if waiting and not database.alive:
        text = f"{pluralize(waiting, 'command')} wait for an engine"
        yield Finding(
            "note",
            f"{database.path}-inbox",
            f"{text}; to carry them out: quarterdeck engine --db {quote_path(database.path)}",
        )


def _check_chain(path: Path) -> Finding:
    try:
        result = verify(path)
    except StoreError as error:
        return Finding("fault", f"{path} (chain)", str(error))
    if result.ok:
        return Finding("ok", f"{path} (chain)", f"{pluralize(result.checked, 'event')}, each as written")
    text = f"event {result.bad_seq:,} is not as it was written ({result.reason}): restore the file from a copy"
    return Finding("fault", f"{path} (chain)", f"{text}; {result.checked:,} before are whole")
