"""Places as text: what `--open` and a browser that comes back say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.words.place import MAX_CHARACTERS, NoPlace, Place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("network", Place("network")),
        ("agent/a3", Place("agent", "a3")),
        ("tasks?kind:failed >5s", Place("tasks", needle="kind:failed >5s")),
        ("tasks/t7?a?b/c@", Place("tasks", "t7", "a?b/c@")),
        ("events@812", Place("events", seq=812)),
        ("agents/survey/scout?x@7", Place("agents", "survey/scout", "x", 7)),
    ],
)
def test_a_place_is_read_as_it_is_written(text: str, place: Place) -> None:
    assert Place.parse(text) == place
    assert str(place) == text


@pytest.mark.parametrize(
    "text", ["", "/", "Network", "1", "a b", "tasks@x@", "tasks\n", "tasks/\x1b[2J", "a" * (MAX_CHARACTERS + 1)]
)
def test_what_is_no_place_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(NoPlace) as refused:
        Place.parse(text)

    assert "\n" not in str(refused.value)
    assert "\x1b" not in str(refused.value)


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), max_size=20)


@given(WORDS.map(lambda text: text.replace("?", "").replace("@", "")), WORDS, st.none() | st.integers(0, 10**17))
def test_whatever_place_is_written_is_read_back(an_id: str, needle: str, seq: int | None) -> None:
    place = Place("tasks", an_id, needle, seq)

    assert Place.parse(str(place)) == place
