"""The simulation is tested itself: bugs are planted one at a time, and each is seen by the law that is there for it."""

import pytest

from engine.simulation.history import live_through
from engine.simulation.invariants import INVARIANTS
from engine.simulation.shrinking import shortest
from tests.simulation.planted.bugs import BUGS
from tests.simulation.planted.planting import ENGINE, MOST_SEEDS, Bug, Patch, found, known_seeds, watch_alone

FIRST_HAND = {
    "acknowledged_is_on_disk",
    "disk_before_deed",
    "engine_ends_in_order",
    "no_step_runs_twice",
    "rest_comes",
    "time_goes_on",
}
"""What a history sees itself, besides the laws."""
NO_RULES = {
    "core/fold/handlers.py": "the type of that table",
    "core/decide/__init__.py": "the table of handlers",
    "core/decide/applied.py": "a record",
    "core/decide/noting.py": "words for a person about what a merge does",
}
"""Files of the fold and of what is decided that hold no rule which could be broken."""
OUT_OF_REACH = {
    "core/decide/indexing.py": "no law says which of the agents that suit a text equally gets it",
    "core/decide/trust.py": "simulated agents have no code; `tests/unit/test_trust.py` plays trust against a model",
}
"""Files that hold rules which no law of a simulated history can see broken, and why."""
UNSEEN_LAWS = {"a_new_spec_serves_its_specialties", "agents_are_chosen_by_the_balance"}
"""Laws that saw no planted bug yet: for the first one it was looked for in a hundred seeds, for the other in forty."""
UNSEEN_FILES = {"core/decide/evicting.py", "core/decide/find.py", "core/decide/mending.py", "core/fold/free.py"}
"""Files of which the same holds: a bug of `fold/free` was looked for in forty seeds, one of each other in a hundred."""


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.what))
def test_each_planted_bug_is_seen_by_its_law(bug: Bug, monkeypatch: Patch) -> None:
    bug.plant(monkeypatch)
    watch_alone(monkeypatch, bug.law)

    # A change of the engine makes other histories of the same seeds: then it is looked for anew.
    assert found(bug, [known_seeds()[bug.what], *range(1, MOST_SEEDS + 1)]) is not None


def test_every_law_has_a_planted_bug() -> None:
    laws = {law.__name__ for law in INVARIANTS} | FIRST_HAND

    assert {bug.law for bug in BUGS} <= laws
    assert laws - {bug.law for bug in BUGS} == UNSEEN_LAWS


def test_every_file_of_what_is_decided_and_folded_has_a_planted_bug() -> None:
    files = {
        file.relative_to(ENGINE).as_posix()
        for part in ("decide", "fold")
        for file in (ENGINE / "core" / part).glob("*.py")
    }

    assert files - {bug.file for bug in BUGS} == set(NO_RULES) | set(OUT_OF_REACH) | UNSEEN_FILES


def test_planted_bugs_have_names_of_their_own() -> None:
    assert len({bug.what for bug in BUGS}) == len(BUGS) >= 40


def test_the_history_that_is_told_is_short_and_breaks_the_same(monkeypatch: Patch) -> None:
    (bug,) = (one for one in BUGS if one.what == "supervisors pay nothing")
    bug.plant(monkeypatch)
    past = found(bug, [known_seeds()[bug.what], *range(1, MOST_SEEDS + 1)])
    assert past is not None

    short = shortest(past, seconds=60)

    assert short.broken is not None
    assert past.broken is not None
    assert short.broken.law == past.broken.law
    assert len(short.plan.decisions) <= min(6, len(past.plan.decisions))
    assert live_through(short.plan).digest == short.digest
