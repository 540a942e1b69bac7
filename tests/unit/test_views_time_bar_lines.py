"""The rows of the time bar: its size, where the operator stands, and what takes the place of its words."""

from datetime import datetime, timedelta

import pytest
from rich.cells import cell_len

from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.rows import Cell
from dashboard.views.measures.time_bar_columns import time_bar
from dashboard.views.measures.time_bar_lines import HEAD_WIDTH, column_under, columns_at, rows_at, time_bar_lines
from dashboard.views.past import PastMoment, describe_fork
from dashboard.views.words.parsers import Mistyped, Seq, parse_moment
from store.journals.records import EventSpan

SPANS = [EventSpan(at * 10 + 1, at * 10 + 10, at * 1_000, at * 1_000 + 900, {"attempt_done": 9}) for at in range(60)]
SPANS[30].counts["agent_swapped"] = 1


def drawn(width: int, rows: int, *, past: PastMoment | None = None, said: Cell | None = None) -> list[Line]:
    bar = time_bar(SPANS, width=columns_at(width, rows), rows=max(1, rows - 1))
    return time_bar_lines(bar, width=width, rows=rows, seq=600, at_ms=59_900, alive=True, past=past, notice=said)


def text(line: Line) -> str:
    return "".join(span.text for span in line.spans)


@pytest.mark.parametrize(("screen", "rows"), [(24, 1), (29, 1), (30, 2), (44, 2), (45, 3), (80, 3)])
def test_the_bar_is_as_high_as_the_screen_allows(screen: int, rows: int) -> None:
    assert rows_at(screen) == rows


@pytest.mark.parametrize("width", [60, 80, 120, 200, 300])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("past", [None, PastMoment(300, 30_000, 600, 90_000)])
def test_no_row_is_wider_than_the_screen(width: int, rows: int, past: PastMoment | None) -> None:
    lines = drawn(width, rows, past=past)

    assert len(lines) == rows
    assert all(cell_len(text(line)) <= width for line in lines)


def test_in_the_past_the_cursor_parts_what_was_from_what_came_later() -> None:
    marks, blocks = drawn(120, 2, past=PastMoment(300, 30_000, 600, 90_000))

    at = text(marks).index("▼")
    place = 0
    for span in blocks.spans[2:-1]:
        column = place + HEAD_WIDTH
        place += len(span.text)
        assert span.tone == ("past" if column < at else "past-badge" if column == at else "faint")
    assert "seq 600, live +0" in text(marks)


def test_where_not_all_words_about_the_past_fit_between_marks_the_seq_still_does() -> None:
    marks, _ = drawn(70, 2, past=PastMoment(300, 30_000, 600, 90_000))

    assert "  seq 600, live +0  " in text(marks)


def test_a_mark_that_came_later_is_grey() -> None:
    marks, _ = drawn(120, 2, past=PastMoment(100, 10_000, 600, 90_000))

    assert [span.tone for span in marks.spans if span.text == "◆"] == ["faint"]


def test_live_marks_have_their_colour_and_the_words_say_what_they_mean() -> None:
    marks, blocks = drawn(120, 2)

    assert "accent" in [span.tone for span in marks.spans if span.text == "◆"]
    assert "◇ strategy" in text(marks)
    assert text(blocks).startswith(" LIVE ▕")


def test_what_was_said_takes_the_words_and_leaves_the_blocks() -> None:
    lines = drawn(120, 2, said=Cell("✓ swapped", "busy"))

    assert text(lines[0]) == " ✓ swapped"
    assert "LIVE" in text(lines[1])
    assert [text(line) for line in drawn(80, 1, said=Cell("✓ swapped", "busy"))] == [" ✓ swapped"]


def test_a_long_refusal_goes_over_four_lines_at_most() -> None:
    lines = drawn(80, 1, said=Cell("refused: " + "why it is so and what to do; " * 30, "error"))

    assert len(lines) == 4
    assert text(lines[-1]).endswith("…")


def test_places_beside_the_columns_are_the_first_and_the_last() -> None:
    columns = columns_at(120, 2)

    assert column_under(0, width=120, rows=2) == 0
    assert column_under(HEAD_WIDTH + 5, width=120, rows=2) == 5
    assert column_under(119, width=120, rows=2) == columns - 1


NOON_MS = 1_763_720_671_000


@pytest.mark.parametrize(("said", "meant"), [("812", 812), ("1,011,459", 1_011_459), (" 7 ", 7)])
def test_a_number_is_a_seq(said: str, meant: int) -> None:
    found = parse_moment(said, NOON_MS)

    assert isinstance(found, Seq)
    assert found == meant


@pytest.mark.parametrize(("said", "ago_ms"), [("90s", 90_000), ("10m", 600_000), ("1.5h", 5_400_000)])
def test_a_length_is_so_long_ago(said: str, ago_ms: int) -> None:
    assert parse_moment(said, NOON_MS) == NOON_MS - ago_ms


@pytest.mark.parametrize("said", ["noon", "25:00", "", "12:61", "-", "10 parsecs", "²"])
def test_what_is_no_moment_is_refused_with_what_would_be(said: str) -> None:
    with pytest.raises(Mistyped, match="13:59:10"):
        parse_moment(said, NOON_MS)


def test_a_time_of_day_is_of_the_day_of_the_team() -> None:
    found = parse_moment("2025-11-21T10:24:31+00:00", NOON_MS)

    assert found == NOON_MS


@pytest.mark.parametrize(("minutes", "days_ago"), [(-1, 0), (0, 0), (1, 1)])
def test_a_time_of_day_is_the_last_such_time(minutes: int, days_ago: int) -> None:
    noon = datetime.fromtimestamp(NOON_MS / 1000).astimezone()
    meant = noon + timedelta(minutes=minutes)

    assert parse_moment(f"{meant:%H:%M:%S}", NOON_MS) == round((meant - timedelta(days_ago)).timestamp() * 1000)


@pytest.mark.parametrize("rows", [1, 2])
def test_before_anything_was_read_no_moment_is_named(rows: int) -> None:
    bar = time_bar([], width=columns_at(120, rows))
    lines = time_bar_lines(bar, width=120, rows=rows, seq=0, at_ms=0, alive=True, past=None, notice=None)

    assert not any("seq" in text(line) or "00:00" in text(line) for line in lines)


def test_what_stays_on_a_low_screen_takes_one_line_and_leaves_the_bar() -> None:
    bar = time_bar(SPANS, width=columns_at(40, 1))
    said = Cell("■ engine 4211 stopped · continue: E or quarterdeck engine --db team.db", "muted")
    lines = time_bar_lines(
        bar, width=40, rows=1, seq=600, at_ms=59_900, alive=False, past=None, notice=said, stays=True
    )

    assert [text(line)[:36] for line in lines[:1]] == [" ■ engine 4211 stopped · continue: E"]
    assert len(lines) == 2
    assert text(lines[1]).startswith(" END  ▕")


@pytest.mark.parametrize(
    ("at_seq", "told"),
    [
        (2_884, "✓ forked at seq 2,884: 1 run and 2 open tasks, all paused"),
        (2_886, "✓ forked at seq 2,884–2,886: 1 run and 2 open tasks, all paused"),
    ],
)
def test_what_a_fork_was_made_of_names_the_moment_that_was_asked_for(at_seq: int, told: str) -> None:
    assert describe_fork(asked_seq=2_884, at_seq=at_seq, runs=1, tasks=2) == told
