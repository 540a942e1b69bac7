"""The plot of how long an agent worked on its last tasks, with a mark where it was swapped."""

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.drawing.lines import Line, cell_width
from dashboard.views.event_log import Entry
from dashboard.views.measures.task_times import (
    SwapMark,
    Times,
    describe_times,
    medians_around_swap,
    split_by_swap,
    times_of,
    times_plot,
)
from engine.core.commands import RegisterSpec, Rollback, Submit, SwapAgent
from tests.story import member
from tests.world import World, agent, team_world


def worked(*times_ms: int, swap_after: int | None = None, back_after: int | None = None) -> World:
    """Return a team whose reader has done tasks that took so long, and was swapped after so many of them."""
    work = team_world(agent("reader", "read"))
    work.order(RegisterSpec(spec=agent("reader-fast", "read", timeout_s=5.0)))
    for done, ms in enumerate(times_ms):
        if done == swap_after:
            work.order(SwapAgent(agent="reader", registered="reader-fast"))
        if done == back_after:
            work.order(Rollback(agent="reader"))
        work.order(Submit(request="Read it", supervisor="chief"))
        work.succeed(next(iter(work.started)), took_ms=ms)
        for key in list(work.joins):
            work.join(key)
    return work


def times(work: World) -> Times:
    entries = [Entry(seq, one.at_ms, one.type, one) for seq, one in enumerate(work.journal, 1)]
    return times_of(member(work, "reader"), entries)


def text(line: Line) -> str:
    return "".join(span.text for span in line.spans)


def test_a_swap_stands_over_the_first_task_after_it_and_says_what_came_of_it() -> None:
    found = times(worked(60, 60, 60, 10, 10, swap_after=3))
    mark, *plot = map(text, times_plot(found, 40, 5))
    column = mark.index("◆g2")

    assert (found.ms, found.swaps) == ([60, 60, 60, 10, 10], [SwapMark(3, 2)])
    assert describe_times(found) == "p50 60 ms · 60 ms ◆ 10 ms"
    assert len(plot) == 4
    assert (plot[0][column - 2] > "⠀", plot[0][column:].strip()) == (True, "")  # high before it, low from there on


def test_a_swap_with_no_task_since_stands_at_the_end_and_the_one_before_is_told() -> None:
    work = worked(60, 10, swap_after=1)
    work.order(Rollback(agent="reader"))
    found = times(work)

    assert found.swaps == [SwapMark(1, 2), SwapMark(2, 3)]
    assert medians_around_swap(found) == "60 ms ◆ 10 ms"
    assert text(times_plot(found, 30, 4)[0]).endswith("g3◆")


def test_of_two_swaps_each_counts_up_to_the_other() -> None:
    assert medians_around_swap(times(worked(60, 10, 50, swap_after=1, back_after=2))) == "10 ms ◆ 50 ms"


def test_an_agent_that_was_never_swapped_has_no_line_of_marks() -> None:
    found = times(worked(60, 10))

    assert "◆" not in "".join(map(text, times_plot(found, 40, 4))) + describe_times(found)


def test_beside_a_wide_axis_in_a_narrow_pane_a_swap_is_a_mark_alone() -> None:
    lines = times_plot(Times([50_001], [SwapMark(0, 2)]), 13, 2)

    assert text(lines[0]).endswith("◆")
    assert all(cell_width(line.spans) <= 13 for line in lines)


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=60), st.data(), st.integers(12, 90), st.integers(2, 9))
def test_plot_and_marks_stay_in_their_room(ms: list[int], data: st.DataObject, width: int, height: int) -> None:
    places = sorted(data.draw(st.lists(st.integers(0, len(ms)), max_size=5)))
    found = Times(ms, [SwapMark(place, generation) for generation, place in enumerate(places, 2)])
    lines = times_plot(found, width, height)

    assert len(lines) == height
    assert all(cell_width(line.spans) <= width for line in lines)


def test_what_is_said_of_a_swap_are_the_medians_that_the_pane_shows() -> None:
    """A mean of the first tasks would say the opposite where one of them was slow."""
    found = times(worked(12, 11, 11, 10, 8, 8, 150, swap_after=3))

    assert medians_around_swap(found) == "11 ms ◆ 9 ms"
    assert split_by_swap(found) == ([12, 11, 11], [10, 8, 8, 150])
