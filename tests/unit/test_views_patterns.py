"""Regular expressions of filters: they find what Python's find, and no text makes them slow."""

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.views.patterns import MOST_CHARACTERS, MOST_STATES, BadPattern, Pattern
from tests.depth import examples

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "B",
        "c",
        "_",
        ".",
        r"\w",
        r"\W",
        r"\d",
        r"\s",
        "[ab]",
        "[^ab]",
        "[a-c_]",
        r"[\d-]",
        "^",
        "$",
        r"\b",
        r"\.",
    ]
)


def wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"])
    return st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda both: f"({both[0]}|{both[1]})"),
        st.tuples(inner, repeats).map(lambda both: f"(?:{both[0]}){both[1]}"),
    )


EXPRESSIONS = st.recursive(ATOMS, wider, max_leaves=6)
TEXTS = st.text(alphabet="abcABC_-. 1\n", max_size=12)


@settings(max_examples=examples(75))
@given(EXPRESSIONS, TEXTS)
def test_they_find_what_pythons_find(written: str, text: str) -> None:
    # Python's `$` also stands before a last line feed.
    expected = re.compile(written.replace("$", r"\Z"), re.IGNORECASE).search(text) is not None

    assert Pattern(written).is_in(text) == expected


@given(st.text(alphabet=r"ab()[]{}|*+?^$\-,1.:d", max_size=20))
def test_any_text_is_an_expression_or_one_line_that_says_why_not(written: str) -> None:
    said = ""
    try:
        Pattern(written).is_in("ab(a)")
    except BadPattern as refused:
        said = str(refused)

    assert "\n" not in said


@pytest.mark.parametrize(
    "written", ["(a+)+$", "(a|a)*$", "(.*)*x", "a?" * 60 + "a" * 60, "(.*a){20}", "((a*)*)*b", "(a|b)*a(a|b){90}"]
)
def test_what_would_hold_python_for_years_takes_a_moment(written: str) -> None:
    texts = ["a" * 3_000 + "!", "ab" * 1_500 + "!", "".join("ab"[number * number % 7 % 2] for number in range(3_000))]
    pattern = Pattern(written)
    for text in texts:
        with suppress(BadPattern):
            pattern.is_in(text)

    assert len(pattern._states) <= MOST_STATES


def test_case_makes_no_difference() -> None:
    assert Pattern("parse-[A-F]").is_in("PARSE-c")
    assert not Pattern("[^a]").is_in("A")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("(a", "ends before"), ("a)", "without its ("), ("[a", "ends before"), ("*a", "nothing stands before *"),
        ("(?=a)", "is not known here"), (r"(a)\1", r"\1 is not known here"), ("a{2000}", "repeats"),
        ("(a{90}){90}", "repeat less"), ("[z-a]", "is no range"), ("a{3,1}", "is no range"), ("\\", "ends before"),
        ("x" * (MOST_CHARACTERS + 1), "longer than"), ("((((){99}){99}){99}){99}", "repeat less"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_line(written: str, says: str) -> None:
    with pytest.raises(BadPattern) as refused:
        Pattern(written)

    assert says in str(refused.value)


LITTLE = st.lists(
    st.sampled_from(["a", "b", "c", "[ab]", ".", r"\d", "a+", "b*", "(?:a|b)", "b{2}", "$", "^"]), max_size=6
)


@settings(max_examples=examples(50))
@given(LITTLE.map("".join), TEXTS)
def test_no_text_is_passed_over_that_has_a_match(written: str, text: str) -> None:
    if re.compile(written.replace("$", r"\Z"), re.IGNORECASE).search(text):
        assert Pattern(written).may_be_in(text)


@pytest.mark.parametrize(
    ("written", "has", "lacks"),
    [
        ("pars(e|ing) it", "pars", "par se"), (r"t\d\d", "xt12", "t1x"), ("loader.py|scanner", "SCANNER", "loader"),
        ("a[bc]+d{2}efg", "efg", "abcdd"), ("(never)?mind", "mind", "never"), ("x{a}yz", "yz", "xa"),
    ],
)  # fmt: skip
def test_what_every_match_has_in_it_is_looked_for_first(written: str, has: str, lacks: str) -> None:
    assert Pattern(written).may_be_in(has)
    assert not Pattern(written).may_be_in(lacks)
