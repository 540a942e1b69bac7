"""A timeline that was left for a while reads only what happened since, and comes to the same."""

from pathlib import Path
from typing import Any

import pytest

from dashboard.deck import timelines
from engine.core.events import AttemptLost, AttemptStarted, EngineStarted, StepRecorded
from store import Reader
from tests.databases import write_database
from tests.pilot.scene import audit

START_MS = 1_763_720_000_000


def test_what_happened_since_makes_the_lanes_that_the_whole_journal_makes(tmp_path: Path) -> None:
    journal = audit().journal
    path = write_database(tmp_path / "team.db", journal)
    before = write_database(tmp_path / "before.db", journal[: len(journal) // 2])
    with Reader(before) as reader:
        lanes = timelines.read_all_lanes(reader, lambda _: True)

    with Reader(path) as reader:
        found, last_seq = timelines.read_since(reader, lanes.seq)
        whole = timelines.read_all_lanes(reader, lambda _: True)
    lanes.add_records(found)

    assert last_seq == len(journal)
    assert found
    assert {key: lane.busy.values for key, lane in lanes.lanes.items()} == {
        key: lane.busy.values for key, lane in whole.lanes.items()
    }
    assert list(lanes.marks) == list(whole.marks)


@pytest.mark.parametrize(("heard_ms", "worked_ms"), [(None, 700), (START_MS + 3_000, 3_000)])
@pytest.mark.parametrize("known", [0, 1, 2])
def test_an_attempt_ends_with_its_engine_whatever_its_last_event_was(
    tmp_path: Path, known: int, heard_ms: int | None, worked_ms: int
) -> None:
    of_attempt: dict[str, Any] = {"task_id": "t1", "attempt": 1, "agent_id": "a1"}
    journal = [
        AttemptStarted(at_ms=START_MS, **of_attempt, generation=1),
        StepRecorded(at_ms=START_MS + 700, **of_attempt, name="s", key="s", output=None, duration_ms=1),
        EngineStarted(at_ms=START_MS + 5_000, pid=2, token=2, version="0", last_ms=heard_ms),
        AttemptLost(at_ms=START_MS + 5_000, **of_attempt),
    ]
    with Reader(write_database(tmp_path / "before.db", journal[:known])) as reader:
        lanes = timelines.read_all_lanes(reader, lambda _: True)
    with Reader(write_database(tmp_path / "team.db", journal)) as reader:
        records, _ = timelines.read_since(reader, lanes.seq)
    lanes.add_records(records)

    assert sum(lanes.team.busy.values) == worked_ms
