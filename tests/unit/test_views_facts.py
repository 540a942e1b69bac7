"""Facts laid out as cells, rows and lines."""

import pytest
from rich.cells import cell_len

from dashboard.views.drawing.facts import Fact, in_groups, to_cells, to_lines, to_row
from dashboard.views.drawing.lines import Line, Span, cell_width

FACTS = [
    Fact("type", "function", group="about", rank=2),
    Fact("generation", "g2", "accent", "about"),
    Fact("under", "desk", group="about", rank=1),
    Fact("budget", "5 of 10 tokens", "warn", "limits", drawn=(Span("━━", "warn"),), more="then it stops"),
]


def text_of(line: Line) -> str:
    return "".join(span.text for span in line.spans)


def test_a_place_chooses_groups_and_their_order() -> None:
    assert [fact.label for fact in in_groups(FACTS, "limits", "about")] == ["budget", "type", "generation", "under"]
    assert in_groups(FACTS, "alerts") == []


def test_cells_have_every_label_and_what_only_a_description_adds() -> None:
    cells = to_cells(FACTS)

    assert [cell.lead for cell in cells] == ["type        ", "generation  ", "under       ", "budget      "]
    assert cells[-1].text == "━━  5 of 10 tokens; then it stops"
    assert cells[-1].tone == "warn"


def test_a_row_without_room_loses_the_highest_rank_first() -> None:
    bare = {"generation", "type"}

    assert text_of(to_row(FACTS[:3], 40, bare=bare)) == "function   g2   under desk"
    assert text_of(to_row(FACTS[:3], 20, bare=bare)) == "g2   under desk"
    assert text_of(to_row(FACTS[:3], 10, bare=bare)) == "g2"
    assert text_of(to_row(FACTS[:3], 1, bare=bare)) == "…"


def test_the_free_cells_of_a_row_are_shared_evenly() -> None:
    row = text_of(to_row(FACTS[1:3], 40, max_gap=7))

    assert row == "generation g2   │   under desk"


def test_lines_take_as_many_as_the_facts_need() -> None:
    lines = [text_of(line) for line in to_lines(FACTS, 30, bare={"type"})]

    assert lines == ["function   generation g2", "under desk", "budget ━━ 5 of 10 tokens"]


@pytest.mark.parametrize("width", [1, 5, 12, 30, 100])
def test_no_row_or_line_is_wider_than_its_place(width: int) -> None:
    wide = [*FACTS, Fact("error", "日本語の" * 20, "error")]

    assert cell_width(to_row(wide, width, max_gap=12).spans) <= width
    assert all(cell_len(text_of(line)) <= width for line in to_lines(wide, width))


def test_no_facts_are_no_lines_and_an_empty_row() -> None:
    assert to_lines([], 40) == []
    assert text_of(to_row([], 40)) == ""
