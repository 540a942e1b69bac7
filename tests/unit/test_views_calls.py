"""What a question about a call shows of it: nothing is left out, and no paragraph is so long that a pane cuts it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from dashboard.clean import clean
from dashboard.views.drawing.call_lines import PIECE_CHARACTERS, call_cells, diffs_of, plain_lines
from dashboard.views.drawing.row_pane import labelled_paragraphs
from engine.core.discovery.match import Match
from engine.core.queries.people.offers import scored_offers
from engine.core.signals import FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode
from engine.core.specs.spec import AgentSpec
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


@pytest.mark.parametrize("end", ["\r", "\f", "\v", "\x1c", "\x85", "\u2028", "\u2029"])
def test_no_character_in_a_line_of_a_file_begins_another_line_of_its_diff(end: str) -> None:
    question = asked(diffs=[{"path": "x", "diff": f"+a{end}-b\n c"}, {"path": "y", "diff": ""}])

    assert [*diffs_of(question)] == [("x", [f"+a{end}-b", " c"]), ("y", [])]
    assert plain_lines(question)[:3] == ["  diff  x", f"        +a{end}-b", "         c"]


def test_an_offered_agent_is_shown_with_all_that_its_spec_says_and_uses_each_on_a_line_of_its_own() -> None:
    spec = AgentSpec(name="painter", model="openai/gpt-4o", instructions="Paint\nwell", tools=("crew:mix", "crew:draw"))
    found = FoundSpec(source=AgentDiscoveryMode.RAG, id="agents/pa\nuses  none.md", hash="1", spec=spec)
    match = Match(id=found.id, name=spec.name, source="rag", score=0.5, matched=["paint"], missing=["walls"])
    question = asked(agents=[{**to_builtins(found), "references": [], "match": to_builtins(match)}])

    assert scored_offers(question.detail) == [(found, match)]
    assert plain_lines(question) == [
        "  agent painter, from the documents: agents/pa\\nuses  none.md",
        "        score 0.50, matches paint",
        "  uses  crew:mix",
        "  uses  crew:draw",
        '        │ type: "llm"',
        '        │ model: "openai/gpt-4o"',
        '        │ tools: ["crew:mix", "crew:draw"]',
        '        │ instructions: "Paint\\nwell"',
    ]


def test_a_question_about_no_call_shows_none() -> None:
    assert not call_cells(asked())
    assert not plain_lines(asked())


def test_the_pane_of_a_question_begins_each_long_argument_at_its_name_and_marks_what_follows() -> None:
    text = " ".join(f"word{number}" for number in range(500))

    pane = labelled_paragraphs(call_cells(asked(arguments={"to": "bob", "body": text})), 80)
    lines = ["".join(span.text for span in line.spans) for line in pane]

    assert [line.split()[:2] for line in lines[:2]] == [["with", "to:"], ["body:", '"word0']]
    assert len(lines) == 9
    assert lines[-1].endswith("…")


def test_arguments_of_any_shape_are_shown_and_no_sign_of_theirs_is_obeyed() -> None:
    sign, cleaned = "x\x1b[2J", clean("x\x1b[2J")
    odd = {f"a{sign}": "é\x1b[2J", f"b{sign}": "one\ntwo", "c": None, "d": [1, {"e": "f\ng"}]}

    assert plain_lines(asked(arguments=odd, diffs="none")) == [
        f'  with  a{cleaned}: "é\\u001b[2J"',
        f"        b{cleaned}:",
        "        │ one",
        "        │ two",
        "        c: null",
        '        d: [1, {"e": "f\\ng"}]',
    ]
    for value in ([], ["a", 1], 0, False, ""):
        assert plain_lines(asked(arguments=value)) == [f"  with  {json.dumps(value)}"]
    assert plain_lines(asked(diffs=[{}, "no diff", {"path": sign, "diff": "+a"}])) == [
        "  diff  ", "        ", f"  diff  {cleaned}", "        +a",
    ]  # fmt: skip


@pytest.mark.parametrize("line", ["x" * (PIECE_CHARACTERS - 1), "x" * 10, "x" * (2 * PIECE_CHARACTERS + 5)])
def test_long_texts_are_cut_at_the_ends_of_lines_where_there_are_some(line: str) -> None:
    cells = call_cells(asked(diffs=[{"path": "x", "diff": "\n".join([line] * 30)}]))[1:]
    pieces = [cell.text for cell in cells]

    whole = len(line) <= PIECE_CHARACTERS
    assert ("\n" if whole else "").join(pieces).replace("\n", "") == line * 30
    assert all(len(piece) <= PIECE_CHARACTERS for piece in pieces)
    if whole:
        assert {part for piece in pieces for part in piece.split("\n")} == {line}
