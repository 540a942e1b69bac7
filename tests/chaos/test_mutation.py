"""Sixty small changes of the core, drawn by a seed: most of them are noticed, and those that are not are named."""

import os
from pathlib import Path

import pytest

from tests.chaos.mutation import Trial, drawn

SEED = int(os.environ.get("QUARTERDECK_CHAOS_SEED", "1"))
MUTANTS = int(os.environ.get("QUARTERDECK_CHAOS_MUTANTS", "60"))
WANTED = 0.85
"""The share that has to be noticed; some mutants change nothing that anybody could notice."""
HISTORIES = 12


@pytest.mark.chaos_long
def test_most_small_changes_of_the_core_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial = Trial(tmp_path, seeds=HISTORIES)
    assert trial.noticed_by(None) is None
    survivors = []
    for mutant in drawn(SEED, MUTANTS):
        noticed = trial.noticed_by(mutant)
        survivors += [] if noticed is not None else [mutant]
        with capsys.disabled():
            print(f"\n{mutant}\n    {noticed or 'SURVIVES'}", flush=True)

    share = 1 - len(survivors) / MUTANTS
    said = "\n".join(map(str, survivors))
    with capsys.disabled():
        print(f"\n{share:.0%} of {MUTANTS} mutants of seed {SEED} were noticed; these were not:\n{said}")
    assert share >= WANTED, said
