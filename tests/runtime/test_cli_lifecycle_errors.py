"""What the command line says when something cannot be: one line, what to do next, and a status that scripts rely on."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.cli import main, quarterdeck
from dashboard.cli.doctor import sqlite_finding
from dashboard.cli.group import COMMANDS
from dashboard.cli.printing.output import TextTable
from dashboard.engines.process import start_engine
from engine.core.commands import Submit
from store import MissingFolder
from tests.databases import write_database
from tests.runtime.console import PROGRAM
from tests.world import agent, team_world

TEAM = "version: 1\nsupervisor: {name: chief}\nagents: [{name: a, script: []}]\n"


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Status, stdout and stderr of one line."""
    status = main(words)
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["agnts"], "there is no command 'agnts'; did you mean agents?"),
        (["xyzzy"], "there is no command 'xyzzy'; see: quarterdeck --help"),
        (["team.db"], "there is no command 'team.db'; to open a database: quarterdeck --db team.db"),
        (["check", "--nope"], "no such option '--nope'; see: quarterdeck check --help"),
        (["up"], "there is no team.yaml in this folder; name a team file, or write one: quarterdeck init"),
        (["ps", "--db", ""], "invalid value for '--db': it is empty; give a path; see: quarterdeck ps --help"),
        (["ps", "--db", "no.db"], "{here}/no.db does not exist: check the path, or make one: quarterdeck up TEAM"),
        (["stop", "--db", "no.db"], "{here}/no.db does not exist: check the path, or make one: quarterdeck up TEAM"),
        (["engine", "--db", "no.db"], "{here}/no.db does not exist; begin with a team: quarterdeck up TEAM"),
        (["run", " ", "--db", "no.db"], "the request is empty; say what to do: quarterdeck run 'Write …'"),
        (["run", "x", "--db", "no.db", "-o", "no/x"], "the folder {here}/no does not exist; make it first"),
        (["run", "x", "--db", "no.db", "-o", "."], ". is a folder; name a file"),
        (["ps"], "there is no team yet; see one at work: quarterdeck demo; or begin your own: quarterdeck init"),
        (["trust"], "give a team file, or --list; see: quarterdeck trust --help"),
        (["check"], "there is no team.yaml in this folder; name a team file, or write one: quarterdeck init"),
        (["demo", "no"], "no is not a folder; name a folder of source code, or take --stdlib"),
        (["demo", ".", "--stdlib"], "give a folder or --stdlib, not both; see: quarterdeck demo --help"),
        (["--json"], "the dashboard has no JSON; ask with a command: quarterdeck ps --json"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], line: str
) -> None:
    line = line.format(here=tmp_path)
    if words == ["--json"]:
        status, out, err = said(capsys, *words)
        assert json.loads(err)["message"] in line
        assert (status, out) == (2, "")
        return

    assert said(capsys, *words) == (2, "", f"quarterdeck: {line}\n")


@pytest.mark.parametrize(
    ("words", "out"), [(["check"], "team.yaml: all is well\n"), (["up", "--dry-run"], "no team is loaded in ")]
)
def test_the_team_file_of_the_folder_needs_no_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], out: str
) -> None:
    (tmp_path / "team.yaml").write_text("version: 1\nsupervisor: {name: desk}\nagents: [{name: a, run: json:dumps}]\n")

    status, found, err = said(capsys, *words)

    assert (status, found.startswith(out), err) == (0, True, "")


@pytest.mark.parametrize("words", [["ps"], ["run", "x"], []])
def test_a_folder_whose_team_was_never_up_says_how_to_start_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str]
) -> None:
    file = tmp_path / "team.yaml"
    file.write_text("version: 1\nsupervisor: {name: desk}\nagents: [{name: a, run: json:dumps}]\n")

    line = f"quarterdeck: the team of {file} was never started; start it: quarterdeck up {file}\n"
    assert said(capsys, *words) == (2, "", line)


