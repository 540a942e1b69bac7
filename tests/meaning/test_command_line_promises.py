"""What the pages promise of commands and archives, played with the real program on real engines."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from dashboard.engines.process import Detached, start_engine
from engine.reading.folding import fold_file
from store import Reader
from tests.runtime.console import Console, kill_engines
from tests.runtime.shell import Run, shell_on, team_at_work, until

TEAM = """\
version: 1
supervisor: {name: desk, strategy: sequential, grace_s: 0.1}
agents:
  - {name: ada, run: "hands:wait"}
  - {name: bob, run: "hands:shout"}
registry:
  - {name: loud, run: "hands:louder"}
  - {name: broken, run: "hands:fail"}
"""
HANDS = '''\
from pathlib import Path

import anyio

def count(path):
    with Path(path).with_suffix(".count").open("a") as file:
        file.write("x")

async def wait(task, ctx):
    """Record a step, then wait until the file is there that is asked for."""
    path = Path(task.text)
    await ctx.step("counted", count, task.text)
    while not path.exists():
        await anyio.sleep(0.01)
    return path.name

def shout(text):
    return text.upper()

def louder(text):
    return text.upper() + "!"

def fail(text):
    raise ValueError("it was told to fail")
'''


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Detached]:
    with team_at_work(tmp_path_factory.mktemp("desk"), TEAM, HANDS) as engine:
        yield engine


@pytest.fixture
def run(engine: Detached, capsys: pytest.CaptureFixture[str]) -> Run:
    return shell_on(engine.db, capsys)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """What ada waits for, where it is asked for."""
    return tmp_path / "x"


def listed(run: Run, *words: object, **options: Any) -> Any:
    """Run a command that must succeed, and return what it says to a script."""
    status, out, err = run(*words, "--json", **options)
    assert status == 0, err
    return json.loads(out)


def begun(run: Run, db: Path, file: Path, *words: str) -> str:
    """Give a request and return its run, once ada has recorded her step."""
    run_id = str(listed(run, "run", file, "--detach", *words)["run_id"])
    until(db, lambda state: any(task.run_id == run_id and task.steps for task in state.tasks.values()))
    return run_id


# Begin and end


def test_open_runs_go_on_when_a_stopped_team_starts_again_and_no_step_is_done_twice(tmp_path: Path) -> None:
    console = Console(tmp_path)
    console.write("team.yaml", TEAM)
    console.write("hands.py", HANDS)
    try:
        console.done("up", "team.yaml", "--detach", "--trust")
        file, db = tmp_path / "x", console.database("desk")
        run_id = console.json("run", str(file), "--detach")["run_id"]
        until(db, lambda state: any(task.steps for task in state.tasks.values()))
        console.done("stop")
        file.touch()

        console.done("up", "team.yaml", "--detach")

        assert console.done("wait", run_id) == "X\n"
        assert file.with_suffix(".count").read_text() == "x"
    finally:
        kill_engines(tmp_path)


# Give it work


def test_a_request_comes_from_stdin_and_the_output_goes_to_stdout_alone(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.touch()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(str(file).encode())))

    status, out, err = run("run", "-")

    assert (status, out) == (0, "X\n"), err
    assert "of team desk is done" in err


def test_an_output_goes_to_a_file_where_one_is_named(run: Run, file: Path, tmp_path: Path) -> None:
    file.touch()

    status, _, _ = run("run", file, "-o", tmp_path / "out.md")

    assert (status, (tmp_path / "out.md").read_text().strip()) == (0, "X")


def test_a_run_after_another_begins_when_that_is_done(engine: Detached, run: Run, file: Path) -> None:
    first = begun(run, engine.db, file)
    second = listed(run, "run", file, "--detach", "--after", first)["run_id"]
    assert not fold_file(engine.db).tasks[fold_file(engine.db).runs[second].root_id].children

    file.touch()

    assert run("wait", second)[:2] == (0, "X\n")
    assert [one.id for one in fold_file(engine.db).finished[-2:]] == [first, second]


# Change agents


def test_several_agents_of_a_file_are_swapped_all_or_none(run: Run, tmp_path: Path) -> None:
    spec = "- {{name: {name}, run: 'hands:louder'}}\n"
    (tmp_path / "some.yaml").write_text(spec.format(name="bob") + spec.format(name="nobody"))
    (tmp_path / "all.yaml").write_text(spec.format(name="ada") + spec.format(name="bob"))
    before = [one["generation"] for one in listed(run, "agents")["items"]]

    status, _, err = run("swap", "--from", tmp_path / "some.yaml", "--trust")
    after = [one["generation"] for one in listed(run, "agents")["items"]]
    swapped, _, _ = run("swap", "--from", tmp_path / "all.yaml", "--trust")

    assert (status, after, swapped) == (3, before, 0)
    assert "nobody" in err
    assert [one["generation"] for one in listed(run, "agents")["items"]] == [one + 1 for one in before]
    assert run("run", "x")[:2] == (0, "X!!\n")
    assert run("rollback", "ada", "bob")[0] == 0


def test_a_swap_goes_back_by_itself_when_so_many_of_its_first_tasks_fail(
    engine: Detached, run: Run, file: Path
) -> None:
    file.touch()
    before = spec_of_bob(engine)
    assert run("swap", "bob", "--with", "broken", "--rollback-after", "1/2")[0] == 0

    failed, _, _ = run("run", file)

    assert (failed, run("run", file)[:2]) == (1, (0, "X\n"))
    assert spec_of_bob(engine) == before


def spec_of_bob(engine: Detached) -> str:
    return next(one.spec for one in fold_file(engine.db).agents.values() if one.name == "bob")


def test_every_change_says_at_which_seq_it_was_applied_to_which_team_and_who_gave_it_is_in_the_journal(
    engine: Detached, run: Run, file: Path
) -> None:
    run_id = begun(run, engine.db, file)
    lines = [
        ("swap", "bob", "--with", "loud"), ("rollback", "bob"), ("capability", "bob", "--add", "toml"),
        ("set", "desk", "--max-parallel", "5"), ("strategy", "desk", "parallel", "--new-only"),
        ("strategy", "desk", "sequential"), ("pause", "bob"), ("resume", "bob"), ("priority", run_id, "0"),
        ("deadline", run_id, "10m"), ("deadline", run_id, "none"), ("cancel", run_id, "--yes", "--reason", "wrong"),
    ]  # fmt: skip

    for words in lines:
        said = listed(run, *words)
        assert (said["team"], said["db"], said["status"]) == ("desk", str(engine.db), "applied"), words
        with Reader(engine.db) as reader:
            (record,) = reader.records(said["seq"] - 1, 1)
        assert record.kind == "command_applied"
        assert json.loads(record.body)["sender"].endswith(f" quarterdeck {words[0]}")
    until(engine.db, lambda state: run_id not in state.runs)

    assert run("wait", run_id)[0] == 1
    assert [one["error"] for one in listed(run, "runs")["items"] if one["id"] == run_id] == ["wrong"]


def test_what_is_refused_says_why_and_of_which_team(run: Run) -> None:
    status, _, err = run("swap", "bob", "--with", "nothing", "--json")

    said = json.loads(err)
    assert (status, said["team"]) == (3, "desk")
    assert "nothing" in said["message"]


def test_readonly_is_for_the_dashboard_and_no_command_takes_it_for_something_else(engine: Detached, run: Run) -> None:
    seq = fold_file(engine.db).seq

    status, _, err = run("--readonly", "pause", "bob")

    assert (status, fold_file(engine.db).seq) == (2, seq)
    assert "--readonly is for the dashboard" in err


# Carry it elsewhere


@pytest.fixture
def archive(engine: Detached, run: Run, file: Path, tmp_path: Path) -> Path:
    """A team in the middle of a run, in an archive."""
    run_id = begun(run, engine.db, file)
    assert run("export", tmp_path / "crew.zip")[0] == 0
    assert run("cancel", run_id, "--yes")[0] == 0
    until(engine.db, lambda state: run_id not in state.runs)
    return tmp_path / "crew.zip"


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another folder, with the code."""
    folder = tmp_path / "there"
    folder.mkdir()
    (folder / "hands.py").write_text(HANDS)
    monkeypatch.chdir(folder)
    return folder


