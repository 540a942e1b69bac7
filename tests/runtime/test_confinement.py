"""What the process of a browser's tab may not do, tried from inside such a process."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.databases import busy_world, write_database

CONFINED = """
import json, os, socket, subprocess, sqlite3, sys
from pathlib import Path
from engine.supervisor.client import Client
from dashboard.web.confinement import Confined, confine
from engine.core.commands import Pause

for line in sys.stdin:
    code, folder, db, role = json.loads(line)
    if not (child := os.fork()):
        folder, db = Path(folder), Path(db)
        confine(folder, viewer=role == "viewer")
        try:
            exec(code)
        except Confined as refused:
            print("confined:", refused, flush=True)
        else:
            print("done", flush=True)
        os._exit(0)
    print("ended with", os.waitpid(child, 0)[1], flush=True)
"""
Tried = Callable[..., str]


@pytest.fixture(scope="module")
def loaded() -> Iterator["subprocess.Popen[str]"]:
    """A process that begins another one for each try: loading what they need costs more than all of them."""
    program = [sys.executable, "-P", "-c", CONFINED]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


@pytest.fixture
def tried(loaded: "subprocess.Popen[str]", tmp_path: Path) -> Tried:
    folder, db = tmp_path / "own", tmp_path / "team.db"
    folder.mkdir()
    write_database(db, busy_world().journal)

    def run(code: str, role: str = "operator") -> str:
        assert loaded.stdin is not None
        assert loaded.stdout is not None
        loaded.stdin.write(json.dumps([code, str(folder), str(db), role]) + "\n")
        loaded.stdin.flush()
        said = []
        while not (line := loaded.stdout.readline()).startswith("ended with"):
            assert line
            said.append(line.strip())
        assert line == "ended with 0\n"
        return "\n".join(said)

    return run


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run(['true'])",
        "subprocess.run([sys.executable, '-P', '-m', 'engine.archive.childish'])",
        "os.system('true')",
        "os.execv('/bin/true', ['true'])",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "os.fork()",
        "socket.create_connection(('127.0.0.1', 9))",
        "socket.socket().bind(('127.0.0.1', 0))",
        "(folder.parent / 'x').write_text('x')",
        "os.open(folder.parent / 'x', os.O_CREAT | os.O_WRONLY)",
        "(folder / '..' / 'x').write_text('x')",
        "os.symlink(folder.parent / 'x', folder / 'link')",
        "db.unlink()",
        "os.rename(db, folder / 'team.db')",
        "(folder.parent / 'new').mkdir()",
    ],
)
def test_programs_the_network_and_files_of_others_are_out_of_reach(tried: Tried, code: str) -> None:
    assert tried(code).startswith("confined: a tab of the web dashboard may not")


@pytest.mark.parametrize(
    "code",
    [
        "(folder / 'x').write_text('x')",
        "(folder / 'in').mkdir()",
        "open('/etc/hostname').read()",
        "Client(db).send(Pause(target='ada'))",
    ],
)
def test_its_own_folder_and_the_inbox_are_an_operators(tried: Tried, code: str) -> None:
    assert tried(code) == "done"


@pytest.mark.parametrize(
    "code",
    [
        "Client(db).send(Pause(target='ada'))",
        "sqlite3.connect(f'{db}-inbox')",
        "sqlite3.connect(f'file:{db}%2Dinbox?mode=rw', uri=True)",
        "open(f'{db}-inbox', 'r+b')",
    ],
)
def test_a_viewer_has_no_inbox(tried: Tried, code: str) -> None:
    assert tried(code, "viewer").startswith("confined:")
