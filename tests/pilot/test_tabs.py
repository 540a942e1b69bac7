"""The tabs of the frame: each can be left and visited again."""

from pathlib import Path

import pytest

from dashboard.app import QuarterdeckApp
from engine.host.batch import row_of
from store import open_store
from tests.pilot.scene import NOW_MS, StillFeed, audit


@pytest.mark.anyio
async def test_every_tab_can_be_left_and_visited_again(tmp_path: Path) -> None:
    work = audit("email/header.py")
    db = tmp_path / "team.db"
    async with open_store(db) as store:
        await store.journal.append(1, [row_of(event) for event in work.journal])
    app = QuarterdeckApp(db, feed=StillFeed(db, work), clock=lambda: NOW_MS)
    async with app.run_test(size=(80, 24)) as pilot:
        seen = []
        for key in "10516712":
            await pilot.press(key)
            await pilot.pause()
            seen.append(app.screen.PLACE if hasattr(app.screen, "PLACE") else "")

    assert seen == ["network", "agents", "tasks", "network", "events", "runs", "network", "graph"]
