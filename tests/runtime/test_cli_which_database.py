"""Which team a command is about: the one that is named, else that of the folder; another is never changed unasked."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard.cli import main
from engine.core.commands import AddSupervisor, Order, SupervisorSpec
from engine.core.signals import EngineBegan
from engine.reading.folding import fold_file
from store import Reader, StoreError
from tests.databases import write_database
from tests.patience import PATIENCE_S
from tests.runtime.shell import at_a_terminal
from tests.world import World, agent, load

TEAM = "version: 1\nsupervisor: {name: crew}\nagents: [{name: a, script: []}]\n"
CREW = SupervisorSpec(name="crew")
PROGRAM = [sys.executable, "-P", "-m", "dashboard"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of this user with a data folder in it; engines that tests start on databases in it are ended."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("QUARTERDECK_DB", raising=False)
    yield tmp_path
    for db in tmp_path.rglob("*.db"):
        try:
            with Reader(db) as reader:
                engine = reader.engine()
        except StoreError:
            continue
        if engine is not None and engine.alive:
            os.kill(engine.pid, signal.SIGKILL)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in a folder: its exit status, what it wrote to stdout and to stderr."""

    def run(folder: Path, *words: str) -> tuple[int, str, str]:
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(folder)
        status = main(words)
        out, err = capsys.readouterr()
        return status, out, err

    return run


def database(path: Path, name: str) -> Path:
    """Write a database with a team of its own, which no engine holds."""
    world = World()
    world.say(EngineBegan(pid=1, token=1, version="test"))
    world.order(load(SupervisorSpec(name=name, members=[agent("ada")])))
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_database(path, world.journal)


def meant(run: Run, folder: Path, *words: str) -> str:
    """Return the team that a command in a folder is about, or why there is none."""
    status, out, err = run(folder, *(words or ("agents",)), "--json")
    return str(json.loads(out)["team"] if status == 0 else json.loads(err)["message"])


