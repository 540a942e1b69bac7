"""Regular expressions: Python's, but no text makes them slow and none needs much memory."""

import re
from contextlib import suppress
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.platform.patterns import FAST_TIMEOUT_S, BadPattern, Pattern, TooSlow
from tests.depth import examples

ATOMS = st.sampled_from(
    ["a", "b", "B", "c", "_", ".", r"\w", r"\W", r"\d", r"\s", "[ab]", "[^ab]", "[a-c_]", r"[\d-]", "^", "$", r"\b",
     r"\.", "{s}", "{e<=1}", r"\{", "[{]", "{", "}"]
)  # fmt: skip


def wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"])
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda both: f"({both[0]}|{both[1]})"),
        st.tuples(inner, repeats).map(lambda both: f"(?:{both[0]}){both[1]}"),
    )


EXPRESSIONS = st.recursive(ATOMS, wider, max_leaves=6)
TEXTS = st.text(alphabet="abcABC_-. 1\n{}<=se", max_size=12)


@settings(max_examples=examples(75))
@given(EXPRESSIONS, TEXTS)
def test_they_find_what_pythons_find(written: str, text: str) -> None:
    expected = re.compile(written, re.IGNORECASE).search(text) is not None

    assert Pattern(written, ignore_case=True).is_in(text) == expected


@given(st.text(alphabet=r"ab()[]{}|*+?^$\-,1.:d", max_size=20))
def test_any_text_is_an_expression_or_one_line_that_says_why_not(written: str) -> None:
    said = ""
    try:
        Pattern(written).is_in("ab(a)")
    except BadPattern as refused:
        said = str(refused)

    assert "\n" not in said


@pytest.mark.parametrize(
    "written",
    ["(a+)+$", "(a|a)*$", "(.*)*x", "a?" * 60 + "a" * 60, "(.*a){20}", "(a|b)*a(a|b){90}", "(?:a.*b.*)+[xy]z"],
)
def test_what_would_hold_python_for_years_takes_a_moment(written: str) -> None:
    texts = ["a" * 3_000 + "!", "ab" * 1_500 + "!", "".join("ab"[number * number % 7 % 2] for number in range(3_000))]
    pattern, began = Pattern(written), process_time()
    for text in texts:
        with suppress(TooSlow):
            pattern.is_in(text)

    assert process_time() - began < 10 * len(texts) * FAST_TIMEOUT_S


def test_what_takes_too_long_says_so_in_one_line() -> None:
    with pytest.raises(TooSlow, match="takes longer than"):
        Pattern(r"(?:a.*b.*)+[xy]z").is_in("ab" * 1_500)


def test_case_makes_no_difference_where_it_is_ignored() -> None:
    assert Pattern("parse-[A-F]", ignore_case=True).is_in("PARSE-c")
    assert not Pattern("parse-[A-F]").is_in("PARSE-c")


@pytest.mark.parametrize("written", [r"([0-9a-f]{4,12}-?){5}", r"(?:\d{1,3}\.){3}\d{1,3}", "x{1000}", "[{5}]"])
def test_repeats_that_people_write_are_taken(written: str) -> None:
    assert Pattern(written).is_in(f"12345678-1234-1234-1234-123456789abc at 10.0.0.7 of 5 {'x' * 1000}")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("(a", "missing )"), ("[a", "unterminated"), ("*a", "nothing to repeat"), ("\\", "bad escape"),
        ("[z-a]", "bad character range"), ("a{3,1}", "min repeat"), ("a{2000}", "repeats a part"),
        ("(a{90}){90}", "repeats a part"), ("((((a){99}){99}){99}){99}", "repeats a part"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_line(written: str, says: str) -> None:
    with pytest.raises(BadPattern) as refused:
        Pattern(written)

    assert says in refused.value.reason
