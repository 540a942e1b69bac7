"""Thousands of archives that were changed by hand, from simulated teams at the moments with most going on."""

import logging
import os

import pytest

from tests.simulation.mutants import changed_ones, moments

SEEDS = int(os.environ.get("QUARTERDECK_CHAOS_SEEDS", "20"))
EACH = 40
"""Changes of each archive."""


@pytest.mark.chaos_long
def test_changed_archives_of_many_teams_are_refused_or_can_be_worked_with(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    archives = [(seed, *found) for seed in range(1, SEEDS + 1) for found in moments(seed, 4)]

    taken = [
        changed_ones(document, texts, f"{seed} {place}", EACH) for place, (seed, document, texts) in enumerate(archives)
    ]

    assert sum(taken) > len(archives)