def up(folder: Path) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "team.yaml").write_text(TEAM)
    done = subprocess.run(
        [*PROGRAM, "up", "team.yaml", "--json"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_option_goes_before_the_variable_and_that_before_the_folder(
    place: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, variable, option = (database(place / name / "team.db", name) for name in ("here", "variable", "option"))

    assert meant(run, here.parent) == "here"
    monkeypatch.setenv("QUARTERDECK_DB", str(variable))
    assert meant(run, here.parent) == "variable"
    assert meant(run, here.parent, "agents", "--db", str(option)) == "option"
    assert meant(run, here.parent, "pause", "ada", "--queue") == "variable"


def test_a_folder_stands_for_its_only_database_and_so_do_those_below_it_up_to_the_root_of_the_repository(
    place: Path, run: Run
) -> None:
    database(place / "work" / "team.db", "outer")
    (place / "work" / "notes.db").write_text("of another program")

    assert meant(run, place / "work" / "src" / "deep") == "outer"
    assert meant(run, place / "work" / "src", "pause", "ada", "--queue") == "outer"
    (place / "work" / ".git").mkdir()
    assert meant(run, place / "work" / "src") == "outer"
    (place / "work" / "inner" / ".git").mkdir(parents=True)
    assert meant(run, place / "work" / "inner") == "there is no team yet"
    database(place / "work" / "inner" / "own.db", "inner")
    assert meant(run, place / "work" / "inner" / "src") == "inner"


def test_two_databases_in_one_folder_are_listed_and_none_is_guessed(place: Path, run: Run) -> None:
    paths = [database(place / "work" / name, "one") for name in ("one.db", "two.db")]

    status, out, err = run(place / "work", "pause", "ada", "--queue")

    assert (status, out) == (2, "")
    assert err.splitlines() == [
        f"quarterdeck: {place / 'work'} holds 2 databases; say which with --db FILE:",
        *(f"  {path}  team one of team.yaml" for path in paths),
    ]


def test_each_database_in_the_list_says_what_made_its_team_and_no_name_makes_a_line_of_its_own(
    place: Path, run: Run
) -> None:
    for name, sender in (("one", "ann@box:47 python crew.py"), ("two", "ann@box:48 \x1b[2J\nquarterdeck: fine")):
        world = World()
        world.say(EngineBegan(pid=1, token=1, version="test"))
        world.say(Order(id="c1", command=AddSupervisor(parent=None, team=CREW), sender=sender, granted={}))
        (place / "work").mkdir(exist_ok=True)
        write_database(place / "work" / f"{name}.db", world.journal)
    damaged = place / "work" / "three.db"
    damaged.write_bytes((place / "work" / "one.db").read_bytes()[:4096])

    lines = run(place / "work", "agents")[2].splitlines()

    assert sorted(lines[1:]) == [
        f"  {place / 'work' / 'one.db'}  team crew, made by python crew.py",
        f"  {damaged}",
        f"  {place / 'work' / 'two.db'}  team crew, made by \\x1b[2J\\nquarterdeck: fine",
    ]


def test_folders_of_others_and_the_home_folder_stand_for_nobody_below_them(place: Path, run: Run) -> None:
    for folder in (place / "shared", place / "home"):
        database(folder / "team.db", "trap")
    (place / "shared").chmod(0o777)

    assert meant(run, place / "shared" / "mine") == "there is no team yet"
    assert meant(run, place / "home" / "mine") == "there is no team yet"
    assert meant(run, place / "home") == "trap"


def test_teams_of_one_name_in_two_folders_are_two_and_each_folder_means_its_own(place: Path, run: Run) -> None:
    one, two = up(place / "one"), up(place / "two")

    paused = json.loads(run(place / "one" / "src", "pause", "a", "--json")[1])

    assert one["db"] != two["db"]
    assert (paused["db"], paused["team"], paused["status"]) == (one["db"], "crew", "applied")
    assert [next(iter(fold_file(Path(each["db"])).agents.values())).paused for each in (one, two)] == [True, False]
    status, out, err = run(place / "third", "pause", "a")
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "quarterdeck: 2 engines are at work; say which with --db FILE:",
        *sorted(
            f"  {each['db']}  engine {each['pid']}  team crew of {place / folder / 'team.yaml'}"
            for each, folder in ((one, "one"), (two, "two"))
        ),
    ]
    assert run(place / "two", "stop")[1].startswith(f"engine {two['pid']} of team crew has ended")
    assert meant(run, place / "two") == "crew"
    assert json.loads(run(place / "two", "ps", "--json")[1])["db"] == two["db"]


def test_the_only_team_that_is_up_is_looked_at_from_anywhere_and_changed_only_when_named(place: Path, run: Run) -> None:
    crew = up(place / "one")

    looked, shown, said = run(place / "other", "agents")
    changed, out, reason = run(place / "other", "pause", "a")
    ended = run(place / "other", "stop")

    assert (looked, said) == (0, f"the only team that is up: crew ({crew['db']})\n")
    assert "AGENT" in shown
    assert (changed, out, reason.count("\n"), f"--db {crew['db']}" in reason) == (2, "", 1, True)
    assert ended[0] == 2
    assert not next(iter(fold_file(Path(crew["db"])).agents.values())).paused
    # A team file that was never started stands for a team of its own, not for the one of a folder above.
    (place / "one" / "below").mkdir()
    (place / "one" / "below" / "team.yaml").write_text(TEAM)
    assert run(place / "one" / "below", "pause", "a")[0] == 2


@pytest.mark.parametrize(("answer", "status", "paused"), [("y", 0, True), ("n", 130, False)])
def test_a_person_is_asked_before_a_team_that_was_not_named_is_changed(
    place: Path, answer: str, status: int, *, paused: bool
) -> None:
    crew = up(place / "one")

    ended, shown = at_a_terminal(place, answer, "pause", "a")

    assert f"No team was named. Change crew ({crew['db']})? [y/N]: " in shown
    assert ended == status
    assert next(iter(fold_file(Path(crew["db"])).agents.values())).paused is paused
    assert ("(team crew)" in shown) is paused


def test_doctor_looks_at_the_databases_of_the_folder_and_of_the_data_folder(place: Path, run: Run) -> None:
    here = [database(place / "work" / name, "crew") for name in ("one.db", "two.db")]
    there = database(place / "data" / "quarterdeck" / "other.db", "other")

    _, out, _ = run(place / "work" / "below", "doctor", "--json")

    what = [item["what"] for item in json.loads(out)["items"]]
    assert [one for one in what if one.endswith(".db")] == [str(db) for db in (*here, there)]
