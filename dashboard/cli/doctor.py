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
from dashboard.cli.database import data_folder, given_database
from dashboard.cli.printing.output import DONE, WRONG_USAGE, emit, quoted
from dashboard.cli.trust import trust_list
from dashboard.reading.databases import Found, databases_at_hand, inspected
from dashboard.views.header import waiting_said
from dashboard.views.words.amounts import duration, pluralize
from engine.core.encoding.codec import decode_state_fast
from engine.core.errors import CoreError
from engine.errors import Unusable
from engine.models.at_hand import installed_agents, running_servers
from engine.models.providers import find_keys
from engine.reading.folding import fold_from
from engine.runtimes.programs.worktree import all_left
from engine.teamfile import TeamFileError, read_team
from engine.teamfile.code import TeamCode
from engine.trusted_code.trust import TrustError
from store import InboxClient, Reader, StoreError, can_command, find_loss, verify
from store.layout.filesystem import check_local
from store.wall_clock import wall_ms

AHEAD_MS = 60_000
"""How far the newest event of a file may be ahead of this computer's clock without a note."""
MODELS_SHOWN = 5
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
    given = given_database(ctx)
    found = [inspected(given)] if given is not None else databases_at_hand(data_folder())
    here = [*_programs(), *_models(), *_folders(), *_worktrees(), *_tool_servers()]
    findings = [*here, *_databases(found, verifying=verifying)]
    body = {
        "v": 1,
        "kind": "doctor",
        "ok": all(finding.level != "fault" for finding in findings),
        "items": [asdict(each) for each in findings],
    }
    marks = {"ok": "ok   ", "note": "note ", "fault": "FAULT"}
    emit(ctx, body, [f"{marks[each.level]}  {each.what}: {each.message}" for each in findings])
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


def sqlite_finding(found: tuple[int, int, int]) -> Finding:
    """Report whether a version of SQLite has the fault of its write-ahead log that the store avoids."""
    said = ".".join(map(str, found))
    first, last = WAL_FAULT
    if found < (3, 38, 0):
        return Finding("fault", "SQLite", f"{said}: use a Python with 3.38 or newer")
    if first <= found <= last:
        why = "can damage a database that two programs checkpoint at once"
        return Finding("note", "SQLite", f"{said} {why}: only the engine does here; open no live database with sqlite3")
    return Finding("ok", "SQLite", said)


def _models() -> Iterator[Finding]:
    model = os.environ.get("QUARTERDECK_MODEL", "").strip()
    if model:
        yield Finding("ok", "QUARTERDECK_MODEL", clean(model))
    keys = [f"{variable} ({provider})" for provider, variable in find_keys(os.environ).items()]
    none = "none in the environment; set one such as OPENAI_API_KEY where the engine runs"
    yield Finding("ok", "model keys", ", ".join(keys) or none)
    servers = running_servers()
    for server in servers:
        shown = ", ".join(server.models[:MODELS_SHOWN])
        more = f" and {len(server.models) - MODELS_SHOWN} more" if len(server.models) > MODELS_SHOWN else ""
        yield Finding("ok", "model server", clean(f"{server.name}, {server.url}: {shown or 'no models yet'}{more}"))
        if server.models and server.base_url is not None:
            said = json.dumps({"model": server.models[0], "base_url": server.base_url})
            yield Finding("ok", "model server", clean(f"in a team file, under models:  local: {said}"))
    if not servers:
        yield Finding("ok", "model server", "none on this computer answers (asked: ports 11434, 8000, 1234)")
    agents = ", ".join(installed_agents())
    yield Finding("ok", "command-line agents", agents or "none of those that are known here is installed")