def test_with_json_a_mistake_is_an_object_on_stderr_also_where_the_line_is_not_understood(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = said(capsys, "check", "--json", "--nope")

    assert (status, out) == (2, "")
    assert json.loads(err) == {
        "v": 1,
        "kind": "error",
        "code": "usage",
        "message": "no such option '--nope'",
        "hint": "see: quarterdeck check --help",
    }


def test_a_team_file_with_faults_is_told_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text("version: 1\nsupervisor: {nam: x}\nagents: [{name: 1}]\n")

    status, out, err = said(capsys, "check", "team.yaml")
    json_status, json_out, _ = said(capsys, "check", "team.yaml", "--json")

    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "team.yaml:2: supervisor.name: is missing; every supervisor and agent has one",
        "team.yaml:2: supervisor.nam: is not a key here; did you mean name?",
        "team.yaml:3: agents[1].name: must be text, not the number 1",
    ]
    found = json.loads(json_out)
    assert (json_status, found["ok"], len(found["problems"])) == (2, False, 3)
    assert found["problems"][1] == {
        "line": 2,
        "field": "supervisor.nam",
        "message": "is not a key here; did you mean name?",
    }


def test_a_good_file_is_said_to_be_good_and_the_schema_is_json(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "team.yaml").write_text(TEAM)

    assert said(capsys, "check", "team.yaml") == (0, "team.yaml: all is well\n", "")
    assert json.loads(said(capsys, "check", "--schema")[1])["title"] == "Quarterdeck team file"


def test_a_file_with_warnings_is_not_said_to_be_well(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(TEAM.replace("agents:", "mcp: {files: {argv: [no-such-program]}}\nagents:", 1))

    status, out, _ = said(capsys, "check", "team.yaml", "--no-servers")

    assert status == 0
    first, warning, *_ = out.splitlines()
    assert first == "team.yaml: no faults, and 1 warning"
    assert warning.startswith("team.yaml: mcp.files: no program 'no-such-program' in PATH")


def test_init_writes_a_team_that_is_well_and_never_writes_over_anything(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = said(capsys, "init", "mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "crew.py").symlink_to("nowhere")
    second = said(capsys, "init", "other")

    assert first[0] == 0
    assert said(capsys, "check", "mine/team.yaml", "--trust") == (0, "mine/team.yaml: all is well\n", "")
    assert said(capsys, "init", "mine/crew.py")[2].startswith("quarterdeck: mine/crew.py cannot be made: ")
    assert second == (2, "", "quarterdeck: other/crew.py already exists, nothing was written; name another folder\n")
    assert not (tmp_path / "other" / "team.yaml").exists()


def test_a_key_that_a_function_of_its_text_cannot_use_is_told_once_its_code_is_trusted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "crew_of_text.py").write_text("def shout(text): return text.upper()\n")
    agent = "{name: a, run: 'crew_of_text:shout', step_timeout_s: 2}"
    (tmp_path / "team.yaml").write_text(f"version: 1\nsupervisor: {{name: desk}}\nagents: [{agent}]\n")

    assert said(capsys, "check", "team.yaml")[0] == 0
    status, _, error = said(capsys, "check", "team.yaml", "--trust")
    assert status == 2
    assert "agents[a].step_timeout_s: does nothing for a function that takes its text alone" in error


@pytest.mark.parametrize("template", ["research", "code-review"])
def test_every_template_is_well_with_scripted_answers_and_with_a_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, template: str
) -> None:
    said(capsys, "init", "scripted", "--template", template, "--offline")
    said(capsys, "init", "real", "--template", template, "--model", "openai/gpt-4o-mini")

    assert said(capsys, "check", "scripted/team.yaml", "--trust")[:2] == (0, "scripted/team.yaml: all is well\n")
    assert said(capsys, "check", "real/team.yaml", "--trust")[:2] == (0, "real/team.yaml: all is well\n")
    assert "replies" not in (tmp_path / "real" / "team.yaml").read_text()


def test_reviewers_of_a_repository_without_a_commit_are_told_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    said(capsys, "init", "reviews", "--template", "code-review", "--offline")
    subprocess.run(["git", "-C", str(tmp_path), "init", "--quiet"], check=True)
    tools = runpy.run_path(str(tmp_path / "reviews" / "repository.py"))

    assert tools["change"]() == "There is no commit to compare with yet; commit once, then ask again."


def test_a_key_in_the_environment_is_used_and_said_and_stands_in_no_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-key")
    found = said(capsys, "init", "mine", "--template", "research")
    offline = said(capsys, "init", "offline", "--template", "research", "--offline")
    written = (tmp_path / "mine" / "team.yaml").read_text()

    assert "because ANTHROPIC_API_KEY is set; --offline writes scripted answers" in found[1]
    assert 'lead: {model: "anthropic/claude-haiku-4-5"}' in written
    assert "sk-planted-key" not in written + found[1] + found[2]
    assert "model:" not in offline[1]
    assert "replies:" in (tmp_path / "offline" / "team.yaml").read_text()


def test_a_model_whose_key_is_not_set_is_written_and_the_variable_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    missing = said(capsys, "init", "mine", "--template", "research", "--model", "mistral/mistral-small-latest")
    local = said(capsys, "init", "local", "--template", "research", "--model", "ollama_chat/llama3.2")

    assert "needs:     MISTRAL_API_KEY where the engine runs; it is not set here\n" in missing[1]
    assert (missing[0], local[0], "needs:" in local[1]) == (0, 0, False)


def test_a_model_for_a_template_without_models_is_refused_and_nothing_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    refused = said(capsys, "init", "mine", "--model", "openai/gpt-4o-mini", "--template", "functions")

    assert refused[0] == 2
    assert "no agent of functions uses a model" in refused[2]
    assert not (tmp_path / "mine").exists()


def test_what_is_trusted_is_listed_and_revoked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "team.yaml").write_text(TEAM.replace("script: []", 'run: "crew:work"'))

    assert said(capsys, "trust", "team.yaml")[0] == 0
    (item,) = json.loads(said(capsys, "trust", "--list", "--json")[1])["items"]
    assert (item["path"], item["references"]) == (str(tmp_path / "team.yaml"), ["crew:work"])
    assert said(capsys, "trust", "team.yaml", "--revoke")[0] == 0
    assert said(capsys, "trust", "--list") == (0, "no file is trusted\n", "")
    assert said(capsys, "trust", "team.yaml", "--revoke")[0] == 2


