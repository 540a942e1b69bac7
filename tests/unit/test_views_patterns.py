"""Regular expressions of filters: Python's, but no text makes them slow and none needs much memory."""

from contextlib import suppress
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.patterns import LONGEST_S, MOST_CHARACTERS, BadPattern, Pattern


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
        with suppress(BadPattern):
            pattern.is_in(text)

    assert process_time() - began < 10 * len(texts) * LONGEST_S


def test_what_takes_too_long_says_so_in_one_line() -> None:
    with pytest.raises(BadPattern, match="takes too long"):
        Pattern(r"(?:a.*b.*)+[xy]z").is_in("ab" * 1_500)


def test_case_makes_no_difference() -> None:
    assert Pattern("parse-[A-F]").is_in("PARSE-c")
    assert not Pattern("[^a]").is_in("A")


@pytest.mark.parametrize("written", [r"([0-9a-f]{4,12}-?){5}", r"(?:\d{1,3}\.){3}\d{1,3}", "x{1000}", "[{5}]"])
def test_repeats_that_people_write_are_taken(written: str) -> None:
    assert Pattern(written).is_in(f"12345678-1234-1234-1234-123456789abc at 10.0.0.7 of 5 {'x' * 1000}")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("(a", "missing )"), ("[a", "unterminated"), ("*a", "nothing to repeat"), ("\\", "bad escape"),
        ("[z-a]", "bad character range"), ("a{3,1}", "min repeat"), ("a{2000}", "repeat less"),
        ("(a{90}){90}", "repeat less"), ("((((a){99}){99}){99}){99}", "repeat less"),
        ("x" * (MOST_CHARACTERS + 1), "longer than"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_line(written: str, says: str) -> None:
    with pytest.raises(BadPattern) as refused:
        Pattern(written)

    assert says in str(refused.value)
