"""What the contract suites share: every kind of store, and processes of their own."""

from pathlib import Path
from typing import Literal

import pytest

Target = Path | Literal[":memory:"]


@pytest.fixture(params=["files", "memory"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """Where to open a store: every promise holds for files and for memory."""
    return tmp_path / "team.db" if request.param == "files" else ":memory:"
