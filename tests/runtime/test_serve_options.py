"""`quarterdeck serve` with options that cannot be: one line each that says what to do, and nothing listens."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pilot.scene import audit, written
from tests.runtime.shell import Run, shell_on


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return shell_on(written(tmp_path / "team.db", audit()), capsys)


def line_of(run: Run, *options: object) -> str:
    status, out, err = run("serve", *options)
    assert (status, out, err.count("\n")) == (2, "", 1), err
    return err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--bind", "nonsense"], "is not HOST:PORT; such as --bind 127.0.0.1:8642"),
        (["--bind", "127.0.0.1:99999"], "is not HOST:PORT"),
        (["--bind", "0.0.0.0:8642"], "; give --cert FILE --key FILE, or keep to this machine and use: ssh -L"),
        (["--bind", "[::]:8642"], "there is no certificate"),
        (["--host", ""], "--host '' is not the name of a host"),
        (["--host", "https://team.example.org"], "without scheme, port or path"),
        (["--host", "team.example.org:8642"], "such as --host team.example.org"),
        (["--host", "*.example.org"], "is not the name of a host"),
        (["--cert", "x.pem"], "--cert without --key"),
        (["--key", "x.pem"], "--key without --cert"),
        (["--cert", "missing.pem", "--key", "missing.key"], "--cert missing.pem is not there"),
        (["--sessions", "0"], "0 is not in the range"),
        (["--role", "admin"], "is not one of"),
        (["--idle", "soon"], "soon"),
        (["--metrics-token-file", "missing"], "; write a long random word into a file"),
    ],
    ids=str,
)
def test_an_option_that_cannot_be_is_one_line(run: Run, options: list[str], says: str) -> None:
    assert says in line_of(run, *options)


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [("", 0o600, "holds no token"), ("short", 0o600, "holds no token"), ("a" * 40, 0o644, "can be read by others")],
)
def test_a_token_that_protects_nothing_is_refused(run: Run, tmp_path: Path, content: str, mode: int, says: str) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(mode)

    assert says in line_of(run, "--metrics-token-file", file)


def test_a_certificate_that_is_none_is_refused(run: Run, tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    cert.write_text("hello")
    key.write_text("hello")

    assert "cannot be used: they are not a pair in PEM" in line_of(run, "--cert", cert, "--key", key)


def test_a_port_that_is_taken_is_told(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = line_of(run, "--bind", f"127.0.0.1:{port}")

    assert f"cannot listen on 127.0.0.1:{port}" in line
    assert "choose another port with --bind" in line


def test_a_database_that_is_not_there_is_told(run: Run, tmp_path: Path) -> None:
    status, _, err = run("serve", db=tmp_path / "none.db")

    assert (status, err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("place", "says"),
    [("nowhere", "there is no screen 'nowhere'; there are network"), ("agent", "which agent?"), ("A B", "not a place")],
)
def test_a_place_that_is_none_is_one_line(tmp_path: Path, place: str, says: str) -> None:
    db = written(tmp_path / "team.db", audit())
    done = subprocess.run(
        [sys.executable, "-P", "-m", "dashboard", "--db", str(db), "--open", place],
        capture_output=True, text=True, check=False, env=os.environ | {"TEXTUAL_DRIVER": "none:None"},
    )  # fmt: skip

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert says in done.stderr


def test_a_place_is_for_the_dashboard_alone(run: Run) -> None:
    status, _, err = run("--open", "tasks", "ps")

    assert status == 2
    assert "--open is for the dashboard" in err
