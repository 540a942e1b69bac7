"""The time bar: every event has one column, every column its events; marks and words keep out of each other's way."""

import re
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.measures.idle_gaps import FOLD
from dashboard.views.measures.time_bar_columns import ASKS, EMPTY_CELL, TimeBar, time_bar
from dashboard.views.words.glyphs import MARKS
from store.journals.records import EventSpan

KINDS = ("attempt_done", "run_submitted", "run_finished", "task_failed", "agent_swapped", "escalated")
T0 = 1_700_000_000_000


BLOCKS = st.lists(
    st.tuples(
        st.tuples(*(st.integers(0, 60) for _ in KINDS)).filter(any), st.integers(0, 90_000), st.integers(0, 30_000)
    ),
    min_size=1,
    max_size=12,
)


@st.composite
def histories(draw: st.DrawFn) -> list[EventSpan]:
    """Spans that follow each other as blocks of a journal do."""
    spans: list[EventSpan] = []
    seq, at_ms = 1, T0
    for numbers, pause_ms, takes_ms in draw(BLOCKS):
        counts = {kind: number for kind, number in zip(KINDS, numbers, strict=True) if number}
        first_ms = at_ms + pause_ms
        at_ms = first_ms + takes_ms
        spans.append(EventSpan(seq, seq + sum(counts.values()) - 1, first_ms, at_ms, counts))
        seq = spans[-1].last_seq + 1
    return spans


def bar_of(spans: list[EventSpan], width: int = 40, rows: int = 1) -> TimeBar:
    return time_bar(spans, width=width, rows=rows)


@given(histories(), st.integers(1, 120))
def test_every_event_is_in_one_column_and_in_order(spans: list[EventSpan], width: int) -> None:
    bar = bar_of(spans, width)
    busy = [slot for slot in bar.slots if slot.events]

    assert len(bar.slots) == width
    assert sum(slot.events for slot in busy) == spans[-1].last_seq
    assert [slot.last_seq for slot in busy] == list(accumulate(slot.events for slot in busy))
    assert [slot.first_seq for slot in busy] == [1, *(slot.last_seq + 1 for slot in busy[:-1])]


@given(histories(), st.integers(1, 120))
def test_a_column_leads_to_a_moment_and_the_moment_back_to_it(spans: list[EventSpan], width: int) -> None:
    bar = bar_of(spans, width)

    for column, slot in enumerate(bar.slots):
        if slot.events:
            assert bar.column_of(bar.seq_at(column)) == column
            assert slot.first_seq <= bar.seq_at(column) <= slot.last_seq
    moments = [bar.seq_at(column) for column in range(-1, width + 1)]
    assert moments == sorted(moments)


@given(histories(), st.integers(1, 120))
def test_whatever_is_to_be_marked_has_a_mark_somewhere_and_only_that(spans: list[EventSpan], width: int) -> None:
    counted = {kind for span in spans for kind in span.counts}
    shown = {slot.mark for slot in bar_of(spans, width).slots if slot.mark}

    assert shown <= {MARKS[kind] for kind in counted if kind in MARKS}
    assert bool(shown) == any(kind in MARKS for kind in counted)


@given(histories(), st.integers(20, 120), st.integers(1, 2))
def test_blocks_and_marks_are_as_wide_as_the_bar(spans: list[EventSpan], width: int, rows: int) -> None:
    bar = bar_of(spans, width, rows)

    assert [len(row) for row in bar.blocks(rows)] == [width] * rows
    assert len(bar.slots) == width


def test_a_little_beside_a_lot_still_shows_and_nothing_is_a_dot() -> None:
    spans = [EventSpan(1, 1000, T0, T0, {"x": 1000}), EventSpan(1001, 1001, T0 + 9_000, T0 + 9_000, {"x": 1})]

    bar = time_bar(spans, width=10)

    assert bar.blocks() == ["█" + EMPTY_CELL * 8 + "▁"]


def test_half_as_much_is_higher_than_half() -> None:
    spans = [EventSpan(1, 100, T0, T0, {"x": 100}), EventSpan(101, 150, T0 + 1_000, T0 + 1_000, {"x": 50})]

    assert [slot.height for slot in time_bar(spans, width=2).slots] == [8, 5]
    assert time_bar(spans, width=2, rows=2).blocks(2) == ["█▂", "██"]


def test_the_rarer_mark_wins_a_column() -> None:
    spans = [
        EventSpan(1, 30, T0, T0, {"run_submitted": 20, "task_failed": 9, "agent_swapped": 1}),
        EventSpan(31, 35, T0 + 1_000, T0 + 1_000, {"run_submitted": 4, "task_failed": 1}),
    ]

    assert [slot.mark for slot in time_bar(spans, width=2).slots] == ["◆", "✕"]


def story(*moments: tuple[int, dict[str, int]]) -> list[EventSpan]:
    """Return a span for each moment, in seconds, with the numbers of its events."""
    spans: list[EventSpan] = []
    for at_s, counts in moments:
        first = spans[-1].last_seq + 1 if spans else 1
        spans.append(EventSpan(first, first + sum(counts.values()) - 1, T0 + 1_000 * at_s, T0 + 1_000 * at_s, counts))
    return spans


def test_idle_time_folds_to_a_few_columns_that_say_how_long_it_was_and_lead_to_the_event_before_it() -> None:
    work = {"attempt_started": 1, "attempt_done": 1}
    bar = bar_of(story((0, work), (10, work), (10 + 840, work), (860, work)), 60)
    (row,) = bar.blocks()

    assert re.fullmatch(r"█·+█╱+14m╱+█·+█", row)
    assert {bar.seq_at(column) for column, slot in enumerate(bar.slots) if slot.gap} == {4}
    assert row.index("14m") < 45


def test_a_wait_for_a_person_folds_as_one_and_an_attempt_at_work_not_at_all() -> None:
    begun = (0, {"run_submitted": 1, "attempt_started": 1})
    asks = (1, {"attempt_parked": 1, "escalated": 1})

    waits = bar_of(story(begun, asks, (601, {"escalation_answered": 1, "attempt_resumed": 1})), 60)
    works = bar_of(story(begun, (601, {"attempt_done": 1})), 60)
    killed = bar_of(story(begun, (601, {"engine_started": 1})), 60)

    assert f"{ASKS}10m{ASKS}" in waits.blocks()[0]
    assert FOLD not in waits.blocks()[0]
    assert works.blocks() == ["█" + 58 * EMPTY_CELL + "▅"]
    assert "╱10m╱" in killed.blocks()[0]
