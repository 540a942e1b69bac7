"""Files that were damaged or changed: whoever opens them gets a result or one of our errors, no other exception."""

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.cli import main
from dashboard.cli.printing.output import WRONG_USAGE
from engine.core.encoding.codec import encode_state
from engine.core.errors import CoreError
from engine.core.fold import fold
from engine.core.state import State
from engine.errors import EngineError, first_error
from engine.host.batch import row_of
from engine.host.host import Host
from engine.reading.folding import fold_file
from store import Reader, StoreError, find_loss, verify
from store.layout.opening import open_store
from tests.databases import busy_world
from tests.depth import examples

TABLES = ("about", "lease", "journal", "snapshots", "blocks")
VALUES = (None, -1, 0, 1, 2**62, 1.5, "", "text", "{}", b"", b"\0" * 16, b"x\x9c\x03\0\0\0\0\x01")
"""What a damaged or changed field may hold; the last is an empty text, compressed."""


@cache
def template() -> dict[str, bytes]:
    """Return the files of a small team, by what stands after the name of the database: some rows are in its log."""
    files: dict[str, bytes] = {}
    journal, state = busy_world().journal, State()
    fold(state, journal[:-10])

    async def write(path: Path) -> None:
        rows = [row_of(event) for event in journal]
        async with open_store(path, durability="normal") as store:
            await store.journal.append(1, rows[:-5])
            await store.snapshots.save(state.seq, encode_state(state))
        async with open_store(path, durability="normal") as store:
            await store.journal.append(len(rows) - 4, rows[-5:])
            for file in path.parent.iterdir():
                files[file.name.removeprefix(path.name)] = file.read_bytes()

    with tempfile.TemporaryDirectory() as folder:
        anyio.run(write, Path(folder) / "team.db")
    return {suffix: data for suffix, data in files.items() if not suffix.endswith(("-lock", "-shm"))}


@contextmanager
def copied() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "team.db"
        for suffix, data in template().items():
            path.with_name(path.name + suffix).write_bytes(data)
        yield path


def look(path: Path) -> None:
    """Open, read and check a database in every way that needs no engine."""
    with Reader(path) as reader:
        reader.engine()
        reader.snapshots()
        reader.blocks()
        reader.spans(1, reader.last_seq(), step_ms=1_000)
        reader.live()
    fold_file(path)


def begin(path: Path) -> None:
    """Start an engine on a database, and drop it as soon as it is at work."""

    async def run() -> None:
        async with open_store(path) as store, anyio.create_task_group() as group:
            await group.start(Host(store, seed=1).run)
            group.cancel_scope.cancel()

    anyio.run(run)


def on_command_line(*words: str) -> Callable[[Path], str]:
    """Return a way that runs a subcommand."""

    def run(path: Path) -> str:
        with redirect_stdout(StringIO()) as out, redirect_stderr(out):
            main(["--json", *words, "--db", str(path)])
        assert "internal_error" not in out.getvalue(), out.getvalue()
        return ""

    return run


COMMANDS = ("ps", "runs", "events", "doctor")
WAYS: tuple[Callable[[Path], object], ...] = (verify, find_loss, look, begin, *map(on_command_line, COMMANDS))


def outcome(way: Callable[[Path], object], path: Path) -> str:
    """Return what somebody who opens a database is told; an error that is none of ours is raised."""
    try:
        return str(way(path))
    except (StoreError, CoreError, EngineError) as error:
        return str(error)
    except Exception as error:
        first = first_error(error)
        if not isinstance(first, StoreError | CoreError | EngineError):
            raise
        return str(first)


@st.composite
def damages(draw: st.DrawFn) -> Callable[[Path], None]:
    """Return something that damages a database: bytes of its files, or rows and tables as SQLite writes them."""
    if draw(st.booleans()):
        suffix = draw(st.sampled_from(sorted(template())))
        size = len(template()[suffix])
        place, length = draw(st.integers(0, size)), draw(st.integers(1, 64))
        new = draw(st.one_of(st.none(), st.binary(min_size=length, max_size=length)))
        return partial(_overwrite, suffix=suffix, place=place, new=new)
    table = draw(st.sampled_from(TABLES))
    columns = COLUMNS[table]
    change = draw(st.sampled_from(["DELETE FROM {table}", "DELETE FROM {table} WHERE {row}", "DROP TABLE {table}",
        *(f"UPDATE {{table}} SET {column} = :value" for column in columns),
        *(f"UPDATE {{table}} SET {column} = :value WHERE {{row}}" for column in columns)]))  # fmt: skip
    row = f"rowid = {draw(st.integers(1, 20))}" if table in ("journal", "snapshots", "lease") else "true"
    if table == "about":
        row = f"key = '{draw(st.sampled_from(['file_id', 'anchor_seq', 'anchor_hash', 'created_ms']))}'"
    return partial(_change, sql=change.format(table=table, row=row), value=draw(st.sampled_from(VALUES)))


