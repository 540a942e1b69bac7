"""How long the thread that writes the live file pauses: much text costs little, and readers never wait long for it."""

from hypothesis import example, given
from hypothesis import strategies as st

from store.live import FLUSH_S, MAX_PAUSE_S, pause_s


@given(st.floats(0, 1e6))
@example(0.0)
@example(0.05)
@example(5.0)
def test_writing_takes_a_tenth_of_the_time_and_never_pauses_for_longer_than_a_second(written_s: float) -> None:
    pause = pause_s(written_s)

    assert FLUSH_S <= pause <= MAX_PAUSE_S == 1.0
    assert pause == MAX_PAUSE_S or pause >= 9 * written_s
