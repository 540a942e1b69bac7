"""Planted bugs stand in the text of the engine: a change there has to change them too, and says so at once."""

import pytest

from tests.simulation.planted.bugs import BUGS, OUT_OF_REACH


def test_every_planted_bug_finds_the_text_that_it_changes() -> None:
    for bug in (*BUGS, *OUT_OF_REACH):
        with pytest.MonkeyPatch.context() as patch:
            bug.plant(patch)
