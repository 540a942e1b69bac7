"""Thoughts that a server does not separate from the text."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.thoughts import MAX_BLANK_CHARACTERS, TAGS, TaggedText, split_content, split_unopened_thought

PIECES = st.lists(
    st.sampled_from(["<think>", "</think>", "<th", "ink>", "</", "think>", "[THINK]", "a", "<", " ", "\n"])
)


def divided(pieces: Iterable[str]) -> tuple[str, str]:
    """Return the thought and the text of a streamed answer."""
    tagged = TaggedText()
    parts = [part for piece in pieces for part in tagged.feed(piece)] + list(tagged.flush())
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
    assert split_unopened_thought("plan\n</think>\n\n4") == ("plan\n", "4")
    assert split_unopened_thought("the tag </think> ends a thought") == ("", "the tag </think> ends a thought")


@pytest.mark.parametrize(
    "answer",
    [
        "So it looks:\n\n<think>\nplan\n</think>\n\n4",
        "A prompt may end with\n\n```\n</think>\n```\n\nand then",
        "```xml\n<think>\n</think>\n```",
    ],
)
def test_an_answer_about_tags_is_no_thought(answer: str) -> None:
    assert split_unopened_thought(answer) == ("", answer)


def test_parts_are_joined_by_their_kind_and_others_left_out() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, "b", 3, {"type": "thinking", "thinking": "plan"}]

    assert split_content(parts) == ("plan", "ab")
    assert split_content({"text": "a"}) == ("", "")


@pytest.mark.parametrize("tag", TAGS)
def test_each_tag_holds_a_thought_up_to_its_own_end_however_it_is_streamed(tag: str) -> None:
    end = TAGS[tag]
    other = next(closing for closing in TAGS.values() if closing != end)
    for before in ("", "\n ", " " * MAX_BLANK_CHARACTERS):
        answer = f"{before}{tag} plan {other} <b {end} \n4 {tag}x{end}"
        for pieces in ([answer], list(answer), [before, answer[len(before) :]]):
            assert divided(pieces) == (f" plan {other} <b ", f"4 {tag}x{end}")
    late = f"{' ' * (MAX_BLANK_CHARACTERS + 1)}{tag}plan{end}4"
    assert divided([late]) == divided(late) == ("", late)
    assert list(TaggedText().feed(late[: MAX_BLANK_CHARACTERS + 1])) == [(False, late[: MAX_BLANK_CHARACTERS + 1])]
    assert split_unopened_thought(f"see {tag}\n</think>\n4") == ("", f"see {tag}\n</think>\n4")


def test_what_is_certain_of_a_stream_is_not_held_back() -> None:
    tagged = TaggedText()
    parts = [list(tagged.feed(piece)) for piece in ("<think>a plan", " <b", "</think>", "\n", "4", " <th")]

    shown = [[part for part in piece if part[1]] for piece in parts]
    assert shown == [[], [(True, "a ")], [(True, "plan <b")], [], [(False, "4")], [(False, " <th")]]
    assert [text for _, text in tagged.flush()] == [""]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("a", ("", "a")),
        ([{"reasoning": "plan"}, {"text": "a"}], ("plan", "a")),
        ([{"thinking": [{"text": "a "}, "b", {"thinking": "c"}], "text": "d"}], ("ca b", "d")),
        ([{"thinking": "", "reasoning": ["plan"]}, {"text": None}, {"text": ["x"]}], ("plan", "")),
        (None, ("", "")),
    ],
)
def test_a_part_may_be_a_thought_by_either_name_and_hold_parts(content: Any, parts: tuple[str, str]) -> None:
    assert split_content(content) == parts


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("plan\n</think> \t\n\n\n4\n</think>\n5", ("plan\n", "4\n</think>\n5")),
        ("</think>\n4", ("", "4")),
        ("plan\n</think>", ("plan\n", "")),
        ("```\na\n```\n</think>\n4", ("```\na\n```\n", "4")),
        ("plan\n </think>\n4", ("", "plan\n </think>\n4")),
    ],
)
def test_the_first_line_that_only_ends_a_thought_divides_an_answer(answer: str, parts: tuple[str, str]) -> None:
    assert split_unopened_thought(answer) == parts
