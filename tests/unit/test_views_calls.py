"""What a question about a call shows of it: nothing is left out, and no paragraph is so long that a pane cuts it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.call_lines import PIECE_CHARACTERS, call_cells, diffs_of, plain_lines
from dashboard.views.row_pane import worded
from engine.core.state import Escalation


def asked(**detail: Any) -> Escalation:
    return Escalation(
        id="e1", kind="permission", subject="t1", run_id="r1", question="?", options=[], default=None, asked_ms=0,
        detail=detail,
    )  # fmt: skip


@given(st.text(st.sampled_from("ab \n"), max_size=30), st.integers(1, 9_000))
def test_a_text_in_a_call_is_shown_whole_in_paragraphs_of_a_bounded_size(text: str, times: int) -> None:
    cells = call_cells(asked(diffs=[{"path": "x", "diff": text * times}]))

    assert all(len(cell.text) <= PIECE_CHARACTERS for cell in cells)
    assert "".join(cell.text for cell in cells[1:]).replace("\n", "") == (text * times).replace("\n", "")


def test_a_diff_is_lines_and_a_text_of_several_is_too_and_neither_looks_like_another_argument() -> None:
    question = asked(
        arguments={"path": "x", "text": "a\nb: 1", "y\n  z": 2}, diffs=[{"path": "x", "diff": "--- a/x\n+++ b/x\n+a"}]
    )

    assert [*diffs_of(question)] == [("x", ["--- a/x", "+++ b/x", "+a"])]
    assert plain_lines(question) == [
        '  with  path: "x"',
        "        text:",
        "        │ a",
        "        │ b: 1",
        "        y\\n  z: 2",
        "  diff  x",
        "        --- a/x",
        "        +++ b/x",
        "        +a",
    ]


def test_a_question_about_no_call_shows_none() -> None:
    assert not call_cells(asked())
    assert not plain_lines(asked())


def test_the_pane_of_a_question_begins_each_long_argument_at_its_name_and_marks_what_follows() -> None:
    text = " ".join(f"word{number}" for number in range(500))

    pane = worded(call_cells(asked(arguments={"to": "bob", "body": text})), 80)
    lines = ["".join(span.text for span in line.spans) for line in pane]

    assert [line.split()[:2] for line in lines[:2]] == [["with", "to:"], ["body:", '"word0']]
    assert len(lines) == 9
    assert lines[-1].endswith("…")
