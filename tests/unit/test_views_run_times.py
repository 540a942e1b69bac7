"""Where the time of a run went, as a bar and as the critical path."""

import pytest

from dashboard.views.facts.run_times import finished_times, largest_share, share_bar, time_lines
from engine.core.commands import Submit
from engine.core.queries.work.explain import Explanation
from engine.core.state import CriticalPart, RunSummary
from tests.world import agent, team_world

EXPLANATION = Explanation(
    run_id="r1",
    wall_ms=1_000_000,
    shares={"model": 310_000, "person": 680_000, "queue": 10_000},
    critical=[
        CriticalPart(task_id="t2", agent="critic", kind="model", ms=310_000, words="turn 7"),
        CriticalPart(task_id="t3", agent="critic", kind="person", ms=680_000, words="e3"),
    ],
)


def test_the_shares_of_a_run_are_said_with_its_critical_path() -> None:
    bar, path = ("".join(span.text for span in line.spans) for line in time_lines(EXPLANATION, 120))

    assert "┅ 68 % person" in bar
    assert path.strip() == "PATH  ⣿ turn 7 of critic 5 min 10 s → ┅ e3 11 min 20 s"
    assert EXPLANATION.lines[0] == "68 % waited for a person: e3 for 11 min 20 s"
    assert EXPLANATION.lines[1] == "31 % models answered: turn 7 of critic for 5 min 10 s"


@pytest.mark.parametrize("width", [6, 17, 24])
def test_a_bar_is_as_wide_as_it_may_be(width: int) -> None:
    assert sum(len(span.text) for span in share_bar(EXPLANATION, width)) == width


def test_a_run_of_an_earlier_version_or_of_no_time_says_nothing() -> None:
    world = team_world(agent("ada"))
    world.order(Submit(request="go"))
    world.settle()
    (summary,) = world.state.finished
    assert isinstance(summary, RunSummary)

    assert finished_times(summary) is None
    assert largest_share(summary) == ""
    assert time_lines(None, 80) == []
