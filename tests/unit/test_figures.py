"""A figure has one definition: header, rows, lists and metrics show the same number, or all a dash."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.strip import strip
from engine.core.commands import Submit
from engine.core.queries.team.figures import MIN_OUTCOMES, success_share
from engine.supervisor.metrics import metrics_of
from tests.world import World, agent, team_world


def header(work: World) -> str:
    counts, activity = make_digest(work.state), Activity.of(work.state, work.journal)
    line = strip(work.state, counts, activity, now_ms=work.state.at_ms, width=160)
    return " ".join("".join(span.text for span in line.spans).split())


def test_a_lead_that_waits_for_what_it_delegated_is_not_counted_as_busy() -> None:
    work = team_world(agent("lead"), agent("ada", "reading"), agent("bo", "reading"))
    work.order(Submit(request="read all"))
    lead = next(key for key, started in work.started.items() if started.agent == "lead")
    work.ask(lead, "reading", [{"title": "a.py"}, {"title": "b.py"}])
    (chief,) = work.state.roots

    assert make_digest(work.state).busy_of[chief.id] == metrics_of(work.state, chief).busy == 2
    assert "2 of 3" in header(work)


@pytest.mark.parametrize(("failures", "shown"), [(MIN_OUTCOMES - 1, "⣸ – │"), (MIN_OUTCOMES, "⣸ 100.0% │")])
def test_a_failure_of_one_is_not_an_error_rate_of_100_percent(failures: int, shown: str) -> None:
    work = team_world(agent("ada"))
    for _ in range(failures):
        work.order(Submit(request="read it"))
        work.fail(next(iter(work.started)))

    assert shown in header(work)


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_share_is_of_all_that_ended_and_missing_while_they_are_few(done: int, failed: int) -> None:
    share: Any = success_share(done, failed)

    assert (share is None) == (done + failed < MIN_OUTCOMES)
    assert share is None or share * (done + failed) == pytest.approx(done)
