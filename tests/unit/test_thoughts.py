"""Thoughts that a server does not separate from the text."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.thoughts import TaggedText, divided_parts, unopened_thought

PIECES = st.lists(
    st.sampled_from(["<think>", "</think>", "<th", "ink>", "</", "think>", "[THINK]", "a", "<", " ", "\n"])
)


def divided(pieces: Iterable[str]) -> tuple[str, str]:
    """Return the thought and the text of a streamed answer."""
    tagged = TaggedText()
    parts = [part for piece in pieces for part in tagged.take(piece)] + list(tagged.rest())
    return tuple("".join(text for is_thought, text in parts if is_thought is kind) for kind in (True, False))  # type: ignore[return-value]


@given(PIECES)
def test_it_is_the_same_thought_however_it_is_streamed(pieces: list[str]) -> None:
    whole = "".join(pieces)

    assert divided(pieces) == divided([whole])
    if not whole.lstrip().startswith(("<think>", "[THINK]")):
        assert divided(pieces) == ("", whole)


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("<think>plan</think>\n\n4", ("plan", "4")),
        ("\n<thinking>plan</thinking>4", ("plan", "4")),
        ("[THINK]plan[/THINK]4", ("plan", "4")),
        ("<think>never closed", ("never closed", "")),
        ("4 <think>plan</think>", ("", "4 <think>plan</think>")),
        ("<thin ice>", ("", "<thin ice>")),
    ],
)
def test_a_tag_at_the_beginning_holds_a_thought(answer: str, parts: tuple[str, str]) -> None:
    assert divided([answer]) == parts
    assert divided(answer) == parts


def test_a_thought_whose_tag_stood_in_the_prompt_ends_at_a_line_of_its_own() -> None:
    assert unopened_thought("plan\n</think>\n\n4") == ("plan\n", "4")
    assert unopened_thought("the tag </think> ends a thought") == ("", "the tag </think> ends a thought")


@pytest.mark.parametrize(
    "answer",
    [
        "So it looks:\n\n<think>\nplan\n</think>\n\n4",
        "A prompt may end with\n\n```\n</think>\n```\n\nand then",
        "```xml\n<think>\n</think>\n```",
    ],
)
def test_an_answer_about_tags_is_no_thought(answer: str) -> None:
    assert unopened_thought(answer) == ("", answer)


def test_parts_are_joined_by_their_kind_and_others_left_out() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, "b", 3, {"type": "thinking", "thinking": "plan"}]

    assert divided_parts(parts) == ("plan", "ab")
    assert divided_parts({"text": "a"}) == ("", "")
