"""Letters of jump mode."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.drawing.jumping import LETTERS, labels


@given(st.integers(0, 700))
def test_no_label_is_the_beginning_of_another_and_none_is_longer_than_it_has_to_be(number: int) -> None:
    found = labels(number)

    assert len(found) == number == len(set(found))
    assert not any(one.startswith(before) for before, one in pairwise(sorted(found)))
    assert all(len(one) == 1 for one in found) == (number <= len(LETTERS))
    assert all(len(one) <= 2 for one in found)
