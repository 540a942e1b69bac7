"""A timeline that was left for a while reads only what happened since, and comes to the same."""

from pathlib import Path

from dashboard.deck import timelines
from store import Reader
from tests.databases import write_database
from tests.pilot.scene import audit


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