def _folders() -> Iterator[Finding]:
    folder = data_folder()
    there = next(one for one in (folder, *folder.parents) if one.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        said = f"{folder} cannot be {'written' if there == folder else 'made'}"
        yield Finding("fault", "data folder", f"{said}: correct the mode of {there}, or set XDG_DATA_HOME")
    elif not os.statvfs(there).f_bavail:
        yield Finding("fault", "data folder", f"no space is left in {there}: free some, or set XDG_DATA_HOME")
    elif there != folder:
        yield Finding("ok", "data folder", f"{folder} (made when it is needed)")
    else:
        try:
            check_local(folder.resolve())
            yield Finding("ok", "data folder", str(folder))
        except StoreError as error:
            yield Finding("fault", "data folder", str(error))
    if there != folder:
        return
    try:
        yield Finding("ok", "trusted files", str(len(trust_list().entries())))
    except TrustError as error:
        yield Finding("fault", "trusted files", str(error))


def _worktrees() -> Iterator[Finding]:
    for path, words in all_left():
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
    for loc, found in code.servers():
        is_well = isinstance(found, list)
        said = pluralize(len(found), "tool") if isinstance(found, list) else f"does not work: {found.reason}"
        yield Finding("ok" if is_well else "fault", f"tool server {loc[-1]}", said)


def _databases(found: list[Found], *, verifying: bool) -> Iterator[Finding]:
    if not found:
        yield Finding("ok", "databases", "none yet; quarterdeck demo makes one")
    for each in found:
        yield _state_of(each)
        if each.error is None:
            yield from _unreadable(each.path)
            yield from _lost(each.path)
            yield from _from_the_future(each.path)
            for standby in each.standbys:
                if standby.hung:
                    said = f"engine {standby.pid} stands by and does not answer: end it with: kill -9 {standby.pid}"
                    yield Finding("note", str(each.path), said)
            yield from inbox_findings(each)
            for path in sorted(each.path.parent.glob(f"{each.path.name}-new-*")):
                yield Finding("note", str(path), "is left over from a crash: delete it")
            if verifying:
                yield _chain_of(each.path)


def _state_of(found: Found) -> Finding:
    engine, what = found.engine, str(found.path)
    waiting = waiting_said(found.standbys)
    waiting = f"; {waiting}" if waiting else ""
    if found.error is not None:
        return Finding("fault", what, found.error.removeprefix(f"{what} "))
    if engine is None:
        return Finding("ok", what, "no engine has run on it")
    if engine.no_room:
        return Finding("fault", what, f"engine {engine.pid} has no room to write: free some space, then it goes on")
    if engine.hung:
        return Finding(
            "fault", what, f"engine {engine.pid} hangs: quarterdeck engine --takeover --db {quoted(found.path)}"
        )
    if engine.alive:
        return Finding("ok", what, f"engine {engine.pid} is at work{waiting}")
    if engine.ended_ms is None:
        return Finding(
            "note", what, f"engine {engine.pid} was killed; to continue: quarterdeck engine --db {quoted(found.path)}"
        )
    return Finding("ok", what, "no engine; the last one stopped cleanly")


def _unreadable(path: Path) -> Iterator[Finding]:
    try:
        with Reader(path) as reader:
            fold_from(reader, decode=decode_state_fast)
    except (StoreError, CoreError) as error:
        yield Finding("fault", f"{path} (journal)", str(error).removeprefix(f"{path} "))


def _lost(path: Path) -> Iterator[Finding]:
    loss = find_loss(path)
    if loss is None:
        return
    said = f"{pluralize(loss.rows, 'acknowledged event')} missing: it ends at {loss.end_seq:,}"
    said += f", and event {loss.acknowledged_seq:,} was written"
    if loss.answers:
        kinds = [kind if count == 1 else f"{kind} x{count}" for kind, count in loss.answers.items()]
        said += f"; among them the outcomes of {', '.join(kinds)}"
    if loss.durability == "normal":
        yield Finding("note", f"{path} (end)", f"{said}; as durability normal allows after a power cut")
        return
    accept = f"quarterdeck engine --accept-loss {loss.rows} --db {quoted(path)}"
    hint = f"restore the file and its -wal from a copy, or: {accept}"
    yield Finding("fault", f"{path} (end)", f"{said}: {hint}")


def _from_the_future(path: Path) -> Iterator[Finding]:
    with Reader(path) as reader:
        ahead_ms = reader.newest_ms() - wall_ms()
    if ahead_ms > AHEAD_MS:
        said = f"its newest event is {duration(ahead_ms)} ahead of this computer's clock"
        hint = "if that clock is wrong, set it; else times in this file stay ahead, and deadlines count from them"
        yield Finding("note", f"{path} (time)", f"{said}: {hint}")


def inbox_findings(found: Found) -> Iterator[Finding]:
    """Tell what is odd about the inbox of a team."""
    if not can_command(found.path):
        yield Finding("note", f"{found.path}-inbox", "you may read this team, and not give it commands")
        return
    try:
        with InboxClient(found.path) as inbox:
            waiting = len(inbox.pending())
    except StoreError as error:
        yield Finding("fault", f"{found.path}-inbox", str(error))
        return
    if waiting and not found.alive:
        said = f"{pluralize(waiting, 'command')} wait for an engine"
        yield Finding(
            "note", f"{found.path}-inbox", f"{said}; to carry them out: quarterdeck engine --db {quoted(found.path)}"
        )


def _chain_of(path: Path) -> Finding:
    try:
        result = verify(path)
    except StoreError as error:
        return Finding("fault", f"{path} (chain)", str(error))
    if result.ok:
        return Finding("ok", f"{path} (chain)", f"{pluralize(result.checked, 'event')}, each as written")
    said = f"event {result.bad_seq:,} is not as it was written ({result.reason}): restore the file from a copy"
    return Finding("fault", f"{path} (chain)", f"{said}; {result.checked:,} before are whole")
