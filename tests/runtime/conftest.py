"""Fixtures of the tests that run the real shell."""

import pytest

from tests.runtime.engines import Engines, running
from tests.runtime.noting import REQUESTS, Noting


@pytest.fixture
def engine() -> Engines:
    """Run engines."""
    return running


@pytest.fixture
def noted_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Note what models are asked, in `noting.REQUESTS`."""
    monkeypatch.setattr("engine.host.host.ModelService", Noting)
    REQUESTS.clear()
