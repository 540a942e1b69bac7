"""Markdown of agents: everything is seen, nothing runs, and no text is too much."""

import pytest

from dashboard.views.changes.drafts import MAX_NESTED_FIELDS, as_markdown, outline_value
from dashboard.views.drawing.markdown import (
    FIRST_SECTION_CHARACTERS,
    GROWTH,
    MAX_TOKENS,
    clean_markdown,
    make_parser,
    sections,
)


def said(text: str) -> str:
    """Return what a reader sees of a markdown text."""
    tokens = make_parser().parse(clean_markdown(text))
    return "\n".join(
        "".join(child.content for child in token.children or ()) if token.type == "inline" else token.content
        for token in tokens
        if token.content
    )


def kinds(text: str) -> set[str]:
    tokens = make_parser().parse(clean_markdown(text))
    return {one.type for token in tokens for one in (token, *(token.children or ()))}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("see [the shop](http://x.y/z)", "see the shop (http://x.y/z)"),
        ("<http://x.y>", "http://x.y"),
        ("![cat](http://x.y/cat.png)", "[picture: cat] (http://x.y/cat.png)"),
        ("[a]: http://x.y", "[a]: http://x.y"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("[run](javascript:alert)", "[run](javascript:alert)"),
        ("&#x202e;&lt;", "&#x202e;&lt;"),
        ("\x1b[31mred\u202e", "\\x1b[31mred\\u202e"),
        ("[bold]red[/bold]", "[bold]red[/bold]"),
    ],
)
def test_what_could_run_hide_or_reverse_is_shown_as_text(text: str, seen: str) -> None:
    assert said(text) == seen
    assert not kinds(text) & {"link_open", "image", "html_inline", "html_block"}


def test_headings_tables_lists_and_code_stay_what_they_are() -> None:
    text = "# Title\n\n- one\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n\n**bold** `x`"

    assert clean_markdown(text) == text
    assert {"heading_open", "bullet_list_open", "table_open", "fence", "strong_open", "code_inline"} <= kinds(text)


@pytest.mark.parametrize(
    "text",
    [f"{'a' * 60}\n\n" * 2_000, "x" * 1_000_000, "|" + "a|" * 9_000 + "\n|" + "-|" * 9_000],
    ids=["paragraphs", "a word", "columns"],
)
def test_of_a_text_that_is_too_much_the_beginning_is_shown_and_that_there_is_more(text: str) -> None:
    shown = clean_markdown(text)

    assert len(shown) < 110_000
    assert len(make_parser().parse(shown)) < MAX_TOKENS + 10
    assert "more; `Y` copies all of it" in shown


def test_json_is_told_as_an_outline_in_which_nothing_is_markup() -> None:
    outline = as_markdown('{"title": "*not bold*", "rows": [1, 2, 3], "of": {"a": 1, "b": []}}')

    assert outline.split("\n") == [
        "- **title** \\*not bold\\*",
        "- **rows** *3 items*",
        "- **of** a 1",
    ]
    assert as_markdown("no JSON {") == "no JSON {"
    assert outline_value([1] * 20).endswith("*and 8 more*")


def test_items_of_a_list_have_what_they_hold_below_them() -> None:
    joined = '[{"agent": "mapper", "output": {"files": 426, "sizes": {"kB": 9}}}, {"agent": "scout", "output": "few"}]'

    assert as_markdown(joined).split("\n") == [
        "- agent mapper",
        "    - **files** 426",
        "    - **sizes** kB 9",
        "- agent scout, output few",
    ]
    assert outline_value([{"of": {str(one): one for one in range(20)}}]).count("\n") == MAX_NESTED_FIELDS


def test_json_that_nests_deeper_than_python_goes_is_told_all_the_same() -> None:
    deep = "[" * 100_000

    assert as_markdown(deep) == deep
    assert as_markdown('[[["x"]]]') == "- x"


def test_a_long_text_comes_in_sections_of_which_the_first_is_small() -> None:
    part = "## {}\n\n" + "- a point of its own, with words\n" * 20 + "\n```sh\n## a comment\n```\n\n> ## quoted\n\n"
    text = "# Report\n\n" + "".join(part.format(number) for number in range(40))

    parts = sections(text)

    assert "".join(parts) == text
    assert len(parts) > 2
    assert FIRST_SECTION_CHARACTERS <= len(parts[0]) < 2 * FIRST_SECTION_CHARACTERS
    assert all(len(after) >= GROWTH * FIRST_SECTION_CHARACTERS for after in parts[1:-1])
    assert all(after.startswith("## ") and "comment" not in after.split("\n")[0] for after in parts[1:])


@pytest.mark.parametrize(
    "text", ["", "short", "# Only a title\n" + "word " * 2_000, "line\u2028\x85\n" * 400 + "# End"]
)
def test_sections_lose_nothing(text: str) -> None:
    assert "".join(sections(text)) == text
