"""What stands at a path decides what happens: an engine starts, or is told in one line what to do."""

import os
import resource
import socket
import sqlite3
import stat
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from store import (
    CommandRow,
    CorruptFile,
    DiskFull,
    InboxClient,
    LeftoverWal,
    MissingFile,
    MissingFolder,
    NetworkFileSystem,
    NewerFile,
    NotOurFile,
    OlderFile,
    Reader,
    ReadOnlyFolder,
    Row,
    SecondName,
    StoreBusy,
    StoreError,
    UnusablePath,
    can_command,
    check_database,
    open_store,
    verify,
)
from store.layout.files import is_writable
from store.layout.migrations import DATABASE
from tests.patience import PATIENCE_S
from tests.rights import as_viewer

pytestmark = pytest.mark.anyio


async def opened(path: Path) -> None:
    async with open_store(path):
        pass


def read(path: Path) -> None:
    Reader(path).close()


def queued(path: Path) -> None:
    with InboxClient(path) as client:
        client.put(CommandRow("c1", "k", b"{}", "s", "r", 0))


READERS = (read, queued, check_database, verify)


async def refused(path: Path, error: type[StoreError]) -> StoreError:
    """What the engine and every reader say about `path`; nothing in its folder may change by it."""
    before = everything_in(path.parent)
    with pytest.raises(error) as said:
        await opened(path)
    for reader in READERS:
        with pytest.raises(error):
            reader(path)
    assert everything_in(path.parent) == before
    assert "\n" not in str(said.value)
    return said.value


def everything_in(folder: Path) -> dict[str, bytes]:
    """What stands there; SQLite's shared memory and the empty log that goes with it aside."""
    contents = {each.name: each.read_bytes() if each.is_file() else b"" for each in folder.iterdir()}
    return {name: content for name, content in contents.items() if not name.endswith(("-shm", "-wal"))}


def modes_in(folder: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()}


