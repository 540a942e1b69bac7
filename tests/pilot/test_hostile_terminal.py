"""Whatever stands in a file, a terminal gets nothing but text from it: read from the bytes of a real one.

The dashboard runs in a process with a terminal of its own and walks over all screens, pages and actions by itself
(`journey`). At each stop it draws the whole screen once more between two marks, and its lines are measured.
"""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import anyio
import pytest
from wcwidth import wcwidth

from dashboard.app.app import QuarterdeckApp
from dashboard.clean import MARKS
from engine.platform.garbage import collect_rarely
from store import open_store
from tests.patience import PATIENCE_S
from tests.pilot.journey import SIZE, Journey
from tests.pilot.poison import KINDS, MARK, hostile, poisoned, worlds
from tests.pilot.scene import written

COLUMNS, LINES = SIZE
ROOT = Path(__file__).resolve().parents[2]
OF_A_TERMINAL = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(COLUMNS), "LINES": str(LINES)}
BEGINS, ENDS = "\x1b]7;stop {}\x07", "\x1b]7;over\x07"
OURS = re.compile(
    r"\x1b\[[0-9;:]*m"  # colours
    r"|\x1b\[[0-9;]*H"  # where to draw
    r"|\x1b\[[?<>=]?[0-9;]*[hlu]"  # modes, and keys that are told apart
    r"|\x1b\[\?[0-9;]*\$p|\x1b\[c|\x1b\[>q|\x1b\[6n|\x1b\[2[23];0t|\x1b\[[0-9;]*t"  # questions, the title of before
    r"|\x1b\]0;[^\x00-\x1f\x7f-\x9f]*\x07|\x1b\]22;[a-z-]*\x07|\x1b\]52;c;[A-Za-z0-9+/=]*\x07"
    r"|\x1b\]7;[^\x00-\x1f\x7f-\x9f]*\x07"  # marks of this test
    r"|\x1b_G[^\x1b]*\x1b\\|\x1bP\+q[0-9a-f;]*\x1b\\"
    r"|\n|\r|\x07"
)
STOP = re.compile(r"\x1b\]7;stop ([^\x07]*)\x07(.*?)\x1b\]7;over\x07", re.DOTALL)
HOME = re.compile(r"\x1b\[[0-9;]*H|\n")


def strange(drawn: str) -> list[str]:
    """Return what a terminal would do more with than to print it, but for what the dashboard says itself."""
    text = OURS.sub("", drawn)
    found = [repr(text[max(0, place - 20) : place + 20]) for place, sign in enumerate(text) if not sign.isprintable()]
    marks = re.findall(rf"[\u0300-\u036f\u0489\u20d0-\u20ff]{{{MARKS + 1},}}", text)
    return found + marks


def widths(frame: str) -> set[int]:
    """Return how wide a terminal draws the lines of a frame."""
    lines = [OURS.sub("", line) for line in HOME.split(frame)]
    return {sum(map(wcwidth, line)) for line in lines if line}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_would_be_found(kind: str) -> None:
    letters_alone = kind.isprintable() and not strange(kind)

    assert strange(kind) or letters_alone
    assert letters_alone == (kind in (KINDS[5], KINDS[9]))


def walk(db: str, everything: bool) -> None:
    """Walk over a dashboard in this terminal; runs in a process of its own."""

    async def go(pilot: object) -> None:
        app = pilot.app  # type: ignore[attr-defined]

        def look(where: str) -> None:
            if app._exception is not None:
                raise app._exception
            name = "".join(sign for sign in where if sign.isprintable() and sign not in "\\")
            app._driver.write(BEGINS.format(name))
            app._display(app.screen, app.screen._compositor.render_full_update())
            app._driver.write(ENDS)

        journey = Journey(pilot, look)  # type: ignore[arg-type]
        await journey.begin()
        await journey.every_place()
        await journey.every_page()
        await journey.pasted(hostile(0))
        if everything:
            await journey.typed(hostile(0))
            await journey.every_action("network", 3)
            for place in ("tasks", "runs", "inbox"):
                await journey.every_action(place, 0, writes=True)
        app.exit(0)

    collect_rarely()
    app = QuarterdeckApp(Path(db))
    status = app.run(auto_pilot=go)
    sys.exit(status if app.return_code == 0 else 1)


def made(folder: Path, scene: str) -> Path:
    """Write a file full of what is hostile: journal, live texts, log, and its own name."""
    work, said = worlds()[scene]()
    work.journal = poisoned(work.journal, long=scene == "trouble")
    db = written(folder / f"\u202e{MARK}[red]\x1b[2J.db", work)
    live = {key: f"{text[:20]}{hostile(place)}" for place, (key, text) in enumerate(said.items())}
    call = {"name": hostile(7), "arguments": {hostile(1): "x"}, "since_ms": 1e30}
    numbers = ('{"done": 1e999, "total": "\\u00b2"}', '{"pid": "\\u001b[2J", "rss_bytes": 1e999}', "[" * 9_999)
    for place, task in enumerate(work.state.tasks.values()):
        live |= {f"output:{task.id}": hostile(place) * 9, f"thought:{task.id}": hostile(place)}
        live |= {f"progress:{task.id}": numbers[place % 3], f"process:{task.id}": numbers[(place + 1) % 3]}
        live[f"call:{task.id}"] = json.dumps([call])
    live["engine.banner"] = hostile(3)
    live[f"output:{next(iter(work.state.tasks))}"] = hostile(4) * 5_000

    async def publish() -> None:
        async with open_store(db) as store:
            for key, text in live.items():
                store.live.put(key, text)

    anyio.run(publish)
    Path(f"{db}.log").write_text("\n".join(hostile(place) for place in range(20)) + hostile(0) * 1_000)
    return db


def test_nothing_but_clean_text_reaches_the_terminal(tmp_path: Path) -> None:
    assert_clean(made(tmp_path, "talking"), everything=False, least=120)


def assert_clean(db: Path, *, everything: bool, least: int) -> None:
    """Walk over a file, and hold what the terminal gets at each stop, so many at least, against what it may get."""
    drawn, status = at_a_terminal(db, everything)
    assert status == 0, drawn[-2_000:]
    assert strange(drawn) == []
    stops = STOP.findall(drawn)
    assert len(stops) > least
    assert {where: other for where, frame in stops if (other := widths(frame) - {COLUMNS})} == {}
    assert sum(MARK in frame for _, frame in stops) > len(stops) // 2


def at_a_terminal(db: Path, everything: bool) -> tuple[str, int]:
    """Return what a walk writes to its terminal, and its status."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    program = f"import sys; from tests.pilot.test_hostile_terminal import walk; walk(sys.argv[1], {everything})"
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(db)], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, **OF_A_TERMINAL, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    os.close(theirs)
    written_bytes, until_s = bytearray(), time.monotonic() + PATIENCE_S * (4 if everything else 1)
    try:
        while time.monotonic() < until_s and select.select([ours], [], [], max(0.0, until_s - time.monotonic()))[0]:
            try:
                written_bytes += os.read(ours, 1 << 16)
            except OSError:  # it has ended
                break
        return written_bytes.decode("utf-8", "backslashreplace"), process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
