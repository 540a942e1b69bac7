"""The tabs of the frame: each can be left and visited again."""

from pathlib import Path

import pytest

from dashboard.app.app import QuarterdeckApp
from tests.pilot.scene import NOW_MS, StillFeed, audit, write


@pytest.mark.anyio
async def test_every_tab_can_be_left_and_visited_again(tmp_path: Path) -> None:
    work = audit("email/header.py")
    db = tmp_path / "team.db"
    await write(db, work)
    app = QuarterdeckApp(db, feed=StillFeed(db, work), clock=lambda: NOW_MS)
    async with app.run_test(size=(80, 24)) as pilot:
        seen = []
        for key in "10516712":
            await pilot.press(key)
            await pilot.pause()
            seen.append(app.screen.PLACE if hasattr(app.screen, "PLACE") else "")

    assert seen == ["network", "agents", "tasks", "network", "events", "runs", "network", "graph"]
