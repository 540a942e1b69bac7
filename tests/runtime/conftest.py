"""Fixtures of the tests that run the real shell."""

import pytest

from tests.runtime.engines import Engines, running


@pytest.fixture
def engine() -> Engines:
    """Run engines."""
    return running
