"""What is drawn with characters fits its width, and says as much as its numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dashboard.views.drawing.lines import Span, cell_width, cut, cut_path, hairline, pad, spread
from dashboard.views.drawing.plots import area, axis_top, bar, meter, plot, spark

WIDTHS = st.integers(0, 60)
SAMPLES = st.lists(st.floats(0, 1e9), max_size=200)
TEXTS = st.text(max_size=80)


@given(SAMPLES, WIDTHS)
def test_a_sparkline_is_as_wide_as_it_was_asked_to_be(values: list[float], width: int) -> None:
    assert cell_len(spark(values, width)) == width


@given(SAMPLES, st.integers(1, 40), st.integers(1, 8))
def test_an_area_fills_its_rectangle_and_is_never_higher_for_less(values: list[float], width: int, height: int) -> None:
    rows = area(values, width, height)

    assert [cell_len(row) for row in rows] == [width] * height
    for below, above in zip(rows[1:], rows, strict=False):
        assert all(lower != " " or higher == " " for lower, higher in zip(below, above, strict=True))


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 60))
def test_a_meter_is_full_only_at_its_end_and_grows_with_its_share(one: float, other: float, width: int) -> None:
    filled = [len(meter(share, width)[0].text) for share in sorted((one, other))]

    assert filled == sorted(filled)
    assert cell_width(meter(one, width)) == width
    assert meter(1.0, width)[1].text == ""
    assert meter(0.0, width)[0].text == ""


@given(st.floats(0.001, 1))
def test_what_happened_at_all_is_seen(share: float) -> None:
    assert bar(share) != " "
    assert bar(share, max_level=7) != " "
    assert bar(1.0, max_level=7) == "▇"


@given(st.floats(1e-6, 1e12))
def test_an_axis_ends_above_its_largest_value_and_not_far_above(most: float) -> None:
    assert most <= axis_top(most) <= 2 * most + 1e-9


def test_an_axis_has_its_labels_at_their_heights() -> None:
    drawn = plot([1, 2, 3, 4] * 5, 16, 5, top=4, labels=("4", "2", "0"), tones=("plot-low", "plot-high"))

    assert [line.spans[0].text.strip() for line in drawn] == ["4", "", "2", "", "0"]
    assert drawn[0].spans[2].tone == "plot-high"
    assert drawn[-1].spans[2].tone == "plot-low"


@given(TEXTS, WIDTHS)
def test_a_text_is_cut_to_its_room(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= width
    assert cell_len(cut_path(text, width)) <= width
    assert cell_len(pad(text, width)) == width


@given(TEXTS, TEXTS, st.integers(1, 80))
def test_a_line_with_two_ends_is_as_wide_as_its_room(left: str, right: str, width: int) -> None:
    assert cell_width(spread([Span(left)], [Span(right)], width).spans) == width
    assert cell_width(hairline("NOW", width, right=left).spans) == width


def test_a_path_is_cut_in_front_and_at_a_slash() -> None:
    assert cut_path("library/encodings/utf_16.py", 15) == "…/utf_16.py"
    assert cut_path("no path at all here", 8) == "no path…"


WORDS = st.text("abcXY/.-", min_size=1, max_size=12)


@given(st.lists(WORDS, min_size=2, max_size=6).map(" ".join).filter(lambda text: text[0] not in "/.~"), WIDTHS)
def test_a_sentence_with_a_slash_in_it_is_no_path_and_keeps_its_beginning(text: str, width: int) -> None:
    assert cut_path(text, width) == cut(text, width)


@given(st.sampled_from(["", "/", "~/", "../"]), st.lists(st.text("ab_", min_size=1), min_size=1, max_size=6), WIDTHS)
def test_a_path_keeps_its_end(start: str, parts: list[str], width: int) -> None:
    path = start + "/".join(parts)
    shown = cut_path(path, width)

    assert shown == path or shown.removeprefix("…") in path or shown == cut(parts[-1], width)


@pytest.mark.parametrize("start", ["/", "~/", "./", "../"])
@pytest.mark.parametrize("end", ["", "/"])
def test_what_begins_as_a_path_does_is_cut_in_front_though_it_has_spaces(start: str, end: str) -> None:
    assert cut_path(f"{start}my own folder/loader.py{end}", 14) == f"…/loader.py{end}"
    assert cut_path(f"{start}my own folder/a_long_name_of_a_file.py{end}", 10) == "a_long_na…"


def test_the_line_of_a_title_that_has_hardly_room_does_not_touch_it() -> None:
    tight = hairline("TIME A TASK", 39, right="p50 100 ms  p95 991 ms")

    assert "".join(span.text for span in tight.spans) == "─ TIME A TASK  p50 100 ms  p95 991 ms ─"