def execute(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.executescript(script)


def copy(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())


def tear(path: Path) -> None:
    """Leave the file as a checkpoint does that got no further than the first page: it names pages to come."""
    content = bytearray(path.read_bytes())
    content[28:32] = (len(content) // 4_096 + 60).to_bytes(4, "big")
    path.write_bytes(content)


def text_file(path: Path) -> None:
    path.write_text("dear diary\n" * 500)


def short_text_file(path: Path) -> None:
    path.write_text("x")


def another_programs_database(path: Path) -> None:
    execute(path, "CREATE TABLE bookmarks (url); INSERT INTO bookmarks VALUES ('a')")


def another_programs_database_in_wal_mode(path: Path) -> None:
    execute(path, "PRAGMA application_id = 252006674; PRAGMA journal_mode = WAL; CREATE TABLE t (x)")


def with_our_number_and_a_foreign_schema(path: Path) -> None:
    ours = f"PRAGMA application_id = {DATABASE.application_id}; PRAGMA user_version = {DATABASE.newest}"
    execute(path, f"{ours}; CREATE TABLE t (x)")


def with_our_number_alone(path: Path) -> None:
    execute(path, f"PRAGMA application_id = {DATABASE.application_id}; CREATE TABLE t (x)")


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    "made",
    [
        text_file, short_text_file, another_programs_database, another_programs_database_in_wal_mode,
        with_our_number_and_a_foreign_schema, with_our_number_alone, folder, pipe, a_socket, link_to_itself,
    ],
)  # fmt: skip
async def test_what_is_not_ours_is_refused_at_once_and_left_as_it_was(
    made: Callable[[Path], None], tmp_path: Path
) -> None:
    made(tmp_path / "t.db")

    with anyio.fail_after(PATIENCE_S):
        said = await refused(tmp_path / "t.db", NotOurFile)
    assert "choose another path" in str(said)


async def test_a_device_is_refused_and_not_read() -> None:
    with pytest.raises((NotOurFile, ReadOnlyFolder), match=r"is a device|cannot be written"):  # no root
        await opened(Path("/dev/zero"))
    with pytest.raises(NotOurFile, match="is a device"):
        read(Path("/dev/zero"))


async def test_an_empty_file_becomes_a_store_for_an_engine_and_is_refused_to_readers(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    path.touch()
    for reader in (read, queued, verify):
        with pytest.raises(NotOurFile, match="is empty"):
            reader(path)
    await opened(path)

    read(path)


async def test_a_trigger_that_somebody_put_in_never_runs(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await opened(path)
    execute(path, "CREATE TRIGGER evil AFTER UPDATE ON lease BEGIN DELETE FROM journal; END")

    said = await refused(path, NotOurFile)
    assert "foreign trigger 'evil'" in str(said)


async def test_an_altered_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await opened(path)
    execute(path, "DROP INDEX journal_run")

    said = await refused(path, CorruptFile)
    assert "'journal_run' is gone" in str(said)


async def test_what_sqlite_itself_adds_is_no_foreign_table(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await opened(path)
    execute(path, "ANALYZE")

    await opened(path)
    read(path)


async def test_a_file_of_a_later_version_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await opened(path)
    execute(path, "PRAGMA user_version = 7; CREATE TABLE later (x)")

    said = await refused(path, NewerFile)
    assert isinstance(said, NewerFile)
    assert (said.version, said.newest) == (7, DATABASE.newest)


async def test_a_file_of_an_earlier_version_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await opened(path)
    execute(path, "PRAGMA user_version = 1")

    said = await refused(path, OlderFile)
    assert isinstance(said, OlderFile)
    assert (said.version, said.oldest) == (1, DATABASE.oldest)
    assert "\n" not in str(said)


async def test_pages_of_rubbish_are_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await opened(path)
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))

    assert "restore it from a copy" in str(await refused(path, CorruptFile))


async def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "team.db", tmp_path / "file" / "team.db"):
        (tmp_path / "file").touch()
        with pytest.raises(MissingFolder) as missing:
            await opened(path)
        assert missing.value.path == path.parent
        with pytest.raises(MissingFolder):
            read(path)


async def test_a_reader_never_makes_the_file_that_is_missing(tmp_path: Path) -> None:
    for reader in READERS:
        with pytest.raises(MissingFile):
            reader(tmp_path / "team.db")

    assert everything_in(tmp_path) == {}


@pytest.mark.parametrize("name", ["a\nb\x1b[31m.db", "ü %20?mode=rwc#&.db", "-"])
async def test_any_name_that_the_system_allows_is_a_name_for_a_store(name: str, tmp_path: Path) -> None:
    async with open_store(tmp_path / name) as store:
        await store.journal.append(1, [Row(0, "k", b"{}")])
        with pytest.raises(StoreBusy) as busy:
            await opened(tmp_path / name)

    assert str(busy.value).isprintable()
    with Reader(tmp_path / name) as reader:
        assert reader.last_seq() == 1
    assert all(each.startswith(name) for each in everything_in(tmp_path))


@pytest.mark.parametrize("name", ["a\0b", "n" * 240, "n" * 300])
async def test_a_name_that_cannot_be_or_is_too_long_for_its_companions_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises((NotOurFile, UnusablePath)):
        await opened(tmp_path / name)

    assert everything_in(tmp_path) == {}


@pytest.mark.parametrize("path", ["/proc/team.db", "/sys/team.db"])
async def test_a_folder_in_which_the_system_makes_no_files_is_said(path: str) -> None:
    with pytest.raises(ReadOnlyFolder):
        await opened(Path(path))


async def test_a_disk_without_room_for_the_files_leaves_none_behind(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, hard))
    try:
        with pytest.raises(DiskFull):
            await opened(tmp_path / "team.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert everything_in(tmp_path).keys() == {"team.db-lock"}
    await opened(tmp_path / "team.db")


async def test_every_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db") as store:
        await store.journal.append(1, [Row(0, "k", b"{}")])
        modes = modes_in(tmp_path)

    assert {"team.db", "team.db-wal", "team.db-inbox", "team.db-lock", "team.db-live"} <= modes.keys()
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("name", ["team.db", "other.db"])
async def test_a_database_with_two_hard_links_is_refused_by_either_name(name: str, tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db") as store:
        await store.journal.append(1, [Row(0, "noted", b"{}")])
    (tmp_path / "other.db").hardlink_to(tmp_path / "team.db")

    for use in (Reader, InboxClient, verify):
        with pytest.raises(SecondName, match=r"has another name \(a hard link\)"):
            use(tmp_path / name)
    with pytest.raises(SecondName):
        async with open_store(tmp_path / name):
            pass
    assert [path.name for path in tmp_path.glob("other.db-*")] == []  # noqa: ASYNC240 - of this test alone


async def test_a_second_engine_in_the_same_process_is_told_who_holds_it(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("team.db")
    async with open_store(tmp_path / "team.db") as store:
        for path in (tmp_path / "team.db", tmp_path / "link.db"):
            with pytest.raises(StoreBusy) as busy:
                await opened(path)
            assert busy.value.pid == os.getpid()
            assert busy.value.since_ms is not None
        await store.journal.append(1, [Row(0, "k", b"{}")])


async def test_a_database_moved_without_its_log_after_its_engine_has_ended_lacks_nothing_though_somebody_read_it(
    tmp_path: Path,
) -> None:
    async with open_store(tmp_path / "team.db") as store:
        await store.journal.append(1, [Row(0, "k", b"{}")] * 3)
        reader = Reader(tmp_path / "team.db")
        assert reader.last_seq() == 3
    (tmp_path / "team.db").rename(tmp_path / "moved.db")
    reader.close()

    with Reader(tmp_path / "moved.db") as moved:
        assert moved.last_seq() == 3


async def test_a_log_left_over_from_a_deleted_database_is_not_mixed_into_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await store.journal.append(1, [Row(0, "k", b"{}")])
        kept = (tmp_path / "team.db-wal").read_bytes()
    path.unlink()
    (tmp_path / "team.db-wal").write_bytes(kept)

    with pytest.raises(LeftoverWal) as said:
        await opened(path)
    assert said.value.path == tmp_path / "team.db-wal"
    assert not path.exists()


async def test_a_kill_while_the_log_was_being_taken_in_is_no_damage(tmp_path: Path) -> None:
    async with open_store(tmp_path / "killed.db") as store:
        await store.journal.append(1, [Row(0, "k", b"x" * 90_000)] * 3)
        for end in ("", "-wal"):
            copy(tmp_path / f"killed.db{end}", tmp_path / f"team.db{end}")
    tear(tmp_path / "team.db")
    with Reader(tmp_path / "team.db") as reader:
        assert reader.last_seq() == 3
    await opened(tmp_path / "team.db")

    assert verify(tmp_path / "team.db").checked == 3


@pytest.mark.parametrize("made", [text_file, another_programs_database, folder, pipe])
@pytest.mark.parametrize("name", ["team.db-inbox", "team.db-live"])
async def test_a_foreign_file_beside_the_database_is_named_and_may_be_deleted(
    made: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    await opened(tmp_path / "team.db")
    (tmp_path / name).unlink()
    made(tmp_path / name)
    with anyio.fail_after(PATIENCE_S), pytest.raises(NotOurFile, match="delete it") as said:
        await opened(tmp_path / "team.db")

    assert said.value.path == tmp_path / name
    assert said.value.disposable
    (tmp_path / name).rmdir() if made is folder else (tmp_path / name).unlink()
    await opened(tmp_path / "team.db")


@pytest.mark.parametrize("made", [folder, pipe])
async def test_a_lock_that_is_no_file_is_named(made: Callable[[Path], None], tmp_path: Path) -> None:
    made(tmp_path / "team.db-lock")
    with anyio.fail_after(PATIENCE_S), pytest.raises(NotOurFile) as said:
        await opened(tmp_path / "team.db")

    assert said.value.path == tmp_path / "team.db-lock"


async def test_a_damaged_inbox_is_named_and_a_damaged_live_file_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await opened(path)
    for name in ("team.db-inbox", "team.db-live"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    with pytest.raises(CorruptFile, match="delete it") as said:
        await opened(path)
    assert said.value.path == tmp_path / "team.db-inbox"
    with pytest.raises(CorruptFile, match="delete it"):
        queued(path)
    (tmp_path / "team.db-inbox").unlink()

    await opened(path)


async def test_a_live_file_with_a_text_that_is_no_utf_8_is_made_again(tmp_path: Path) -> None:
    await opened(tmp_path / "team.db")
    live = tmp_path / "team.db-live"
    content = live.read_bytes()
    for word in (b"boot_id TEXT", b"file_id"):  # in the schema, and in a row
        assert word in content
        live.write_bytes(content.replace(word, b"\xff" + word[1:]))
        await opened(tmp_path / "team.db")

        assert b"\xff" + word[1:] not in live.read_bytes()


async def test_rubbish_in_lock_and_heartbeat_only_hides_who_and_when(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path):
        (tmp_path / "team.db-lock").write_bytes(b"\xff\0 rubbish")
        with pytest.raises(StoreBusy) as busy:
            await opened(path)
        assert busy.value.pid is None
    text_file(tmp_path / "team.db-live")
    with Reader(path) as reader:
        engine = reader.engine()
        assert engine is not None
        assert (engine.alive, engine.heartbeat_age_ms, engine.hung) == (False, None, False)
        assert reader.live() == {}


async def test_an_engine_knows_when_the_one_before_it_was_heard_last(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db") as store:
        assert store.heard_ms is None
        token = store.token
    with closing(sqlite3.connect(tmp_path / "team.db-live", isolation_level=None)) as live:
        live.execute("UPDATE heartbeat SET token = ?, at_ms = 52000", (token,))
        async with open_store(tmp_path / "team.db") as store:
            assert store.heard_ms == 52_000
        live.execute("UPDATE heartbeat SET token = 99, at_ms = 52000")
    async with open_store(tmp_path / "team.db") as store:
        assert store.heard_ms is None, "that heartbeat is of an engine on another copy"


async def test_a_network_file_system_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.layout.filesystem._mounts", lambda: [("/", "ext4"), (str(tmp_path), "nfs4")])
    with pytest.raises(NetworkFileSystem) as said:
        await opened(tmp_path / "team.db")

    assert said.value.filesystem == "nfs4"
    assert everything_in(tmp_path) == {}


async def test_who_may_not_write_the_inbox_may_not_command(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    await opened(path)
    assert can_command(path)
    with as_viewer(path):
        assert not can_command(path)
    queued(path)
    assert can_command(path)


async def test_an_engine_waits_for_the_client_that_has_the_inbox_alone_while_it_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "team.db"
    await opened(path)
    closing_it: list[threading.Timer] = []

    def taken_then(file: Path) -> bool:
        """Let a client have the file alone for a moment from now on, the first time that the engine comes here."""
        if not closing_it:
            client = sqlite3.connect(file, check_same_thread=False)
            client.execute("PRAGMA locking_mode = EXCLUSIVE")
            client.execute("BEGIN IMMEDIATE")
            closing_it.append(threading.Timer(0.1, client.close))
            closing_it[0].start()
        return is_writable(file)

    monkeypatch.setattr("store.layout.sidecar_files.is_writable", taken_then)
    await opened(path)
    closing_it[0].join()
