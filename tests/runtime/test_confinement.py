"""What the process of a browser's tab may not do, tried from inside such a process."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.databases import busy_world, write_database

CONFINED = """
import os, socket, subprocess, sqlite3, sys
from pathlib import Path
from dashboard.client import Client
from dashboard.web.confinement import Confined, confine
from engine.core.commands import Pause
folder, db, viewer = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "viewer"
confine(folder, viewer=viewer)
try:
    {code}
except Confined as refused:
    print("confined:", refused)
else:
    print("done")
"""


def tried(tmp_path: Path, code: str, role: str = "operator") -> str:
    folder, db = tmp_path / "own", tmp_path / "team.db"
    folder.mkdir()
    write_database(db, busy_world().journal)
    done = subprocess.run(
        [sys.executable, "-P", "-c", CONFINED.format(code=code), str(folder), str(db), role],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


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
def test_programs_the_network_and_files_of_others_are_out_of_reach(tmp_path: Path, code: str) -> None:
    assert tried(tmp_path, code).startswith("confined: a tab of the web dashboard may not")


@pytest.mark.parametrize(
    "code",
    [
        "(folder / 'x').write_text('x')",
        "(folder / 'in').mkdir()",
        "open('/etc/hostname').read()",
        "Client(db).send(Pause(target='ada'))",
    ],
)
def test_its_own_folder_and_the_inbox_are_an_operators(tmp_path: Path, code: str) -> None:
    assert tried(tmp_path, code) == "done"


@pytest.mark.parametrize(
    "code",
    [
        "Client(db).send(Pause(target='ada'))",
        "sqlite3.connect(f'{db}-inbox')",
        "sqlite3.connect(f'file:{db}%2Dinbox?mode=rw', uri=True)",
        "open(f'{db}-inbox', 'r+b')",
    ],
)
def test_a_viewer_has_no_inbox(tmp_path: Path, code: str) -> None:
    assert tried(tmp_path, code, "viewer").startswith("confined:")
