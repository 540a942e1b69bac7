"""What a dashboard leaves in cycles is freed while it runs."""

import weakref
from pathlib import Path

import pytest

import dashboard.app.app
from dashboard.app.app import QuarterdeckApp
from tests.pilot.engines import until
from tests.pilot.scene import StillFeed, audit


class Cycle:
    """Something that only the collector frees."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.anyio
async def test_garbage_is_collected_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dashboard.app.app, "COLLECT_S", 0.05)
    db = tmp_path / "team.db"
    app = QuarterdeckApp(db, feed=StillFeed(db, audit()))
    async with app.run_test() as pilot:
        for _ in range(2):
            left = weakref.ref(Cycle())
            await until(pilot, lambda left=left: left() is None)  # type: ignore[misc]

    assert app.return_code in (0, None)
