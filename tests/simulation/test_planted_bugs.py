"""The simulation is tested itself: bugs are planted one at a time, and each is seen by the law that is there for it."""

import pytest

from engine.simulation.history import run_history
from engine.simulation.laws import INVARIANTS
from engine.simulation.shrinking import shrink_history
from tests.simulation.planted.bugs import BUGS, OUT_OF_REACH
from tests.simulation.planted.planting import ENGINE, MOST_SEEDS, Bug, Patch, found, known_seeds, law_test, watch_alone

FIRST_HAND = {
    "a_call_fits_the_budgets",
    "a_change_is_on_disk",
    "a_version_is_as_expected",
    "acknowledged_is_on_disk",
    "an_answer_is_what_was_said",
    "disk_before_deed",
    "engine_ends_in_order",
    "every_call_has_one_result",
    "no_message_is_lost_or_heard_twice",
    "no_step_runs_twice",
    "no_step_runs_without_a_slot",
    "rest_comes",
    "time_goes_on",
    "turns_are_limited",
}
"""What a history sees itself, besides the laws."""
NO_RULES = {
    "core/decide/__init__.py": "the table of handlers",
    "core/decide/people/__init__.py": "nothing",
    "core/decide/teams/__init__.py": "nothing",
    "core/decide/work/__init__.py": "nothing",
    "core/scheduler/__init__.py": "a name",
    "core/scheduler/balancing.py": "whichever free agent is chosen, no law is broken; its unit tests hold each rule",
    "core/scheduler/waiting.py": "reasons in words, which decide nothing",
}
"""Files of the fold, of the scheduler and of what is decided that hold no rule which could be broken."""


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: str(bug.what))
def test_each_planted_bug_is_seen_by_its_law(bug: Bug, monkeypatch: Patch, cache: pytest.Cache) -> None:
    bug.plant(monkeypatch)
    watch_alone(monkeypatch, bug.law)
    known, remembered = known_seeds()[bug.what], f"planted/{bug.what}"

    past = found(bug, [known, *cache.get(remembered, []), *range(1, MOST_SEEDS + 1)])

    # A change of the engine makes other histories of the same seeds: then it is looked for anew, once in each clone.
    assert past is not None
    if past.plan.seed != known:
        cache.set(remembered, [past.plan.seed])


@pytest.mark.parametrize("bug", OUT_OF_REACH, ids=lambda bug: str(bug.what))
def test_each_planted_bug_that_no_history_reaches_is_seen_by_a_law_for_hypothesis(bug: Bug, monkeypatch: Patch) -> None:
    law = law_test(bug.law)
    bug.plant(monkeypatch)

    with pytest.raises(AssertionError):
        law()


def test_every_law_has_a_planted_bug() -> None:
    laws = {law.__name__ for law in INVARIANTS} | FIRST_HAND

    assert laws == {bug.law for bug in BUGS}


def test_every_file_of_what_is_decided_folded_and_scheduled_has_a_planted_bug() -> None:
    files = {
        file.relative_to(ENGINE).as_posix()
        for part in ("decide", "fold", "scheduler")
        for file in (ENGINE / "core" / part).rglob("*.py")
    }

    assert files - {bug.file for bug in (*BUGS, *OUT_OF_REACH)} == set(NO_RULES)


def test_planted_bugs_have_names_of_their_own() -> None:
    assert len({bug.what for bug in (*BUGS, *OUT_OF_REACH)}) == len(BUGS) + len(OUT_OF_REACH) >= 40


def test_the_history_that_is_told_is_short_and_breaks_the_same(monkeypatch: Patch) -> None:
    (bug,) = (one for one in BUGS if one.what == "supervisors pay nothing")
    bug.plant(monkeypatch)
    past = found(bug, [known_seeds()[bug.what], *range(1, MOST_SEEDS + 1)])
    assert past is not None

    short = shrink_history(past, seconds=60)

    assert short.violation is not None
    assert past.violation is not None
    assert short.violation.law == past.violation.law
    assert len(short.plan.decisions) <= min(6, len(past.plan.decisions))
    assert run_history(short.plan).digest == short.digest
