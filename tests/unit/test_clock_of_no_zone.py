"""A time zone that no clock has, as a mistyped TZ names it."""

import time

import pytest

from dashboard.views.words.amounts import clock, moment


def test_an_offset_of_a_day_or_more_is_taken_for_none() -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", "UTC+25")
        time.tzset()
        shown = clock(0), moment(0, 0)
    time.tzset()

    assert shown == ("00:00:00", "00:00:00")
