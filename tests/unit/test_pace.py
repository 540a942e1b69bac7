"""A redraw gives way to keys, and not for ever."""

from dashboard.pace import KEY_S, LOOK_S, PAINT_S, STARVED_S, Pace


def test_a_redraw_waits_until_the_key_before_it_is_answered() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    pace.looked()
    pace.pressed()

    now_s[0] += KEY_S / 2
    assert pace.key_is_first
    now_s[0] += KEY_S
    assert not pace.key_is_first


def test_a_key_that_is_held_down_does_not_keep_news_from_the_screen() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    pace.looked()
    while pace.key_is_first or now_s[0] == 100.0:
        now_s[0] += KEY_S / 3
        pace.pressed()

    assert now_s[0] - 100.0 <= STARVED_S + KEY_S


def test_two_redraws_are_apart() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    pace.looked()

    assert not pace.may_look
    now_s[0] += LOOK_S
    assert pace.may_look


def test_a_frame_is_painted_at_once_only_for_a_key_and_never_twice_in_a_moment() -> None:
    now_s = [100.0]
    pace = Pace(lambda: now_s[0])
    assert not pace.may_paint()

    pace.pressed()
    assert pace.may_paint()
    assert not pace.may_paint()
    now_s[0] += PAINT_S
    assert pace.may_paint()
    now_s[0] += KEY_S
    assert not pace.may_paint()
