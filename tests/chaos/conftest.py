"""What every torn run is held against."""

import signal

import pytest

from tests.chaos.voyage import Voyage


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the run comes to where nobody does anything to it."""
    with Voyage(tmp_path_factory.mktemp("undisturbed")) as voyage:
        voyage.launch()
        voyage.submit()
        voyage.finish()
        assert voyage.end(signal.SIGTERM) == 0
        return voyage.ended_as()
