"""A fixed place and a fixed time zone for the pictures."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pilot.rest import let_pilots_wait_for_the_loop
from tests.pilot.styles import share_parsed_styles


@pytest.fixture(scope="session", autouse=True)
def _styles_are_parsed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        share_parsed_styles(patch)
        let_pilots_wait_for_the_loop(patch)
        yield


@pytest.fixture(autouse=True)
def _fixed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))  # paths are shown from there
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
