"""What a pane says of an agent is read back in the journal as far as it takes, and no longer than it is wanted."""

from pathlib import Path

import pytest

from dashboard.frame import remembered
from dashboard.frame.remembered import ENOUGH_EVENTS, read_agent_events
from dashboard.views.words.names import Names
from engine.core.events import AttemptStarted, Event, StepRecorded
from store import Reader
from tests.bench.databases import written


def began(at: int, agent_id: str) -> Event:
    return AttemptStarted(at_ms=at, task_id=f"t{at}", attempt=1, agent_id=agent_id, generation=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    journal = [began(at, "rare" if at in (1, 30, 77) else "often") for at in range(1, 201)]
    return written(tmp_path / "team.db", journal)


def test_all_events_of_an_agent_that_has_few_are_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "WALKED_AT_ONCE", 7)
    with Reader(path) as reader:
        assert [one.seq for one in read_agent_events(reader, Names(), "rare", 200)] == [1, 30, 77]
        assert [one.seq for one in read_agent_events(reader, Names(), "rare", 76)] == [1, 30]


def test_no_more_are_read_than_the_pane_shows(path: Path) -> None:
    with Reader(path) as reader:
        found = [one.seq for one in read_agent_events(reader, Names(), "often", 200)]

    assert found == [*range(201 - ENOUGH_EVENTS, 201)]


def test_reading_ends_once_the_cursor_has_moved_on(path: Path) -> None:
    wanted = iter((True, True, False))
    with Reader(path) as reader:
        found = read_agent_events(reader, Names(), "often", 200, should_continue=lambda: next(wanted))

    assert len(found) == 2 * remembered.AT_ONCE


def test_long_events_are_not_decoded_one_after_the_other(tmp_path: Path) -> None:
    said = "x" * (remembered.MAX_DECODED_BYTES // 4)
    journal = [
        StepRecorded(
            at_ms=at, task_id="t1", attempt=1, agent_id="a1", name="s", key=str(at), output=said, duration_ms=1
        )
        for at in range(40)
    ]
    with Reader(written(tmp_path / "team.db", journal)) as reader:
        assert len(read_agent_events(reader, Names(), "a1", 40)) == remembered.AT_ONCE
