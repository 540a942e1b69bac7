"""What a path or a name holds acts on no terminal and begins no line of its own, also in a pipe."""

import io
import re
import shlex
from pathlib import Path

import pytest

from dashboard.cli import main
from dashboard.cli.printing.output import CommandFailure, TextTable, emit, say, show_failure
from tests.databases import write_database
from tests.runtime.test_cli_lifecycle_errors import TEAM

FAKED = "ok     all is well"
HOSTILE = f"a\x1b[2J\u202eb\r\n{FAKED}"


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose name would act on a terminal, with a team and a database in it."""
    folder = tmp_path / HOSTILE
    folder.mkdir()
    (folder / "team.yaml").write_text(TEAM, encoding="utf-8")
    write_database(folder / "team.db", [])
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["trust", "{evil}/team.yaml"],
        ["trust", "{evil}/team.yaml", "--revoke"],
        ["trust", "{evil}/no.yaml"],
        ["check", "{evil}/team.yaml"],
        ["check", "{evil}/no.yaml"],
        ["init", "{evil}/new"],
        ["init", "{evil}"],
        ["doctor"],
        ["doctor", "--db", "{evil}/team.db"],
        ["ps", "--db", "{evil}/team.db"],
        ["ps", "--db", "{evil}/no.db"],
        ["stop", "--db", "{evil}/team.db"],
        ["pause", HOSTILE, "--db", "{evil}/team.db"],
        ["add", "{evil}/no.yaml", "--db", "{evil}/team.db"],
        ["export", "{evil}/out.zip", "--db", "{evil}/team.db"],
        ["export", "{evil}/out.zip", "--only", HOSTILE, "--db", "{evil}/team.db"],
        ["import", "{evil}/no.zip", "--db", "{evil}/team.db"],
        ["run", "x", "--db", "{evil}/team.db", "-o", "{evil}/no/out"],
        ["wait", HOSTILE, "--db", "{evil}/team.db"],
        [HOSTILE],
    ],
)
def test_a_path_is_shown_and_does_nothing(capsys: pytest.CaptureFixture[str], evil: Path, words: list[str]) -> None:
    for line in ([*words], *([[*words, "--revoke"]] if words[0] == "trust" else [])):
        main([word.format(evil=evil) if "{evil}" in word else word for word in line])

        lines = "".join(capsys.readouterr()).split("\n")
        assert all(each.isprintable() for each in lines)
        assert not any(each.startswith(FAKED) for each in lines)


@pytest.mark.parametrize("words", [["pause", "ada"], ["run", "x", "--detach"]])
def test_a_command_that_is_suggested_can_be_pasted_into_a_shell(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str]
) -> None:
    db = tmp_path / "it's $(mine); a"
    write_database(db, [])

    main([*words, "--db", str(db)])
    assert f"--db {shlex.quote(str(db))}" in capsys.readouterr().err


def test_every_path_in_a_command_that_is_suggested_is_quoted() -> None:
    bare = re.compile(r"quarterdeck [^\"']*--db \{(?!quote_path\(|shlex\.quote\(|named\}|\})")
    sources = [path for folder in ("dashboard", "engine") for path in Path(folder).rglob("*.py")]

    assert sources
    assert not [str(path) for path in sources if bare.search(path.read_text(encoding="utf-8"))]


def test_whatever_is_told_is_as_many_lines_as_were_meant(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import click

    ctx = click.Context(click.Command("x"))
    emit(ctx, "list", {}, HOSTILE)
    emit(ctx, "list", {}, [HOSTILE, HOSTILE])
    emit(ctx, "list", {}, TextTable(("A",), [(HOSTILE,)]))
    say(HOSTILE)
    show_failure(CommandFailure("x", HOSTILE, HOSTILE, 2, details=[HOSTILE]), as_json=False)

    out, err = capsys.readouterr()
    assert (out.count("\n"), err.count("\n")) == (5, 3)
    assert all(each.isprintable() for each in (out + err).split("\n"))


def test_the_output_of_a_run_goes_through_a_pipe_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dashboard.cli.printing.output import write_output

    write_output("a\tb\x1b[1m")
    assert capsys.readouterr().out == "a\tb\x1b[1m\n"

    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    write_output("a\tb\x1b[1m")
    assert terminal.getvalue() == "a   b\\x1b[1m\n"


@pytest.mark.parametrize("words", ["check {name}", "init {name}", "bogus{name}", "pause {name} --db {evil}/team.db"])
def test_a_name_as_long_as_an_argument_can_be_leaves_one_line_that_can_be_read(
    capsys: pytest.CaptureFixture[str], evil: Path, words: str
) -> None:
    main([word.format(name="n" * 100_000, evil=evil) for word in words.split()])

    told = capsys.readouterr().err
    assert len(told) < 1_100
    assert told.count("\n") == 1


def test_no_folder_is_not_this_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["init", ""]) == 2
    assert capsys.readouterr().err == "quarterdeck: '' names no folder; leave it out to write into this one\n"
    assert list(tmp_path.iterdir()) == []
