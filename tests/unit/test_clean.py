"""What reaches the terminal is text, whatever an agent says."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from dashboard import clean as clean_module
from dashboard.clean import MARKS, clean, clean_lines, literal
from dashboard.widgets.tones import fit

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
HIDDEN = (
    "\u17b4\U0001d159\u00ad\u034f\u115f\u1160\u180e\u200b\u200c\u200d"
    "\u2060\u2061\ufeff\u3164\uffa0\u2028\u2029\ufe0f\U000e0041"
)
BY_NEIGHBOUR = "".join(map(chr, (*range(0x1F1E6, 0x1F200), *range(0x1F3FB, 0x1F400))))
hostile = st.text(st.characters() | st.sampled_from("\x00\x07\x08\t\n\r\x1b\x7f\x9b\ud800\udfff" + BIDI + HIDDEN))


@given(hostile)
@example("\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J")
@example("[@click=app.quit]x[/] [/x]")
def test_nothing_that_a_terminal_obeys_hides_or_turns_around_comes_out(text: str) -> None:
    out = clean(text)

    assert out.isprintable()
    assert not set(out) & set(BIDI + HIDDEN)
    assert {unicodedata.category(character) for character in out}.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
    out.encode("utf-8")


@given(hostile)
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters=HIDDEN + "\u2800" + BY_NEIGHBOUR)))
def test_plain_text_of_any_language_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@given(hostile)
def test_lines_are_parted_and_each_is_clean(text: str) -> None:
    lines = clean_lines(text)

    assert len(lines) == text.replace("\r\n", "\n").count("\n") + 1
    assert all(line == clean(line) for line in lines)


@given(hostile, st.integers(0, 40), st.booleans())
def test_a_fitted_text_is_exactly_as_wide_as_its_column(text: str, width: int, right: bool) -> None:
    from rich.cells import cell_len

    assert cell_len(fit(text, width, right=right)) == width


def test_symbols_lose_the_selector_that_models_write_after_them_and_nothing_else_does() -> None:
    assert clean("⚠\ufe0f 2 of 3, ✔\ufe0f done, ❤\ufe0e, 🗑\ufe0f") == "⚠ 2 of 3, ✔ done, ❤, 🗑"
    assert clean("⚠\ufe0f\ufe0f a\ufe0f \ufe0f") == "⚠\\ufe0f a\\ufe0f \\ufe0f"


def test_what_was_taken_out_can_be_seen() -> None:
    assert clean("a\x1b[2Jb\u202ec\td\ne\ud800") == "a\\x1b[2Jb\\u202ec\\td\\ne\\ud800"


def test_marks_do_not_pile_up_on_one_character() -> None:
    out = clean("Z" + "\u0301" * 50)

    assert sum(bool(unicodedata.combining(character)) for character in out) == MARKS


def test_signs_of_the_screens_are_what_a_look_at_each_would_leave_too() -> None:
    drawn = [chr(code) for code in range(0x20, 0x3000) if clean_module._DRAWN(chr(code))]

    assert {"━", "╸", "⣿", "●", "…"} <= set(drawn)
    assert all([*literal(one)] == [(one, True)] for one in drawn)
