"""Databases that are served."""

from pathlib import Path

import pytest

from tests.pilot.scene import audit, written


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A team in the middle of its work, whose engine is gone."""
    return written(tmp_path / "team.db", audit())
