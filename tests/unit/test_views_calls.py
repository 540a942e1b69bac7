"""What a question about a call shows of it: nothing is left out, and no paragraph is so long that a pane cuts it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.call_lines import PIECE_CHARACTERS, call_cells, diffs_of, plain_lines
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


def test_a_diff_is_lines_and_an_argument_is_one() -> None:
    question = asked(arguments={"path": "x", "text": "a\nb"}, diffs=[{"path": "x", "diff": "--- a/x\n+++ b/x\n+a"}])

    assert [*diffs_of(question)] == [("x", ["--- a/x", "+++ b/x", "+a"])]
    assert plain_lines(question) == [
        '  with  path: "x"',
        '        text: "a\\nb"',
        "  diff  x",
        "        --- a/x",
        "        +++ b/x",
        "        +a",
    ]


def test_a_question_about_no_call_shows_none() -> None:
    assert not call_cells(asked())
    assert not plain_lines(asked())
