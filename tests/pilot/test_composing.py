"""What has changed is laid out once."""

from pathlib import Path

import pytest

from dashboard.widgets.table import Table
from tests.pilot.hand import shown


@pytest.mark.anyio
async def test_a_list_that_loses_its_scroll_bar_is_laid_out_once_for_the_pane_below(tmp_path: Path) -> None:
    app = shown(tmp_path)
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.press("0")
        await pilot.pause()
        table = app.screen.query_one(Table)
        assert table.wide == table.size.width - 1
        laid_out: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(app.screen, laid_out.append, immediate=True)

        app.screen.finding.seek("planner")  # type: ignore[attr-defined]
        await pilot.pause()
        await pilot.pause()

        assert table.wide == table.size.width
        assert len(laid_out) == 1
