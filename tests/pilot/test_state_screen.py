"""The State screen: moments that are stored, archives and forks beside the file, and the way into each."""

from pathlib import Path

import anyio
import pytest

from dashboard.dialogs.files import ExportDialog, ImportDialog
from dashboard.dialogs.fork import ForkDialog
from dashboard.widgets.lines import Lines
from dashboard.widgets.pane import Pane
from engine.archive import export_archive
from engine.core.encoding.codec import encode_state
from engine.core.fold import fold
from engine.core.state import State
from engine.history.forking import fork
from store import open_store
from tests.pilot.engines import until
from tests.pilot.hand import opened
from tests.pilot.scene import audit

pytestmark = pytest.mark.anyio
AT = 40


async def snapshot_at(db: Path, seq: int) -> None:
    state = State()
    fold(state, audit().journal[:seq])
    async with open_store(db) as store:
        await store.snapshots.save(seq, encode_state(state))


async def test_a_snapshot_is_a_moment_to_go_back_to_and_the_newest_row_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await snapshot_at(tmp_path / "team.db", AT)
        await hand.press("9")
        await until(hand.pilot, lambda: list(hand.table.rows.keys) == ["newest", str(AT)])
        facts = hand.app.screen.query_one("#facts", Lines).text
        assert f"{hand.work.state.seq} events, 1 snapshot" in facts
        await hand.press("j", "enter")
        await until(hand.pilot, lambda: hand.app.past.is_shown and hand.app.view.state.seq == AT)
        hand.table.select("newest")
        await hand.press("enter")
        assert not hand.app.past.is_shown


async def test_what_the_newest_moment_holds_is_at_work_also_while_a_past_one_is_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        for keys in (("9",), ("left_square_bracket",)):
            await hand.press(*keys)
            await until(hand.pilot, lambda: "HOLDS" in hand.app.screen.query_one("#below", Lines).text)
            await until(hand.pilot, lambda: "reading" not in hand.app.screen.query_one("#below", Lines).text)
            assert "suspended" not in hand.app.screen.query_one("#below", Lines).text
        assert hand.app.past.is_shown


async def test_archives_and_forks_beside_the_file_are_listed_and_opened(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        db = tmp_path / "team.db"
        archive, forked = tmp_path / "team.2026.zip", tmp_path / "team.at-40.db"
        await anyio.to_thread.run_sync(export_archive, db, archive)
        await anyio.to_thread.run_sync(lambda: fork(db, forked, at_seq=AT))
        (tmp_path / "other.zip").write_text("not of this team")
        await hand.press("9")
        await until(hand.pilot, lambda: {str(archive), str(forked)} < set(hand.table.rows.keys))
        assert len(hand.table.rows.keys) == 3
        hand.table.select(str(archive))
        await hand.press("enter")
        assert isinstance(hand.app.screen, ImportDialog)
        await hand.press("escape")
        hand.table.select(str(forked))
        await hand.press("enter")
        assert hand.app.next_path == forked


async def test_what_an_archive_would_bring_goes_when_another_one_is_named(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        archive = tmp_path / "out.zip"
        await anyio.to_thread.run_sync(export_archive, tmp_path / "team.db", archive)
        await hand.press(*f":import {archive}", "enter")
        told = hand.app.screen.query_one("#details", Pane)
        await until(hand.pilot, lambda: "brings" in told.text)

        await hand.press("end", "x")
        assert "brings" not in told.text
        await hand.press("backspace", "enter")
        await until(hand.pilot, lambda: "brings" in told.text)


async def test_export_import_and_fork_have_their_keys_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        for key, dialog in (("x", ExportDialog), ("i", ImportDialog), ("F", ForkDialog)):
            await hand.press("9", key)
            assert isinstance(hand.app.screen, dialog)
            await hand.press("escape")


async def test_a_row_is_compared_with_the_moment_that_is_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await snapshot_at(tmp_path / "team.db", AT)
        await hand.press("9")
        await until(hand.pilot, lambda: len(hand.table.rows.keys) == 2)
        hand.table.select(str(AT))
        await hand.press("equals_sign")
        await until(hand.pilot, lambda: "What differs" in hand.told("body"))
        told = hand.told("body")
        assert f"seq {AT}" in told
        assert f"seq {hand.work.state.seq}" in told
        assert "scout-thorough" in told
        await hand.press("escape")
        assert hand.place == "state"


@pytest.mark.parametrize(("said", "reason"), [("0 gone.zip", "no file"), ("noon 3", "neither a time"), ("1 2 3", "")])
async def test_what_cannot_be_compared_is_said_on_the_page(tmp_path: Path, said: str, reason: str) -> None:
    async with opened(tmp_path) as hand:
        hand.app.open("diff", said)
        await hand.press()
        await until(hand.pilot, lambda: "comparing" not in hand.told("body"))
        assert reason in hand.told("body")


async def test_a_file_that_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "mine.db").write_text("mine")
    async with opened(tmp_path) as hand:
        hand.app.open("diff", f"{tmp_path / 'mine.db'} 3")
        await hand.press()
        await until(hand.pilot, lambda: "comparing" not in hand.told("body"))
        assert "mine.db" in hand.told("body")


async def test_in_the_past_one_key_says_what_has_changed_since(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.app.past.goto_seq(AT)
        await until(hand.pilot, lambda: hand.app.past.is_shown)
        await hand.press("equals_sign")
        await until(hand.pilot, lambda: "What differs" in hand.told("body"))
        assert "differences" in hand.told("body")


@pytest.mark.parametrize("size", [(80, 12), (40, 10), (40, 14)])
async def test_the_row_under_the_cursor_is_in_sight_also_on_a_low_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(tmp_path, size=size) as hand:
        await snapshot_at(tmp_path / "team.db", AT)
        await hand.press("9")
        await until(hand.pilot, lambda: len(hand.table.rows.keys) == 2)
        await hand.press("j")

        rows = "".join(f"{strip.text}\n" for strip in hand.app.screen._compositor.render_strips())
        assert "▌▾ snapshot" in rows
        assert " file " in rows
