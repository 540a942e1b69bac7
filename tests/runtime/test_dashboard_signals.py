"""The dashboard at a real terminal, and signals from elsewhere."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path

from tests.databases import busy_world, write_database
from tests.patience import PATIENCE_S

LEAVES_ALTERNATE_SCREEN = b"\x1b[?1049l"


def read_until(controller: int, holds: bytes) -> bytes:
    shown = b""
    while holds not in shown:
        assert select.select([controller], [], [], PATIENCE_S)[0], shown[-300:]
        shown += os.read(controller, 65_536)
    return shown


def test_a_dashboard_that_is_told_to_end_gives_the_terminal_back(tmp_path: Path) -> None:
    database = write_database(tmp_path / "team.db", busy_world().journal)
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (30, 100))
    before = termios.tcgetattr(terminal)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "dashboard", "--db", str(database)], stdin=terminal, stdout=terminal,
        stderr=terminal, start_new_session=True, env=os.environ | {"TERM": "xterm-256color"},
    )  # fmt: skip
    try:
        read_until(controller, b"QUARTERDECK")
        process.send_signal(signal.SIGTERM)
        read_until(controller, LEAVES_ALTERNATE_SCREEN)

        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
        assert termios.tcgetattr(terminal) == before
    finally:
        process.kill()
        process.wait()
        os.close(controller)
        os.close(terminal)
