"""Sixty small changes of the core, drawn by a seed: most of them are noticed, and those that are not are named."""

import os
import time
from pathlib import Path

import pytest

from tests.chaos.mutation import drawn
from tests.chaos.trial import Trial

SEED = int(os.environ.get("QUARTERDECK_CHAOS_SEED", "1"))
MUTANTS = int(os.environ.get("QUARTERDECK_CHAOS_MUTANTS", "60"))
WANTED = 0.85
"""The share that has to be noticed; some mutants change nothing that anybody could notice."""
HISTORIES = 12


@pytest.mark.chaos_long
def test_most_small_changes_of_the_core_are_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()

    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{time.monotonic() - began:5.0f} s  {line}", end="", flush=True)

    trial = Trial(tmp_path, seeds=HISTORIES)
    say(f"{trial.learn()} tests pass without a mutant")
    survivors = []
    for number, (mutant, noticed) in enumerate(trial.noticed(drawn(SEED, MUTANTS)), 1):
        survivors += [] if noticed is not None else [str(mutant)]
        say(f"{number}/{MUTANTS}  {mutant}\n         {noticed or 'SURVIVES'}")

    caught = MUTANTS - len(survivors)
    said = "\n".join([f"{caught} of {MUTANTS} mutants of seed {SEED} were noticed, {caught / MUTANTS:.0%}", *survivors])
    say(said + "\n")
    assert caught >= WANTED * MUTANTS, said