def test_a_run_goes_on_in_another_folder_after_its_last_step_once_it_is_resumed(
    archive: Path, there: Path, run: Run, file: Path
) -> None:
    file.touch()
    db = there / "twin.db"

    brought = listed(run, "import", archive, "--trust", db=db)

    assert [brought["creates"][kind] for kind in ("agents", "runs")] == [2, 1]
    (open_run,) = fold_file(db).runs.values()
    assert open_run.paused
    engine = start_engine(db, folder=there, bound=True)
    try:
        assert run("resume", open_run.id, db=db)[0] == 0
        assert run("wait", open_run.id, db=db)[:2] == (0, "X\n")
    finally:
        engine.end()
    assert file.with_suffix(".count").read_text() == "x"


def test_a_dry_run_says_what_an_import_would_bring_and_makes_nothing(archive: Path, there: Path, run: Run) -> None:
    status, out, _ = run("import", archive, "--dry-run", db=there / "twin.db")

    assert status == 0
    assert "brings 1 supervisor, 2 agents, 1 open run, 2 tasks" in out
    assert not list(there.glob("twin*"))


def test_an_archive_replaces_nothing_unless_it_is_forced_and_takes_the_history_along(
    engine: Detached, run: Run, tmp_path: Path
) -> None:
    assert run("export", tmp_path / "crew.zip")[0] == 0

    refused, _, _ = run("export", tmp_path / "crew.zip", "--history")
    forced, _, _ = run("export", tmp_path / "crew.zip", "--history", "--force")

    assert (refused, forced) == (2, 0)
    with ZipFile(tmp_path / "crew.zip") as archive:
        kept = [len(archive.read(name).splitlines()) for name in archive.namelist() if name.endswith(".jsonl")]
    assert fold_file(engine.db).seq in kept


def test_an_archive_that_was_changed_by_hand_is_refused_in_one_line_and_brings_nothing(
    archive: Path, there: Path, run: Run
) -> None:
    with ZipFile(archive) as good, ZipFile(there / "spoiled.zip", "w") as bad:
        for name in good.namelist():
            bad.writestr(name, good.read(name).replace(b'"desk"', b'"dusk"'))

    status, _, err = run("import", there / "spoiled.zip", "--trust", db=there / "twin.db")

    assert (status, err.count("\n")) == (2, 1)
    assert not list(there.glob("twin*"))
