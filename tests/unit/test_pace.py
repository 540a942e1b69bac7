"""A redraw gives way to keys, and not for ever."""

import pytest

from dashboard.deck.pace import ANSWER_S, KEY_S, PAINT_S, REDRAW_S, STARVED_S, Pace


def test_a_redraw_waits_until_the_key_before_it_is_answered() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    pace.note_redraw()
    pace.note_key()

    now_s[0] += KEY_S / 2
    assert pace.key_is_first
    now_s[0] += KEY_S
    assert not pace.key_is_first


def test_a_key_that_is_held_down_does_not_keep_news_from_the_screen() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    pace.note_redraw()
    while pace.key_is_first or now_s[0] == 100.0:
        now_s[0] += KEY_S / 3
        pace.note_key()

    assert now_s[0] - 100.0 <= STARVED_S + KEY_S


def test_two_redraws_are_apart() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    pace.note_redraw()

    assert not pace.should_redraw
    now_s[0] += REDRAW_S
    assert pace.should_redraw


def test_a_frame_is_painted_at_once_only_for_a_key_and_never_twice_in_a_moment() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    assert not pace.should_paint()

    pace.note_key()
    assert pace.should_paint()
    assert not pace.should_paint()
    now_s[0] += PAINT_S
    assert pace.should_paint()
    now_s[0] += KEY_S
    assert not pace.should_paint()


def test_a_key_that_comes_right_after_a_frame_has_its_own_at_once() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    pace.note_key()
    assert pace.should_paint()  # such as of a redraw that was done when the key had just come

    now_s[0] += PAINT_S / 4
    pace.note_key()  # its turn has come
    now_s[0] += PAINT_S / 4
    assert pace.should_paint()
    assert not pace.should_paint()


def test_a_key_is_being_answered_until_it_has_a_frame() -> None:
    pace = Pace(lambda: 100.0)
    pace.note_key()
    before = pace.is_answering

    assert pace.should_paint()
    assert (before, pace.is_answering) == (True, False)


def test_a_key_without_a_frame_is_not_waited_for_long() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    pace.note_key()
    before = pace.is_answering

    now_s[0] += 2 * ANSWER_S
    assert (before, pace.is_answering) == (True, False)


@pytest.mark.anyio
async def test_who_gives_way_goes_on_though_keys_never_end() -> None:
    pace = Pace(lambda: 100.0)
    pace.note_key()

    await pace.give_way()

    assert pace.is_answering
