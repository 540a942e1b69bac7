"""The samples of the metrics add up to what happened, whatever the window."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from operator import mul
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.plots import spark, stack_tones
from dashboard.views.drawing.rows import Listing
from dashboard.views.measures.activity import Activity, AttemptEnd
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.metric_rows import ORDERS, MemberFigures, count_figures, metric_rows, teams_of
from dashboard.views.measures.metrics import WINDOWS_MS, Series, Window, _sample_spends, _stack_costs, draw_plots
from engine.core.queries.team.tree import agents_of
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from tests.pilot.scene import audit
from tests.story import attempt, submitted
from tests.world import World, agent, team_world

NOW_MS = 10_000_000
ENDS = st.lists(
    st.builds(
        AttemptEnd,
        at_ms=st.integers(NOW_MS - 59_000, NOW_MS - 1),
        task_id=st.just("t1"),
        agent_id=st.sampled_from(["a1", "a2"]),
        duration_ms=st.integers(5_000, 9_000),
        at_work_ms=st.integers(0, 5_000),
        outcome=st.sampled_from(["done", "failed", "stopped"]),
    ),
    max_size=60,
)


def rows_of(work: World, figures: Mapping[str, MemberFigures], activity: Activity, **options: Any) -> Listing:
    return metric_rows(work.state, figures, activity, counts=make_digest(work.state), **options)


def text_of(line: Line) -> str:
    return "".join(span.text for span in line.spans)


def series(ends: list[AttemptEnd], *, window_ms: int, samples: int, now_ms: int = NOW_MS) -> Series:
    window = Window(window_ms, samples, now_ms)
    window.add(ends)
    return window.series(now_ms)


@given(ENDS, st.integers(2, 200))
def test_every_end_in_the_window_is_in_one_sample(ends: list[AttemptEnd], samples: int) -> None:
    found = series(ends, window_ms=120_000, samples=samples)

    assert sum(found.done) == sum(end.outcome == "done" for end in ends)
    assert sum(found.failed) == sum(end.outcome == "failed" for end in ends)
    assert len(found.p50_ms) == len(found.p95_ms) == samples


@given(
    st.lists(st.tuples(st.integers(0, 9_000), st.sampled_from(["ada", "bob"]), st.integers(0, 999)), max_size=30),
    st.integers(2, 200),
    st.sampled_from([60_000, 300_000, 3_600_000]),
)
def test_the_plots_of_tokens_and_cost_add_up_to_what_was_spent_in_the_window(
    spends: list[tuple[int, str, int]], samples: int, window_ms: int
) -> None:
    work = team_world(agent("ada"), agent("bob"))
    work.now_ms = NOW_MS // 60_000 * 60_000
    begin_ms = work.now_ms
    for pause_ms, name, number in spends:
        work.now_ms += pause_ms
        submitted(work)
        usage = Usage(tokens_in=number, cost_usd=Decimal(number) / 100)
        for each in ("ada", "bob"):
            work.succeed(attempt(work, each), usage=usage if each == name else Usage())
    found = series([], window_ms=window_ms, samples=samples, now_ms=work.now_ms)
    sampled = _sample_spends(found, work.state, "", work.now_ms)
    whole = sum(number for _, _, number in spends)

    assert sum(sampled.tokens) <= whole + 0.01
    if work.now_ms - begin_ms < window_ms - 2 * found.each_ms - 5_000:
        assert sum(sampled.tokens) == pytest.approx(whole)
        assert sum(sampled.cost_usd) == pytest.approx(whole / 100)
    stack, legend = _stack_costs(found, work.state, None, sampled.cost_usd, work.now_ms)
    for place, cost_usd in enumerate(sampled.cost_usd):
        assert sum(part[place] for _, part in stack) == pytest.approx(cost_usd * 60_000 / found.each_ms, abs=1e-6)
    assert {span.text.split()[0] for span in legend} <= {"ada", "bob"}


def test_a_stack_has_the_colour_of_the_part_that_reaches_a_height() -> None:
    stack = [("low", [1.0, 1.0, 0.0, 0.0]), ("high", [1.0, 1.0, 4.0, 0.0])]

    assert [stack_tones(stack, 2, value) for value in (0.5, 1.5, 3.0)] == [
        ["low", "high"], ["high", "high"], ["high", "high"]
    ]  # fmt: skip


@given(ENDS)
def test_time_at_work_is_the_sum_of_what_each_end_says(ends: list[AttemptEnd]) -> None:
    whole_ms = 120_000
    found = series(ends, now_ms=NOW_MS // 1_000 * 1_000, window_ms=whole_ms, samples=120)

    assert abs(sum(found.busy) * found.each_ms - sum(end.at_work_ms for end in ends)) < 1


def test_a_lead_is_not_slow_because_it_waits_for_what_it_delegated() -> None:
    slow = [AttemptEnd(NOW_MS - 1_000, f"t{place}", "slow", 20, 20, outcome="done") for place in range(3)]
    lead = AttemptEnd(NOW_MS - 1_000, "t9", "lead", 180_000, 5, outcome="done")
    found = count_figures([*slow, lead], 0)

    assert sorted(found, key=lambda agent_id: ORDERS["slowest"](found[agent_id])) == ["slow", "lead"]
    assert {agent_id: (one.p50_ms, one.time_ms) for agent_id, one in found.items()} == {
        "slow": (20, 60),
        "lead": (5, 5),
    }
    assert series([*slow, lead], window_ms=60_000, samples=60).p95_ms[-1] == 20


@given(ENDS)
def test_p95_is_not_below_p50(ends: list[AttemptEnd]) -> None:
    found = series(ends, window_ms=60_000, samples=60)

    assert all(high >= low for low, high in zip(found.p50_ms, found.p95_ms, strict=True))


@given(ENDS, st.integers(2, 200), st.lists(st.integers(0, 60_000), max_size=4), st.integers(0, 90_000))
def test_samples_that_are_kept_equal_those_that_are_counted_anew(
    ends: list[AttemptEnd], samples: int, looks_ms: list[int], window_ms: int
) -> None:
    left = sorted(ends, key=lambda end: end.at_ms)
    anew = Window(window_ms, samples, NOW_MS)
    anew.add(left)
    running_ms = [NOW_MS - 61_000, NOW_MS - 1]
    kept = Window(window_ms, samples, NOW_MS - 60_000)
    for until_ms in sorted(NOW_MS - 60_000 + at_ms for at_ms in looks_ms):
        new = [end for end in left if end.at_ms <= until_ms]
        kept.add(new)
        left = left[len(new) :]
        kept.series(until_ms, [running_ms[0]])
    kept.add(left)

    assert kept.series(NOW_MS, running_ms) == anew.series(NOW_MS, running_ms)


def test_an_end_far_ahead_of_the_window_costs_no_more_than_the_window() -> None:
    window, far_ms = Window(60_000, 60, NOW_MS), 10**15
    end = AttemptEnd(NOW_MS + far_ms, "t1", "a1", duration_ms=far_ms, at_work_ms=far_ms, outcome="done")

    window.add([end])  # each second between them would take days

    assert window.series(end.at_ms).busy[:-1] == [1.0] * 59


def test_attempts_under_way_count_until_now() -> None:
    found = Window(60_000, 60, NOW_MS).series(NOW_MS, [NOW_MS - 10_000, NOW_MS - 20_000])

    assert found.running == 2
    assert found.busy[-5] == 2.0
    assert found.busy[-15] == 1.0
    assert found.busy[0] == 0.0


@given(st.integers(20, 220), st.integers(3, 60), st.sampled_from([None, 0, 3, 7]))
def test_plots_fill_their_size(width: int, height: int, large: int | None) -> None:
    work = audit()
    activity = Activity.of(work.state, work.journal)
    found = series([*activity.ends], now_ms=work.now_ms, window_ms=WINDOWS_MS["1 h"], samples=40)

    lines = draw_plots(found, activity, work.state, now_ms=work.now_ms, width=width, height=height, large=large)

    assert len(lines) <= height + 2
    assert all(sum(cell_len(span.text) for span in line.spans) <= width for line in lines)


def test_the_ends_and_middles_of_axes_are_not_rounded() -> None:
    work = audit()
    activity = Activity.of(work.state, work.journal)
    for done, labels in ((15, ("1.5 ┤", "0.75 ┤")), (1, ("0.1 ┤", "0.05 ┤")), (30_000, ("3,000 ┤", "1,500 ┤"))):
        found = replace(series([], now_ms=work.now_ms, window_ms=60_000, samples=6), done=[done] * 6)
        lines = draw_plots(found, activity, work.state, now_ms=work.now_ms, width=80, height=12, large=0)
        told = "\n".join("".join(span.text for span in line.spans) for line in lines)

        assert [label for label in labels if label not in told] == [], told


def test_a_rate_is_that_of_the_health_strip_and_not_of_one_short_sample() -> None:
    work = audit()
    activity = Activity()
    for window_ms, done in ((60_000, [0] * 54 + [2, 9, 0, 0, 4, 7]), (300_000, [60, 15, 99])):
        found = replace(series([], now_ms=work.now_ms, window_ms=window_ms, samples=len(done)), done=done)
        found = replace(found, each_ms=window_ms // 60)
        title = draw_plots(found, activity, work.state, now_ms=work.now_ms, width=80, height=12, large=0)[0]

        assert "".join(span.text for span in title.spans).endswith(" 3.0/s ─")


def test_times_beside_a_plot_say_that_they_are_the_latest_where_there_is_room() -> None:
    work = audit()
    found = series([], now_ms=work.now_ms, window_ms=60_000, samples=60)
    titles = [
        draw_plots(found, Activity(), work.state, now_ms=work.now_ms, width=width, height=12, large=1)[0]
        for width in (60, 30)
    ]

    assert ["latest p50" in "".join(span.text for span in title.spans) for title in titles] == [True, False]


def test_a_queue_without_a_sample_is_not_drawn_as_empty() -> None:
    work = audit()
    activity = Activity.of(work.state, work.journal)
    activity.sample_queues(work.now_ms, 25, {})
    found = series([], now_ms=work.now_ms, window_ms=60_000, samples=60)

    lines = draw_plots(found, activity, work.state, now_ms=work.now_ms, width=80, height=12, large=2)

    bottom = next("".join(span.text for span in line.spans) for line in lines if " 0 ┤" in line.spans[0].text + "┤")
    assert bottom.split("┤")[1].strip() in ("⢸", "⣸", "⣿", "⡇")


@given(st.integers(20, 200))
def test_an_axis_begins_where_the_window_does(samples: int) -> None:
    work = audit()
    activity = Activity.of(work.state, work.journal)
    found = series([], now_ms=work.now_ms, window_ms=60_000, samples=samples)
    lines = draw_plots(found, activity, work.state, now_ms=work.now_ms, width=80, height=12, large=0)

    assert "−60 s" in "".join(span.text for span in lines[-1].spans)


def test_agents_are_compared_by_their_figures() -> None:
    work = audit()
    activity = Activity.of(work.state, work.journal)
    found = count_figures(activity.ends, 0)

    assert sum(one.done for one in found.values()) == sum(end.outcome == "done" for end in activity.ends)
    for order in ORDERS:
        listing = rows_of(work, found, activity, now_ms=work.now_ms, order=order)
        assert {*listing.keys} == {*work.state.agents, *work.state.supervisors}
        assert all(len(listing.cells(place)) <= len(listing.columns) for place in range(len(listing.keys)))
    rows = rows_of(work, found, activity, now_ms=work.now_ms, order="done").keys
    best = next(key for key in rows if key in work.state.agents)
    assert found[best].done == max(one.done for one in found.values())
    assert make_digest(work.state)


def test_supervisors_stand_above_agents_with_what_all_below_them_did() -> None:
    work = audit()
    activity = Activity.of(work.state, work.journal)
    found = count_figures(activity.ends, 0, teams_of(work.state))
    chief = work.state.roots[0].id
    survey = next(one.id for one in work.state.supervisors.values() if one.name == "survey")
    listing = rows_of(work, found, activity, now_ms=work.now_ms, order="done")
    shown = {key: [cell.text for cell in listing.cells(place)] for place, key in enumerate(listing.keys)}

    assert listing.keys[:2] == [chief, survey]
    assert found[chief].done == sum(end.outcome == "done" for end in activity.ends)
    assert found[survey].done == sum(found[one.id].done for one in agents_of(work.state, survey) if one.id in found)
    assert shown[chief][8] == "100%"
    assert (
        rows_of(
            work,
            found,
            activity,
            now_ms=0,
            order="done",
            needle="supervisor:survey",
        ).keys[0]
        == survey
    )


def test_a_single_supervisor_has_no_row_because_the_plots_are_of_it() -> None:
    work = team_world(agent("ada"))
    listing = rows_of(work, {}, Activity(), now_ms=0, order="done")

    assert teams_of(work.state) == {}
    assert [listing.cells(place)[0].text for place in range(len(listing.keys))] == ["ada"]


def test_the_queue_of_one_member_is_plotted_alone() -> None:
    work = audit()
    activity = Activity.of(work.state, work.journal)
    activity.sample_queues(work.now_ms, 25, {"a1": 5, "s1": 25})
    found = series([], now_ms=work.now_ms, window_ms=60_000, samples=60)
    told = [
        draw_plots(found, activity, work.state, now_ms=work.now_ms, width=80, height=12, large=2, member=member)[0]
        for member in (None, "a1", "a2")
    ]

    assert ["".join(span.text for span in line.spans).split()[-2] for line in told] == ["25", "5", "0"]


def test_a_supervisor_was_as_busy_as_all_agents_below_it_together() -> None:
    work = audit()
    activity = Activity.of(work.state, work.journal)
    listing = rows_of(work, {}, activity, now_ms=work.now_ms, order="done")
    busy = {key: listing.cells(place)[7].text for place, key in enumerate(listing.keys)}
    survey, metrics = (
        next(one for one in work.state.supervisors.values() if one.name == name) for name in ("survey", "metrics")
    )
    agents = agents_of(work.state, survey.id)
    each = [activity.shares(one.id, work.now_ms, samples=24, each=20, slots=one.max_concurrency) for one in agents]
    slots = [one.max_concurrency for one in agents]
    weighted = [sum(map(mul, slots, column)) / sum(slots) for column in zip(*each, strict=True)]

    assert activity.shares_of(agents, work.now_ms, samples=24, each=20) == pytest.approx(weighted)
    assert any(weighted)
    assert set(busy[metrics.id]) == {"⣀"}
    assert busy[survey.id] == spark(weighted, 12, full_value=1.0)


def test_the_plot_of_attempts_says_of_how_many_agents_they_are() -> None:
    work = audit()
    found = series([], now_ms=work.now_ms, window_ms=60_000, samples=60)
    told = [
        draw_plots(found, Activity(), work.state, now_ms=work.now_ms, width=80, height=12, large=3, agents=agents)[-1]
        for agents in (None, 1)
    ]

    assert ["of 8 agents" in text_of(told[0]), "of 1 agent " in text_of(told[1])] == [True, True]


def test_times_of_tasks_have_a_mark_where_the_agent_was_swapped() -> None:
    work = audit()
    activity = Activity.of(work.state, work.journal)
    swapped = next(iter(activity.swapped_ms))

    def took(ended_ms: list[int]) -> str:
        ends = [AttemptEnd(at_ms, "t", swapped, 20, 20, outcome="done") for at_ms in ended_ms]
        listing = rows_of(
            work,
            count_figures(ends, 0),
            activity,
            now_ms=work.now_ms,
            order="done",
        )
        return listing.cells(list(listing.keys).index(swapped))[6].text

    at_ms = activity.swapped_ms[swapped]
    assert "◆" not in took([at_ms + 1, at_ms + 2])
    assert took([at_ms - 1]).endswith("◆")
    assert took([at_ms - 1, at_ms + 1, at_ms + 2]).index("◆") == 18


def test_a_time_at_the_end_of_an_axis_cuts_nothing_in_two_plots_of_80_columns() -> None:
    found = series([], window_ms=60_000, samples=60)
    lines = draw_plots(found, Activity(), audit().state, now_ms=NOW_MS, width=80, height=10, end="05:34:33")

    assert text_of(lines[-1]).count("05:34:33") == 2
    assert "…" not in text_of(lines[-1])


def test_what_ended_runs_have_spent_is_not_held_against_the_budget_of_an_open_one() -> None:
    world = team_world(agent("ada"), options=SupervisorOptions(run_limits=Limits(cost_usd=1)))
    titles = []
    for _ in range(2):
        submitted(world)
        usage = Usage(cost_usd=Decimal("0.6"))
        world.record(attempt(world, "ada"), "turn 1", what="model", input={"model": "m"}, usage=usage)
        found = series([], now_ms=world.now_ms, window_ms=60_000, samples=60)
        title = draw_plots(found, Activity(), world.state, now_ms=world.now_ms, width=80, height=12, large=2)[0]
        titles.append("".join(span.text for span in title.spans))
        world.settle()

    assert titles[0].endswith(" $0.60 of $1.00 ─")
    assert titles[1].endswith(" $1.20 ─")