def test_without_a_team_the_dashboard_says_how_to_get_one(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = said(capsys)

    assert (status, out) == (2, "")
    assert all(command in err for command in ("quarterdeck demo", "quarterdeck init", "quarterdeck up team.yaml"))


def test_without_a_terminal_there_is_no_dashboard(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_database(tmp_path / "team.db", [])

    status, _, err = said(capsys, "--db", "team.db")

    assert status == 2
    assert (
        err == f"quarterdeck: there is no terminal to draw on; look with: quarterdeck ps --db {tmp_path / 'team.db'}\n"
    )


def test_where_several_databases_are_meant_they_are_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "data" / "quarterdeck"
    (folder / "demo").mkdir(parents=True)
    for name in ("one.db", "demo/two.db"):
        write_database(folder / name, [])
    (folder / "notes.db").write_text("not ours")

    status, _, err = said(capsys, "ps")

    assert status == 2
    assert err.splitlines() == [
        "quarterdeck: no engine is at work; say which with --db FILE:",
        f"  {folder / 'demo/two.db'}  no engine  no team",
        f"  {folder / 'one.db'}  no engine  no team",
    ]


def test_the_database_of_the_environment_is_taken_and_an_option_wins(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUARTERDECK_DB", str(tmp_path / "variable.db"))

    assert "variable.db does not exist" in said(capsys, "stop")[2]
    assert "option.db does not exist" in said(capsys, "stop", "--db", "option.db")[2]
    assert "front.db does not exist" in said(capsys, "--db", "front.db", "stop")[2]


def test_stop_without_an_engine_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_database(tmp_path / "team.db", [])

    status, _, err = said(capsys, "stop", "--db", "team.db")

    assert status == 4
    assert "no engine is at work on" in err


def test_doctor_names_each_fault_with_what_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_database(tmp_path / "team.db", [])
    (tmp_path / "other.db").write_text("not ours")

    well = json.loads(said(capsys, "doctor", "--verify", "--json", "--db", "team.db")[1])
    status, out, _ = said(capsys, "doctor", "--db", "other.db")

    assert well["ok"]
    assert {"quarterdeck", "Python", "SQLite", "textual"} <= {item["what"] for item in well["items"]}
    assert status == 2
    assert "FAULT" in out.splitlines()[-1]
    path = tmp_path / "other.db"
    assert out.splitlines()[-1] == (
        f"FAULT  {path}: is not a database, not one of our files; nothing was changed: choose another path"
    )


def test_an_engine_does_not_start_on_an_empty_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "team.db").touch()

    status, _, err = said(capsys, "engine", "--db", "team.db")

    assert status == 2
    assert f"{tmp_path / 'team.db'} is empty; begin with a team: quarterdeck up TEAM" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is full")
def test_an_output_that_finds_no_room_is_told_with_the_way_to_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    world = team_world(agent("ada", "parse"))
    world.order(Submit(request="audit"))
    world.settle()
    database = write_database(tmp_path / "team.db", world.journal)
    status, _, err = said(capsys, "wait", "r1", "-o", "/dev/full", "--db", str(database))

    assert status == 2
    assert "is done, but /dev/full cannot be written (No space left on device)" in err
    assert f"print its output: quarterdeck wait r1 --db {database}" in err

    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([*PROGRAM, "ps", "--db", database], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2
    assert ended.stderr.startswith("quarterdeck: what is to be printed cannot be written (No space left on device)")


def test_an_engine_is_not_started_in_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingFolder):
        start_engine(tmp_path / "missing" / "team.db")


@pytest.mark.parametrize(
    ("version", "level"),
    [((3, 37, 2), "fault"), ((3, 38, 0), "note"), ((3, 51, 2), "note"), ((3, 51, 3), "ok"), ((3, 52, 0), "ok")],
)
def test_a_sqlite_that_can_damage_a_log_is_told(version: tuple[int, int, int], level: str) -> None:
    assert sqlite_finding(version).level == level


def test_every_command_that_help_names_is_there_and_takes_what_all_take() -> None:
    context = click.Context(click.Group("quarterdeck"))
    for name in COMMANDS:
        command = quarterdeck.get_command(context, name)
        assert command is not None
        options = [option for parameter in command.params for option in parameter.opts]
        assert {"--db", "--json", "--debug"} <= set(options), name
        assert len(options) == len(set(options)), name


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["agnts"]])
def test_help_loads_nothing_that_takes_its_time(words: list[str]) -> None:
    heavy = {"textual", "litellm", "pydantic", "anyio", "store", "engine", "rich"}
    program = (
        f"import sys\nfrom dashboard.cli import main\nmain({words})\nprint('LOADED', *({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "LOADED"


def test_a_package_in_the_place_of_ours_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("raise SystemExit('the wrong one')")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dashboard", "doctor"],
        env=os.environ | {"PYTHONPATH": "."}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "takes the place of quarterdeck's own package 'engine'" in done.stderr


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dashboard", "check", "--schema"],
        stdout=writing, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(writing)

    assert (done.returncode, done.stderr) == (0, b"")


words = st.sampled_from(
    [
        "check",
        "trust",
        "doctor",
        "wait",
        "stop",
        "run",
        "--db",
        "x",
        "team.yaml",
        "--json",
        "--list",
        "-o",
        "",
        "\udcff",
        "…",
        "--",
    ]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(words, max_size=6))
def test_whatever_is_typed_there_is_no_traceback(capsys: pytest.CaptureFixture[str], line: list[str]) -> None:
    status, _, err = said(capsys, *line)

    assert status in (0, 2, 3, 4)
    assert "defect" not in err
    assert "Traceback" not in err


cells = st.none() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8"), max_size=8)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=5))
def test_a_table_is_as_many_lines_as_it_has_rows_and_holds_nothing_a_terminal_acts_on(rows: list[Any]) -> None:
    lines = TextTable(("LEFT", "RIGHT"), rows).lines()

    assert len(lines) == 1 + len(rows)
    assert all(line.isprintable() for line in lines)


def test_a_team_that_cannot_be_written_whole_is_not_written_at_all(tmp_path: Path) -> None:
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)); import dashboard.cli"
    done = subprocess.run(
        [sys.executable, "-c", f"{limited}; sys.exit(dashboard.cli.main(['init', 'new/team']))"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == 2
    assert "new/team/team.yaml cannot be written: File too large; make room" in done.stderr
    assert [*tmp_path.iterdir()] == []
