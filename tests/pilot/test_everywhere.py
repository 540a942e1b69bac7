"""Every screen and page on a team at work, in the past, and on a file that somebody sent: it opens, shows, goes back.

Screens and pages are found by their files, so a new one is walked over too.
"""

import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
import pytest

from dashboard.app.app import QuarterdeckApp
from store import Reader
from tests.patience import PATIENCE_S
from tests.pilot.journey import OF_EVERY_PLACE, SIZE, Journey
from tests.pilot.scene import written
from tests.pilot.trouble import trouble

BLANK = 10
"""Characters that even an empty screen shows below its tabs."""


class Seen:
    """Looks at each stop: something is shown, and no moment but the one that was asked for."""

    def __init__(self, app: QuarterdeckApp, *, past: bool = False) -> None:
        self._app, self._past = app, past
        self.stops: list[str] = []

    def __call__(self, where: str) -> None:
        app = self._app
        lines = ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]
        shown = "".join("".join(lines[3:-3]).split())
        assert len(shown) > BLANK, f"{where} shows nothing:\n" + "\n".join(lines)
        assert app._exception is None, where
        assert app.past.is_shown == self._past, where
        assert "defect" not in shown, where
        self.stops.append(where)


def assert_nobody_reads(writer: sqlite3.Connection, where: str) -> None:
    """Take the log into the database, which waits for every transaction that reads from it."""
    (version,) = writer.execute("PRAGMA user_version").fetchone()
    writer.execute(f"PRAGMA user_version = {version}")
    (busy, *_) = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert not busy, f"{where} holds a transaction open"


async def walked(
    app: QuarterdeckApp,
    *,
    seq: int | None = None,
    keys: Sequence[str] = OF_EVERY_PLACE,
    looks: Callable[[str], None] = lambda where: None,
) -> Seen:
    """Go everywhere, at a moment of the past if one is said, and press these keys on every screen."""
    seen = Seen(app, past=seq is not None)

    def stop(where: str) -> None:
        seen(where)
        looks(where)

    async with app.run_test(size=SIZE) as pilot:
        journey = Journey(pilot, stop)
        await journey.begin()
        if seq is not None:
            app.past.goto_seq(seq)
            await journey.until(lambda: app.past.is_shown and app.view.state.seq == seq)
        await journey.every_place(keys)
        await journey.every_page()
    assert app.return_code in (None, 0)
    return seen


@pytest.mark.anyio
async def test_every_place_works_on_a_team_at_work(engine: subprocess.Popen[bytes], tmp_path: Path) -> None:
    await walked(QuarterdeckApp(tmp_path / "team.db"))

    assert engine.poll() is None


def test_every_place_works_at_a_moment_of_the_past_and_holds_no_transaction_open(tmp_path: Path) -> None:
    db = written(tmp_path / "team.db", trouble())
    with closing(sqlite3.connect(db, timeout=PATIENCE_S, isolation_level=None)) as writer:
        anyio.run(lambda: walked(QuarterdeckApp(db), seq=60, keys="d", looks=partial(assert_nobody_reads, writer)))

    with Reader(db) as reader:
        assert reader.last_seq() == len(trouble().journal)


def test_every_place_works_on_a_file_that_somebody_sent_in_a_folder_that_is_theirs(tmp_path: Path) -> None:
    """The code of its agents is not here, and nothing beside it can be written."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    db = written(folder / "team.db", trouble())
    before = db.read_bytes()
    folder.chmod(0o555)
    try:
        anyio.run(lambda: walked(QuarterdeckApp(db, readonly=True), keys="y"))
    finally:
        folder.chmod(0o755)

    assert db.read_bytes() == before
