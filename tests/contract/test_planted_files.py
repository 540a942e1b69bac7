"""Every file whose name is known beforehand: what others planted in its place is refused, and never written."""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from dashboard.engines.process import _open_log
from dashboard.user.habits import Habits
from engine.runtimes.programs.worktree import _lock_worktrees
from engine.trusted_code.trust import TrustError, TrustList
from store import CommandRow, InboxClient, NotOurFile, open_store
from store.layout.files import open_for_writing

CONTENT = b"the private content of a file of this user " * 100


def engine_starts(db: Path) -> None:
    async def opened() -> None:
        async with open_store(db):
            pass

    anyio.run(opened)


def client_puts(path: Path) -> None:
    with InboxClient(path.with_name("team.db")) as client:
        client.put(CommandRow("c1", "ping", b"{}", "ann", "operator", 1))


def list_changes(path: Path) -> None:
    TrustList(path.with_suffix(".json")).allow(Path("/team.yaml"), "1", references=["crew:f"], at_ms=1, files={})


def worktree_is_made(path: Path) -> None:
    with _lock_worktrees(path.with_suffix("")):
        pass


WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "lock of an engine": ("team.db-lock", lambda path: engine_starts(path.with_name("team.db"))),
    "live file of an engine": ("team.db-live", lambda path: engine_starts(path.with_name("team.db"))),
    "inbox of an engine": ("team.db-inbox", lambda path: engine_starts(path.with_name("team.db"))),
    "inbox of a client": ("team.db-inbox", client_puts),
    "log of an engine": ("team.log", _open_log),
    "lock of the trust list": ("trust.lock", list_changes),
    "lock of worktrees": ("worktrees.lock", worktree_is_made),
    "any other": ("file", open_for_writing),
}


def plant_link(path: Path, private: Path) -> None:
    path.symlink_to(private)


def plant_dangling_link(path: Path, private: Path) -> None:
    path.symlink_to(private.with_name("new"))


def plant_second_name(path: Path, private: Path) -> None:
    os.link(private, path)


def plant_pipe(path: Path, private: Path) -> None:
    os.mkfifo(path)


def plant_folder(path: Path, private: Path) -> None:
    path.mkdir()


def plant_socket(path: Path, private: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the address of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)


PLANTS = [plant_link, plant_dangling_link, plant_second_name, plant_pipe, plant_folder, plant_socket]


@pytest.fixture(scope="module")
def files_of_a_team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what an engine leaves, which each test gets a copy of."""
    folder = tmp_path_factory.mktemp("team")
    engine_starts(folder / "team.db")
    return folder


@pytest.fixture
def place(files_of_a_team: Path, tmp_path: Path) -> Path:
    """A folder with a database, and beside it a private file."""
    shutil.copytree(files_of_a_team, tmp_path / "open")
    (tmp_path / "private").write_bytes(CONTENT)
    return tmp_path


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("writer", WRITERS)
def test_what_others_planted_is_refused_in_one_line_and_not_written(
    writer: str, plant: Callable[[Path, Path], None], place: Path
) -> None:
    name, write = WRITERS[writer]
    path, private = place / "open" / name, place / "private"
    path.unlink(missing_ok=True)
    plant(path, private)

    with pytest.raises((NotOurFile, TrustError)) as refused:
        write(path)

    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)
    assert private.read_bytes() == CONTENT
    assert not (place / "new").exists()


def test_a_file_that_another_user_owns_is_refused_by_all_but_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path("/etc/hostname")
    if is_root := os.geteuid() == 0:
        path = Path("team.db-lock")  # relative: folders above are for root alone
        monkeypatch.chdir(tmp_path)
        tmp_path.chmod(0o777)
        path.touch()
        path.chmod(0o666)
        os.chown(path, 4711, 4711)
        os.close(open_for_writing(path))
        os.seteuid(65534)
    try:
        with pytest.raises((NotOurFile, PermissionError), match=r"belongs to another user|Permission denied"):
            open_for_writing(path)
    finally:
        if is_root:
            os.seteuid(0)


def test_a_link_in_place_of_the_habits_is_replaced_and_not_followed(place: Path) -> None:
    path, private = place / "open" / "habits.json", place / "private"
    path.with_suffix(f".{os.getpid()}").symlink_to(private)
    path.symlink_to(private)

    Habits(path).remember_theme("light")

    assert private.read_bytes() == CONTENT
    assert "light" in path.read_text()
