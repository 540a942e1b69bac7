"""What a person types into a field, and what it means."""

from datetime import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.words.amounts import countdown
from dashboard.views.words.parsers import (
    Mistyped,
    parse_deadline_s,
    parse_duration_s,
    parse_limits,
    parse_settings,
    settings_line,
    split_words,
)
from engine.core.specs.limits import Limits

WORDS = st.text(st.characters(codec="ascii", min_codepoint=97, max_codepoint=122), min_size=1, max_size=8)
VALUES = st.one_of(st.integers(-999, 999), st.booleans(), st.lists(WORDS, max_size=3), st.text(max_size=20))


@given(st.dictionaries(WORDS, VALUES, max_size=4))
def test_settings_that_are_written_as_a_line_are_read_as_they_were(settings: dict[str, object]) -> None:
    said = {key: value for key, value in settings.items() if not _looks_like_json(value)}

    assert parse_settings(split_words(settings_line(said))) == said  # type: ignore[arg-type]


def _looks_like_json(value: object) -> bool:
    """A text that is a number when it is typed is a number: nobody can tell."""
    return isinstance(value, str) and parse_settings([f"x={value}"])["x"] != value


def test_a_value_that_is_nested_too_deeply_is_a_text() -> None:
    deep = "[" * 100_000

    assert parse_settings([f"key={deep}"]) == {"key": deep}


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7_200), ("1d", 86_400), ("none", None)]
)
def test_lengths_of_time_have_units(text: str, seconds: float | None) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 weeks", "-3", "1e9"])
def test_what_is_no_length_of_time_is_said_with_what_would_be(text: str) -> None:
    with pytest.raises(Mistyped, match="write 90s, 5m, 2h, or none"):
        parse_duration_s(text)


@pytest.mark.parametrize(("text", "seconds"), [("10m", 600), ("12:01", 60), ("12:00:30", 30), ("none", None)])
def test_a_deadline_is_a_length_or_a_time_of_day(text: str, seconds: float | None) -> None:
    assert parse_deadline_s(text, _noon_ms()) == seconds


def test_a_time_of_day_that_has_passed_is_tomorrows() -> None:
    assert parse_deadline_s("9:30", _noon_ms()) == 21.5 * 3_600


def test_a_day_that_has_passed_is_no_deadline() -> None:
    with pytest.raises(Mistyped, match="has passed already"):
        parse_deadline_s("2001-01-31T12:04", _noon_ms())


@pytest.mark.parametrize("text", ["soon", "25:00", "12:7", "2026-13-01", "-3"])
def test_what_is_no_deadline_is_said_with_what_would_be(text: str) -> None:
    with pytest.raises(Mistyped, match="is not a deadline; write 90s, 5m, 2h, 14:30"):
        parse_deadline_s(text, _noon_ms())


def _noon_ms() -> int:
    return int(datetime(2026, 7, 1, 12, 0).astimezone().timestamp() * 1000)


def test_limits_are_pairs() -> None:
    assert parse_limits("tokens=900 cost_usd=0.50 then=ask") == Limits(tokens=900, cost_usd=Decimal("0.5"), then="ask")
    assert parse_limits("  ") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tokens", "write key=value"),
        ("token=3", "no limit 'token'"),
        ("tokens=0", "tokens must be a whole number, 1 to"),
        ("tokens=many", "a whole number"),
        ("cost_usd=much", "."),
        ("then=never", "stop, ask or fail"),
        ("time_s=long", "."),
        ("tokens='3", "quotes"),
    ],
)
def test_what_is_no_limit_is_said(text: str, said: str) -> None:
    with pytest.raises(Mistyped, match=said):
        parse_limits(text)


@pytest.mark.parametrize(
    ("ms", "said"), [(0, "0 s"), (119_000, "119 s"), (600_000, "10 min"), (7_300_000, "2 h"), (90 * 3_600_000, "3 d")]
)
def test_a_narrow_countdown_has_one_unit(ms: float, said: str) -> None:
    assert countdown(ms) == said
