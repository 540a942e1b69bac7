"""Every way to begin a team refuses a path at which no database can stand, before anything is made."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.cli import main
from engine.archive import export_archive
from quarterdeck import AgentSpec, DynamicSupervisor
from store import StoreError, UnusablePath
from store.layout.opening import open_store
from tests.databases import write_database
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio
LONGEST = 481
"""512 bytes of SQLite, less `-journal`, less what an inbox is called while it is made."""
COMMANDS = [
    "up team.yaml --trust",
    "engine --team team.yaml --trust",
    "engine",
    "run go",
    "run go --detach",
    "import crew.zip",
    "demo . --detach",
]


def of_length(folder: Path, length: int) -> Path:
    """Return a path of so many bytes, in folders that are there."""
    while length - len(os.fsencode(folder)) - 1 > 150:
        folder /= "f" * 100
    folder.mkdir(parents=True, exist_ok=True)
    return folder / ("n" * (length - len(os.fsencode(folder)) - 4) + ".db")


def taken_by_folder(folder: Path) -> Path:
    (folder / "team.db").mkdir()
    return folder / "team.db"


def lock_is_folder(folder: Path) -> Path:
    (folder / "team.db-lock").mkdir()
    return folder / "team.db"


def below_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "team.db"


def unwritable(folder: Path) -> Path:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (folder / "sealed").mkdir(mode=0o500)
    return folder / "sealed" / "team.db"


UNUSABLE: list[Callable[[Path], Path]] = [
    lambda folder: of_length(folder, LONGEST + 1),
    lambda folder: folder / ("n" * 233),
    taken_by_folder,
    lock_is_folder,
    below_a_file,
    lambda folder: folder / "missing" / "team.db",
    unwritable,
]
NAMES = ["too-long", "name-too-long", "folder", "lock-is-folder", "below-a-file", "missing-folder", "unwritable"]


def everything_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("make", UNUSABLE, ids=NAMES)
def test_each_command_that_begins_something_says_so_and_leaves_nothing(
    make: Callable[[Path], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "team.yaml").write_text('version: 1\nsupervisor: {name: crew}\nagents: [{name: a, run: "json:dumps"}]\n')
    export_archive(write_database(tmp_path / "other.db", team_world(agent("ada")).journal), here / "crew.zip")
    db = make(here)
    before = everything_in(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(here)

    for command in COMMANDS:
        status = main([*command.split(), "--db", str(db)])
        out, err = capsys.readouterr()

        assert (status, out, err.count("\n")) == (2, "", 1), (command, err)
        assert everything_in(tmp_path) == before, command


@pytest.mark.parametrize("make", UNUSABLE, ids=NAMES)
async def test_a_program_is_told_before_anything_is_made(make: Callable[[Path], Path], tmp_path: Path) -> None:
    db = make(tmp_path)
    before = everything_in(tmp_path)

    with pytest.raises(StoreError) as said:
        async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=str.upper)], store=db):
            pass
    with pytest.raises(StoreError):
        DynamicSupervisor.attach(db)

    assert len(str(said.value).splitlines()) == 1
    assert everything_in(tmp_path) == before


async def test_the_longest_path_that_is_taken_is_one_that_works(tmp_path: Path) -> None:
    db = of_length(tmp_path, LONGEST)
    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=str.upper)], store=db) as team:
        assert (await team.arun("x")).output == "X"
        assert (await DynamicSupervisor.attach(db).arun("y")).output == "Y"

    with pytest.raises(UnusablePath, match="481 bytes"):
        async with open_store(of_length(tmp_path, LONGEST + 1)):
            pass


async def test_a_link_is_as_long_as_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "short.db").symlink_to(of_length(tmp_path, LONGEST + 1))

    with pytest.raises(UnusablePath):
        async with open_store(tmp_path / "short.db"):
            pass
