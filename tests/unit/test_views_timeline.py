"""A timeline: what is added up is what happened, whatever the history, the room and the zoom."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode
from rich.cells import cell_len

from dashboard.deck import timelines
from dashboard.views.drawing.lines import Line
from dashboard.views.event_log import Entry
from dashboard.views.measures.attempts import SlotCounts
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.idle_gaps import GAP_MS
from dashboard.views.timeline import KINDS, Lanes, TimelineView, cut_axis, draw_timeline
from dashboard.views.timeline.drawing import _by_cell
from dashboard.views.timeline.lanes import MAX_REMOVED, SLOTS, VISIBLE_GAP_MS
from dashboard.views.timeline.rows import LaneRow, rows_of
from engine.core.commands import Answer, Submit
from engine.core.specs.failure_policies import Escalate
from engine.core.state import State
from store import Record
from tests.pilot.scene import audit
from tests.pilot.talking import talking
from tests.pilot.trouble import trouble
from tests.world import World, agent, team_world

START_MS = 1_763_720_000_000


def record(seq: int, at_ms: int, kind: str, task_id: str = "t1", agent_id: str | None = "a1") -> Record:
    return Record(seq=seq, at_ms=START_MS + at_ms, kind=kind, body=b"", run_id="r1", task_id=task_id, agent_id=agent_id)


def learned(*found: tuple[int, str] | tuple[int, str, str, str]) -> Lanes:
    lanes = Lanes()
    lanes.add_records(record(seq, *one) for seq, one in enumerate(found, 1))
    return lanes


def lanes_of(work: World) -> Lanes:
    lanes = Lanes()
    timelines.catch_up(lanes, [Entry(seq, event.at_ms, event.type, event) for seq, event in enumerate(work.journal, 1)])
    return lanes


@given(st.lists(st.tuples(st.integers(0, 400_000), st.integers(0, 3)), min_size=1, max_size=60))
def test_time_at_work_is_counted_once_however_often_slots_are_joined(steps: list[tuple[int, int]]) -> None:
    lanes, at_ms, seq, begun, busy_ms = Lanes(), 0, 0, dict[str, int](), 0
    for pause_ms, number in steps:
        at_ms, seq, task = at_ms + pause_ms, seq + 1, f"t{number}"
        kind = "attempt_done" if task in begun else "attempt_started"
        lanes.add_records([record(seq, at_ms, kind, task, f"a{number}")])
        if kind == "attempt_done":
            busy_ms += at_ms - begun.pop(task)
        else:
            begun[task] = at_ms
    lanes.advance(START_MS + at_ms)

    busy_ms += sum(at_ms - began for began in begun.values())
    assert sum(lanes.team.busy.until(lanes.newest)) == busy_ms
    assert sum(sum(lane.busy.until(lanes.newest)) for lane in lanes.lanes.values()) == busy_ms
    assert all(len(lane.busy.values) == SLOTS for lane in lanes.lanes.values())


@given(
    st.lists(
        st.tuples(st.integers(0, 40_000), st.sampled_from(("a0", "a1", "a2", "engine_started", "engine_slept"))),
        max_size=40,
    )
)
def test_the_work_of_a_team_is_the_sum_of_its_lanes_whenever_it_is_asked_for(steps: list[tuple[int, str]]) -> None:
    lanes, at_ms, begun, agent_ids = Lanes(), 0, set[str](), ("a0", "a1", "a2")

    def assert_is_sum() -> None:
        counts = [counts for lane in lanes.lanes.values() if (counts := lane.busy.until(lanes.newest))]
        slots = lanes.newest // lanes.slot_ms + 1
        assert lanes.busy_of("s1", agent_ids) == [*map(sum, zip(*counts, strict=True))][:slots]

    for seq, (pause_ms, what) in enumerate(steps, 1):
        at_ms += pause_ms
        lanes.advance(START_MS + at_ms)  # who looks does not know yet what the engine is about to say
        assert_is_sum()
        if what in agent_ids:
            lanes.add_records([record(seq, at_ms, "attempt_done" if what in begun else "attempt_started", what, what)])
            begun ^= {what}
        else:
            body = encode({"slept_ms": pause_ms // 2})
            lanes.add_records([replace(record(seq, at_ms, what, "", None), body=body)])
            begun = begun if what == "engine_slept" else set()
        assert_is_sum()


def test_an_attempt_that_lasts_for_decades_fits_its_lane() -> None:
    decades_ms = 50 * 365 * 86_400_000
    lanes = learned((0, "attempt_started"), (decades_ms, "attempt_done"))

    assert sum(lanes.team.busy.until(lanes.newest)) == decades_ms
    assert max(lanes.lanes["a1"].busy.values) > 0


def test_time_in_which_nothing_is_at_work_is_folded() -> None:
    lanes = learned(
        (0, "attempt_started"), (100_000, "attempt_done"), (400_000, "attempt_started"), (401_000, "attempt_done")
    )

    assert lanes.gaps == [(100_000 + VISIBLE_GAP_MS, 300_000 - VISIBLE_GAP_MS)]
    assert lanes.position_at(START_MS + 400_500) == 101_500
    assert lanes.moment(101_500) == START_MS + 400_500
    assert lanes.position_at(START_MS + 250_000) == 100_000 + VISIBLE_GAP_MS


def test_time_without_an_engine_is_folded_and_nothing_was_at_work_in_it() -> None:
    lanes = learned(
        (0, "attempt_started"),
        (700, "step_recorded"),
        (5_000 + GAP_MS, "engine_started", "", ""),
        (6_000 + GAP_MS, "attempt_lost"),
    )

    assert lanes.gaps == [(700 + VISIBLE_GAP_MS, 4_300 + GAP_MS - VISIBLE_GAP_MS)]
    assert sum(lanes.team.busy.until(lanes.newest)) == 700
    assert [(attempt.begin, attempt.end) for attempt in lanes.spans] == [(0, 700)]


def test_an_attempt_that_waits_for_others_is_not_at_work() -> None:
    lanes = learned(
        (0, "attempt_started"), (1_000, "attempt_parked"), (9_000, "attempt_resumed"), (10_000, "attempt_done")
    )

    assert (sum(lanes.team.busy.until(lanes.newest)), sum(lanes.team.waited.until(lanes.newest))) == (2_000, 8_000)


def test_waits_are_counted_by_what_an_attempt_waits_for() -> None:
    lanes = learned((0, "attempt_started"))
    lanes.add_records(
        [
            replace(record(2, 100, "attempt_parked"), body=b'{"why":"rate_limit"}'),
            record(3, 500, "slot_wanted"),
            record(4, 550, "attempt_resumed"),
            record(5, 600, "attempt_failed"),
            record(6, 600, "retry_scheduled", agent_id=None),
            record(7, 900, "retry_due", agent_id=None),
            record(8, 950, "attempt_started"),
            record(9, 980, "attempt_failed"),
            record(10, 980, "retry_scheduled", agent_id=None),
            record(11, 990, "run_finished", agent_id=None),
            record(12, 2_000, "run_submitted", agent_id=None),
        ]
    )
    sums = {kind: sum(counts.until(lanes.newest)) for kind, counts in lanes.lanes["a1"].waits.items()}

    assert sums == {"rate_limit": 400, "slot": 50, "backoff": 310}
    view = TimelineView(state=State(), rows=[LaneRow("a1", "ada", 1)], begin=0, end=1_000, cursor=999)
    lane = next(line for line in draw_timeline(lanes, view, width=80, height=8).lines if line.key == "a1")
    assert {("◷", "warn"), ("◌", "waiting"), ("↻", "error")} <= {
        (sign, span.tone) for span in lane.spans for sign in span.text
    }


@given(
    st.lists(st.tuples(st.integers(0, 60_000), st.booleans()), min_size=2, max_size=40),
    st.integers(4, 160),
    st.booleans(),
)
def test_an_axis_has_no_more_columns_than_fit_and_every_moment_has_one(
    steps: list[tuple[int, bool]], width: int, unfolded: bool
) -> None:
    at_ms, events = 0, list[tuple[int, str]]()
    for pause_ms, begins in steps:
        at_ms += pause_ms
        events.append((at_ms, "attempt_started" if begins else "attempt_done"))
    lanes = learned(*events)
    end = lanes.position_at(lanes.last_ms)

    found = cut_axis(lanes, 0, end, width, unfolded=unfolded)

    assert len(found.columns) <= width
    times = [column for column in found.columns if not column.folded_ms]
    assert all(one.end <= other.begin for one, other in pairwise(times))
    assert found.column_of(end) is not None


@cache
def worlds() -> list[World]:
    """Return what views look at, and leave as it is."""
    return [audit("\x1b]0;owned\x07 日本"), trouble(), talking()[0]]


@pytest.mark.parametrize(("width", "height"), [(30, 6), (80, 20), (120, 34), (200, 52), (300, 70)])
@pytest.mark.parametrize("unfolded", [False, True])
def test_a_timeline_takes_exactly_the_room_that_there_is(width: int, height: int, unfolded: bool) -> None:
    for work in worlds():
        shown = drawn(work, width, height, unfolded=unfolded)

        assert len(shown) == height
        assert all(sum(cell_len(span.text) for span in line.spans) <= width for line in shown)


def drawn(work: World, width: int, height: int, *, unfolded: bool = False) -> list[Line]:
    lanes = lanes_of(work)
    end = lanes.advance(work.now_ms)
    rows = rows_of(work.state, lanes.lanes, names=str, needle="", available=height)
    seen = TimelineView(
        state=work.state, rows=rows, begin=0, end=end, cursor=end, unfolded=unfolded,
        busy_of=make_digest(work.state).busy_of,
    )  # fmt: skip
    return draw_timeline(lanes, seen, width=width, height=height).lines


def test_names_of_lanes_are_whole_where_there_is_room() -> None:
    name = "checker-number-1-with-a-name"
    work = team_world(agent(name))
    work.order(Submit(request="go"))

    assert name in text(drawn(work, 200, 20))
    assert name not in text(drawn(work, 120, 20))


def text(lines: list[Line]) -> str:
    return "\n".join("".join(span.text for span in line.spans) for line in lines)


def test_swaps_pauses_and_failures_stand_in_the_lane_of_the_agent() -> None:
    lines = {line.split()[0].strip("▌"): line for line in text(drawn(audit(), 120, 30)).splitlines() if line.split()}

    assert "◆" in lines["scout-thorough"]
    assert "✕" in lines["scout-thorough"]
    assert "‖" in lines["grapher"]
    assert "▸" in lines["chief"]
    assert "╌" in lines["planner"]


@pytest.mark.parametrize(("fails", "sign"), [(False, "✓"), (True, "✕")])
def test_a_run_that_is_over_stands_in_the_lane_of_its_supervisor(fails: bool, sign: str) -> None:
    work = team_world(agent("scout", "scan"))
    work.now_ms = START_MS
    work.order(Submit(request="go", supervisor="chief"))
    (key,) = work.started
    if fails:
        work.fail(key)
    else:
        work.succeed(key)

    lanes = lanes_of(work)

    assert [(mark.sign, mark.subject) for mark in lanes.marks] == [
        ("▸", work.state.roots[0].id), (sign, work.state.roots[0].id)
    ]  # fmt: skip


def test_where_there_are_more_lanes_than_lines_only_those_that_worked_have_one() -> None:
    work = audit(idle=200)
    lanes = lanes_of(work)

    rows = rows_of(work.state, lanes.lanes, names=str, needle="", available=30)

    assert len(rows) < 30
    assert {row.id for row in rows if row.depth} == set(lanes.lanes)


def test_what_the_feed_has_folded_is_added_without_reading_the_file_again() -> None:
    work = audit()
    entries = [Entry(seq, event.at_ms, event.type, event) for seq, event in enumerate(work.journal, 1)]
    lanes = Lanes()

    assert timelines.catch_up(lanes, entries[:40])
    assert not timelines.catch_up(lanes, entries[50:])
    assert timelines.catch_up(lanes, entries[30:])
    assert lanes.seq == len(work.journal)
    assert lanes.team.busy.values == lanes_of(work).team.busy.values


def test_every_kind_that_lanes_look_at_is_one_that_there_is() -> None:
    from engine.core.events import KINDS as ALL

    assert set(ALL) >= KINDS


def test_what_ends_as_a_column_begins_is_counted_over_a_quarter_of_a_second_and_no_less() -> None:
    lanes = learned((0, "attempt_started"), (10_001, "attempt_done"))
    rows = rows_of(State(), lanes.lanes, names=str, needle="", available=20)
    end = lanes.advance(START_MS + 10_001)
    seen = TimelineView(state=State(), rows=rows, begin=0, end=end, cursor=end)

    assert "4.0 at ▼" in text(draw_timeline(lanes, seen, width=120, height=20).lines)


def test_the_sums_below_the_lanes_are_those_of_the_cursor() -> None:
    lanes = learned((0, "attempt_started"), (5_000, "attempt_done"), (20_000, "attempt_started"))
    rows = rows_of(State(), lanes.lanes, names=str, needle="", available=20)
    for cursor, at_work in ((2_000, "1.0 at ▼"), (12_000, "0.0 at ▼")):
        seen = TimelineView(state=State(), rows=rows, begin=0, end=lanes.advance(START_MS + 20_000), cursor=cursor)
        told = text(draw_timeline(lanes, seen, width=120, height=30).lines)

        assert at_work in told.partition("at work")[2].partition("failed/s")[0]


def test_agents_that_have_left_do_not_keep_a_lane_for_ever() -> None:
    lanes, seqs = Lanes(), count(1)
    for number in range(MAX_REMOVED + 50):
        for kind in ("attempt_started", "attempt_done", "agent_removed"):
            lanes.add_records([record(next(seqs), number * 100, kind, f"t{number}", f"a{number}")])

    assert list(lanes.lanes) == [f"a{number}" for number in range(50, MAX_REMOVED + 50)]
    assert sum(lanes.team.done.values) == MAX_REMOVED + 50


def test_a_title_below_a_lane_keeps_its_columns_whatever_its_script() -> None:
    assert [span.text for span in _by_cell("a犬e\u0301ש")] == ["a", "犬", "", "e\u0301", "ש"]


def test_a_team_of_a_thousand_is_counted_as_everywhere_else() -> None:
    lanes = learned((0, "attempt_started"))
    row = LaneRow("s1", "fleet", 0, tuple(f"a{number}" for number in range(1_000)))
    seen = TimelineView(state=State(), rows=[row], begin=0, end=lanes.advance(START_MS + 1_000), cursor=0)

    assert "0 of 1,000" in text(draw_timeline(lanes, seen, width=120, height=20).lines)


def test_two_slots_become_one_which_counts_no_more_than_it_holds() -> None:
    bound = 2**32 - 1
    counts = SlotCounts(10, SLOTS)
    for slot, count_of_slot in ((0, bound), (1, bound), (2, 3), (3, 4), (SLOTS - 1, 5)):
        counts.add(10 * slot, count_of_slot)
    counts.merge(2)

    assert [counts.values[slot] for slot in (0, 1, SLOTS // 2 - 1)] == [bound, 7, 5]
    assert (counts.slot_ms, sum(counts.values), len(counts.values)) == (20, bound + 12, SLOTS)


def test_a_run_of_a_sixth_of_a_second_has_the_whole_width_and_ticks_of_milliseconds() -> None:
    lanes = learned((0, "attempt_started"), (60, "attempt_done"), (100, "attempt_started"), (160, "attempt_done"))
    rows = rows_of(State(), lanes.lanes, names=str, needle="", available=20)
    end = lanes.advance(START_MS + 160)

    lines = draw_timeline(
        lanes, TimelineView(state=State(), rows=rows, begin=0, end=end, cursor=end), width=120, height=20
    ).lines
    heading, lane = text(lines[:1]), text(lines[2:3])

    assert lane.rstrip("▼│").count("▇") >= 25
    assert " " * 8 in lane[20:60]  # where nothing was at work
    assert "13:20.012 " in heading
    assert "13:20.036 " in heading


@pytest.mark.parametrize(
    ("last_ms", "step"), [(160, 2), (161, 4), (900, 20), (8_000, 100), (20_000, 250), (20_001, 500)]
)
def test_columns_are_of_round_numbers_however_short_the_time_is(last_ms: int, step: int) -> None:
    lanes = learned((0, "attempt_started"), (last_ms, "attempt_done"))

    assert cut_axis(lanes, 0, last_ms, 80).step == step
    assert sum(lanes.team.busy.until(lanes.newest)) == last_ms


@given(st.lists(st.tuples(st.integers(0, 9_000), st.integers(0, 3)), min_size=1, max_size=60), st.data())
def test_a_part_counts_what_was_under_way_when_it_began(steps: list[tuple[int, int]], data: st.DataObject) -> None:
    records, at_ms, begun, ended = list[Record](), -steps[0][0], dict[str, int](), list[tuple[int, int]]()
    for seq, (pause_ms, number) in enumerate(steps, 1):
        at_ms, task = at_ms + pause_ms, f"t{number}"
        kind = "attempt_done" if task in begun else "attempt_started"
        records.append(record(seq, at_ms, kind, task, f"a{number}"))
        if kind == "attempt_done":
            ended.append((begun.pop(task), at_ms))
        else:
            begun[task] = at_ms
    whole = Lanes()
    whole.add_records(records)
    last = whole.advance(START_MS + at_ms)
    begin = data.draw(st.integers(0, last))
    end = data.draw(st.integers(begin, last))

    part = whole.part(begin, end)
    part.add_records(one for one in records if part.covers(one.at_ms))
    part.advance(START_MS + at_ms)

    every = [*ended, *((since, at_ms) for since in begun.values())]
    assert sum(part.team.busy.until(part.newest)) == sum(
        max(0, min(until, end) - max(since, begin)) for since, until in every
    )
    assert part.seq_at(0) <= next((one.seq for one in records if part.covers(one.at_ms)), len(records))


def test_a_part_has_what_is_under_way_also_where_that_was_not_counted_for_a_while() -> None:
    whole = learned((0, "attempt_started"), (90_000, "agent_swapped", "", ""))

    part = whole.part(80_000, None)

    assert part.advance(START_MS + 90_000) == 10_000
    assert sum(part.team.busy.until(part.newest)) == 10_000


def asking(*, answered: bool) -> World:
    """Return a team whose task failed, and whose question to a person stayed open for ten minutes."""
    work = team_world(agent("scout", "scan", on_failure=[Escalate(after_s=3_600)]), agent("idler"))
    work.now_ms = START_MS
    work.order(Submit(request="go", supervisor="chief"))
    work.now_ms += 5_000
    work.fail(next(iter(work.started)))
    work.now_ms += 600_000
    if answered:
        work.order(Answer(escalation=next(iter(work.state.escalations)), answer="retry"))
        work.now_ms += 5_000
        work.succeed(next(iter(work.started)), took_ms=5_000)
    return work


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("unfolded", [True, False])
def test_a_wait_for_a_person_is_not_drawn_as_idle(answered: bool, unfolded: bool) -> None:
    work = asking(answered=answered)
    chief, scout, idler = (
        next(line for line in drawn(work, 120, 20, unfolded=unfolded) if line.key == member_id)
        for member_id in (work.state.roots[0].id, *work.state.agents)
    )

    assert text([chief]).count("┅") > 70
    assert text([scout]).count("┅") > 70
    assert "╱" not in text([chief, scout, idler])
    assert "┅" not in text([idler])


def test_a_question_that_the_state_has_withdrawn_is_waited_for_no_longer() -> None:
    lanes, now_ms = lanes_of(asking(answered=False)), START_MS + 700_000
    asked_until = lanes.advance(now_ms)
    lanes.keep_questions(())

    assert asked_until == 700_000
    assert lanes.advance(now_ms + 50_000) == asked_until


STEP_KINDS = ("model", "tool", "compact", "code", "failed call", "rate limit", "resumed")


@given(st.lists(st.tuples(st.sampled_from(STEP_KINDS), st.integers(0, 900), st.integers(0, 2_000)), max_size=20))
def test_steps_take_the_time_at_work_since_they_began_and_each_moment_once(
    steps: list[tuple[str, int, int]],
) -> None:
    lanes = learned((0, "attempt_started"))
    painted, at_work, at_ms = dict[int, str](), set[int](), 0
    is_parked, free_ms = False, 0
    for seq, (what, pause_ms, duration_ms) in enumerate(steps, 2):
        at_work.update(() if is_parked else range(at_ms, at_ms + pause_ms))
        at_ms += pause_ms
        if what in ("rate limit", "resumed"):
            kind, body = (
                ("attempt_parked", b'{"why":"rate_limit"}') if what == "rate limit" else ("attempt_resumed", b"")
            )
            free_ms = free_ms if is_parked is (what == "rate limit") else at_ms
            is_parked = what == "rate limit"
        else:
            kind = "model_failed" if what == "failed call" else "step_recorded"
            body = encode({"duration_ms": duration_ms} | ({"what": what} if what != "failed call" else {}))
            if what != "code" and not is_parked:
                for moment in range(max(free_ms, at_ms - duration_ms), at_ms):
                    painted[moment] = "tool" if what == "tool" else "model"
                free_ms = at_ms if duration_ms else free_ms
        lanes.add_records([replace(record(seq, at_ms, kind), body=body)])
    lanes.advance(START_MS + at_ms)

    lane = lanes.lanes["a1"]
    assert sum(lane.busy.until(lanes.newest)) == len(at_work)
    assert {kind: sum(counts.until(lanes.newest)) for kind, counts in lane.steps.items()} == Counter(painted.values())


def test_lanes_say_models_tools_and_code_apart_and_the_legend_has_what_is_drawn() -> None:
    lanes = learned((0, "attempt_started"))
    lanes.add_records(
        [
            replace(record(2, 30_000, "step_recorded"), body=b'{"what":"model","duration_ms":30000}'),
            replace(record(3, 50_000, "step_recorded"), body=b'{"what":"tool","duration_ms":20000}'),
        ]
    )
    end = lanes.advance(START_MS + 100_000)
    row = LaneRow("a1", "ada", 1)
    view = TimelineView(
        state=State(),
        rows=[row],
        begin=0,
        end=end,
        cursor=0,
        open_steps={"a1": [(70_000, "model"), (80_000, "silent")]},
    )
    lines = draw_timeline(lanes, view, width=80, height=14).lines
    lane = text([line for line in lines if line.key == "a1"])

    assert all(sign * 5 in lane for sign in "⣿▓▇⋯")
    assert text(lines[-1:]).split() == ["⣿", "model", "▓", "tool", "▇", "code", "⋯", "silent"]
