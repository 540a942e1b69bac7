"""A run is carried to another machine from random places in its middle, and goes on there from where it was."""

import os
import random
import signal
from pathlib import Path

import pytest

from engine.archive import export_archive
from engine.core.events import CommandRefused, RunFinished
from tests.chaos.ledger import finished_in, lines_of
from tests.chaos.voyage import Voyage, trusted_import

SEEDS = range(1 + int(os.environ.get("QUARTERDECK_CHAOS_SEEDS", "5")) // 10)
PLACES = 3


@pytest.mark.parametrize("seed", SEEDS)
def test_from_random_places_of_a_run_it_goes_on_elsewhere_to_the_same_report(
    seed: int, tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    chance = random.Random(seed)
    places = sorted(chance.sample(range(40, 320), PLACES))
    with Voyage(tmp_path / "here") as here:
        here.launch()
        here.submit()
        archives: dict[Path, int] = {}
        with here.watched() as watch:
            for place in places:
                watch.reached(place)
                exported = export_archive(here.db, tmp_path / f"at {place}.zip")
                archives[exported.path] = exported.seq
        here.finish()
        assert here.end(signal.SIGTERM) == 0
        journal = here.read()
    assert here.ended_as() == undisturbed

    for archive, seq in archives.items():
        if any(isinstance(event, RunFinished) for event in journal[:seq]):
            continue  # exported so late that nothing is left to go on with
        with Voyage(tmp_path / f"from {archive.stem}", finished=finished_in(journal[:seq])) as there:
            there.launch(empty=True)
            take_in(there, archive)
            if chance.random() < 0.5:
                there.end(signal.SIGKILL)
                there.start()
            # An import is read beside the loop, and later commands may pass it by.
            there.answered()
            assert [event.reason for event in there.journal if isinstance(event, CommandRefused)] == []
            there.finish()
            assert there.end(signal.SIGTERM) == 0

            assert there.ended_as() == undisturbed
            assert lines_of(there.folder / "ledger.jsonl")


def take_in(there: Voyage, archive: Path) -> None:
    """Import an archive as the command line does."""
    there.send(trusted_import(archive, there.db))
