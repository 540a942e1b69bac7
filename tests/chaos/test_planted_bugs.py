"""Planted bugs are looked for anew, from the first seed on: where the simulation looks for them has not gone."""

import json
import os

import pytest

from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.planting import MOST_SEEDS, SEEDS_FILE, Bug, Patch, found, known_seeds, watch_alone

REMEMBERS = os.environ.get("QUARTERDECK_REMEMBER_SEEDS") == "1"
"""Whether the seeds that are found become the known ones of `make test`."""


@pytest.mark.chaos_long
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.what))
def test_each_planted_bug_is_found_from_the_first_seed_on(bug: Bug, monkeypatch: Patch) -> None:
    bug.plant(monkeypatch)
    watch_alone(monkeypatch, bug.law)

    past = found(bug, range(1, MOST_SEEDS + 1))

    assert past is not None
    if REMEMBERS:
        seeds = {**known_seeds(), bug.what: past.plan.seed}
        SEEDS_FILE.write_text(json.dumps(seeds, indent=1, sort_keys=True) + "\n", encoding="utf-8")
