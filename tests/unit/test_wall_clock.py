"""A clock that nobody could mean ends an engine with one line."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.platform.clock import RealClock
from store import ClockUnusable
from store.wall_clock import wall_ms


def beyond() -> int:
    """Tell a time after 2261, as Python does."""
    raise OverflowError("timestamp too large to convert to C _PyTime_t")


@given(st.integers(0, 2**63 - 1))
def test_a_time_from_1970_to_2261_is_told_in_milliseconds(wall_ns: int) -> None:
    assert wall_ms(lambda: wall_ns) == wall_ns // 1_000_000


@pytest.mark.parametrize("wall_ns", [beyond, lambda: -1, lambda: -(2**62), lambda: 2**64])
def test_any_other_time_is_refused_in_one_line(wall_ns: Callable[[], int]) -> None:
    with pytest.raises(ClockUnusable, match="is before 1970 or after 2261: set it, then start again"):
        wall_ms(wall_ns)
    with pytest.raises(ClockUnusable):
        RealClock(wall_ns=wall_ns)


def test_a_clock_that_is_set_to_such_a_time_later_is_refused_when_it_is_read() -> None:
    times = iter([1_750_000_000_000_000_000])
    clock = RealClock(wall_ns=lambda: next(times, -1), steady_ns=lambda: 0, awake_ns=lambda: 0)

    for read in (clock.now_ms, clock.take_slept_ms, lambda: clock.begin(0)):
        with pytest.raises(ClockUnusable):
            read()
