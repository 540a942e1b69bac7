"""Planted bugs stand in the text of the engine: a change there has to change them too, and says so at once."""

from importlib import import_module
from operator import attrgetter

import pytest

from tests.meaning.test_planted_bugs import BUGS as BUGS_IN_PROMISES
from tests.simulation.planted.bugs import BUGS, OUT_OF_REACH
from tests.simulation.planted.planting import rewrite


def test_every_planted_bug_finds_the_text_that_it_changes() -> None:
    for bug in (*BUGS, *OUT_OF_REACH):
        with pytest.MonkeyPatch.context() as patch:
            bug.plant(patch)


@pytest.mark.parametrize("what", BUGS_IN_PROMISES)
def test_every_planted_bug_in_what_pages_promise_finds_its_text(what: str) -> None:
    bug = BUGS_IN_PROMISES[what]
    module, _, path = bug["in"].partition(":")

    with pytest.MonkeyPatch.context() as patch:
        rewrite(patch, attrgetter(path)(import_module(module)), bug["old"], bug["new"])
