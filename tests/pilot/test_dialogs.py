"""What every dialog does: it fits its window at once, and says when nobody is there to do what it sends."""

from pathlib import Path

import pytest

from dashboard.dialogs.edit import NewAgentDialog
from dashboard.widgets.bar import Bar
from tests.pilot.hand import opened

pytestmark = pytest.mark.anyio


async def test_a_dialog_knows_the_size_of_its_window_before_its_first_frame(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 36)) as hand:
        root = next(iter(hand.work.state.supervisors))
        classes: list[bool] = []

        class Watched(NewAgentDialog):
            def begin(self) -> None:
                classes.append(self.has_class("-wide", "-tall"))
                super().begin()

        hand.app.push_screen(Watched(root))
        await hand.press()

        assert classes == [True]


async def test_a_dialog_says_that_no_engine_is_there_also_where_it_hides_the_header(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24)) as hand:
        await hand.press("j", "h")
        title = hand.dialog.query_one("#title", Bar)
        assert "no engine" not in title.text

        hand.app.feed.engine = None
        hand.app.flush()
        await hand.press()
        assert "no engine: it waits for the next one" in title.text

        await hand.press("escape", "x")
        assert "no engine" not in hand.dialog.query_one("#title", Bar).text


async def test_an_import_without_a_path_says_where_archives_are_found(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("i", "enter")
        assert hand.problem.startswith("write the path of an archive; State (9) lists those")