COLUMNS = {
    "about": ("key", "value"),
    "lease": ("token", "pid", "started", "boot_id", "host", "since_ms", "ended_ms"),
    "journal": ("seq", "at_ms", "kind", "run_id", "task_id", "agent_id", "body", "hash"),
    "snapshots": ("seq", "body"),
    "blocks": ("kind", "block", "count", "first_ms", "last_ms"),
}


def _overwrite(path: Path, *, suffix: str, place: int, new: bytes | None) -> None:
    file = path.with_name(path.name + suffix)
    data = file.read_bytes()
    file.write_bytes(data[:place] if new is None else data[:place] + new + data[place + len(new) :])


def _change(path: Path, *, sql: str, value: Any) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection, suppress(sqlite3.Error):
        connection.execute(sql, {"value": value})


@settings(max_examples=examples(15), deadline=None)
@given(damage=damages(), way=st.sampled_from(WAYS))
def test_whoever_opens_a_damaged_file_gets_a_result_or_one_of_our_errors(
    damage: Callable[[Path], None], way: Callable[[Path], object]
) -> None:
    with copied() as path:
        damage(path)
        assert "\n" not in outcome(way, path)


@pytest.mark.parametrize("way", [look, begin])
@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("UPDATE journal SET body = replace(body, 'read', 'rode') WHERE seq = :seq", "altered: its hash does not fit"),
        ("UPDATE journal SET at_ms = at_ms + 1 WHERE seq = :seq", "altered: its hash does not fit"),
        ("UPDATE journal SET agent_id = 'a9' WHERE seq = :seq", "altered: its hash does not fit"),
        ("DELETE FROM journal WHERE seq = :seq", "missing: the next record is {next}"),
    ],
)
def test_a_changed_or_missing_row_is_named_by_whoever_folds_it(
    way: Callable[[Path], object], sql: str, fault: str
) -> None:
    seq = len(busy_world().journal) - 7
    with copied() as path:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            if "body" in sql:
                (seq,) = connection.execute("SELECT max(seq) FROM journal WHERE body LIKE '%read%'").fetchone()
                connection.execute("DELETE FROM snapshots")
            assert connection.execute(sql, {"seq": seq}).rowcount == 1
        told = outcome(way, path)
        assert told == f"{path} is damaged (event {seq} is {fault.format(next=seq + 1)}): restore it from a copy"
        assert verify(path).bad_seq == seq


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("DELETE FROM about", "it has no id"),
        ("DELETE FROM about WHERE key = 'anchor_hash'", "the start of its journal is not known"),
        ("DELETE FROM lease", "it does not say which engine holds it"),
        ("UPDATE lease SET token = 'many'", "it does not say which engine holds it"),
        ("UPDATE journal SET hash = 7 WHERE seq = (SELECT max(seq) FROM journal)", "its newest record is altered"),
    ],
)
@pytest.mark.parametrize("way", WAYS[:4])
def test_rows_that_opening_relies_on_are_checked_first(way: Callable[[Path], object], sql: str, fault: str) -> None:
    with copied() as path:
        _change(path, sql=sql, value=None)
        assert outcome(way, path) == f"{path} is damaged ({fault}): restore it from a copy"


@pytest.mark.parametrize("body", [b"{", b"", b"\x80"])
def test_an_event_whose_body_is_no_json_is_named_by_the_list_of_events(
    body: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    with copied() as path:
        _change(path, sql="UPDATE journal SET body = :value WHERE seq = 3", value=body)
        assert main(["--json", "events", "--limit", "1000", "--db", str(path)]) == WRONG_USAGE
    told = capsys.readouterr()

    assert [json.loads(line)["seq"] for line in told.out.splitlines()] == [1, 2]
    assert "cannot be folded at seq 3: " in told.err


def test_a_snapshot_of_another_event_is_passed_over() -> None:
    with copied() as path:
        state = fold_file(path)
        _change(path, sql="UPDATE snapshots SET seq = seq + 1", value=None)
        assert encode_state(fold_file(path)) == encode_state(state)
