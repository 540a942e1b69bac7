"""Fixtures of the pilot tests."""

from collections.abc import Iterator

import pytest

from tests.pilot.engines import engine, messages_stay
from tests.pilot.rest import let_pilots_wait_for_the_loop
from tests.pilot.styles import share_parsed_styles

__all__ = ["engine", "messages_stay"]


@pytest.fixture(scope="session", autouse=True)
def _styles_are_parsed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        share_parsed_styles(patch)
        let_pilots_wait_for_the_loop(patch)
        yield
