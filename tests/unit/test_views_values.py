"""Outputs as lines: names and values laid out, in one line where they fit, cut to the room there is."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.values import output_lines, value_lines, value_spans

PARSED = {
    "entries": [{"file": "http/server.py", "lines": 1319, "bins": [30, 6, 0], "top": [{"name": "run_cgi", "line": 7}]}],
    "failures": [],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=30), inner, max_size=4),
    max_leaves=12,
)


def texts(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line.spans).rstrip() for line in lines]


def test_an_object_is_laid_out_and_what_fits_stands_in_a_line() -> None:
    assert texts(value_lines(PARSED, 40)) == [
        "entries",
        "  • file  http/server.py",
        "    lines 1319",
        "    bins  [30, 6, 0]",
        "    top",
        "      • name run_cgi  line 7",
        "failures []",
    ]


def test_names_numbers_and_texts_differ_in_colour() -> None:
    lines = value_lines({"file": "a.py", "n": 3, "done": True}, 60)

    tones = {span.text.strip(): span.tone for line in lines for span in line.spans}
    assert tones == {"file": "tool", "a.py": "", "n": "tool", "3": "plot-high", "done": "tool", "true": "muted"}


def test_what_there_is_no_room_for_is_said_to_be_more() -> None:
    lines = texts(value_lines(PARSED, 40, max_lines=3))

    assert lines == ["entries", "  • file  http/server.py", "…"]


def test_in_one_line_stand_the_plain_fields_of_the_first_object() -> None:
    assert "".join(span.text for span in value_spans(PARSED, 40)) == "file http/server.py  lines 1319"


def test_a_text_is_markdown_and_json_in_a_text_is_laid_out() -> None:
    assert texts(output_lines("# Audit\n\nFine.", 40)) == ["Audit", "", "Fine."]
    assert texts(output_lines('{"a": 1}\n\n{"b": 2}', 40)) == ["a 1", "", "b 2"]
    assert texts(output_lines("{never closed", 40)) == ["{never closed"]


@given(JSON, st.integers(12, 80), st.integers(1, 20))
def test_no_value_is_wider_or_higher_than_its_room_or_reaches_the_terminal_as_control(
    value: Any, width: int, most: int
) -> None:
    lines = value_lines(value, width, max_lines=most)

    assert len(lines) <= most
    for line in [*texts(lines), "".join(span.text for span in value_spans(value, width))]:
        assert cell_len(line) <= width
        assert not any(ord(letter) < 32 or ord(letter) == 127 for letter in line)


def test_a_value_nested_without_end_is_shown_as_far_as_it_matters() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = {"a": [deep]}

    assert texts(value_lines(deep, 60))[-1].endswith("…")
    assert value_spans(deep, 60)
    assert output_lines(json.dumps(deep), 60)
