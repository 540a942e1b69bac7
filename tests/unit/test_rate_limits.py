"""The turns of requests: no minute holds more of them, or of their tokens, than a provider allows."""

from hypothesis import given
from hypothesis import strategies as st

from engine.models.rate_limits import WINDOW_MS, RateLimits


@given(
    rpm=st.integers(1, 5),
    tpm=st.integers(10, 100),
    requests=st.lists(st.tuples(st.integers(0, 30_000), st.integers(0, 120)), max_size=30),
)
def test_no_minute_holds_more_requests_or_tokens_than_are_allowed(
    rpm: int, tpm: int, requests: list[tuple[int, int]]
) -> None:
    pace, now_ms, turns = RateLimits(), 0, []

    for after_ms, tokens in requests:
        now_ms += after_ms
        turns.append(pace.turn("key", tokens, now_ms, rpm=rpm, tpm=tpm))
        assert turns[-1].at_ms >= now_ms

    for last, turn in enumerate(turns):
        window = [one for one in turns[: last + 1] if one.at_ms > turn.at_ms - WINDOW_MS]
        assert len(window) <= rpm
        assert len(window) == 1 or sum(one.tokens for one in window) <= tpm
    assert [one.at_ms for one in turns] == sorted(one.at_ms for one in turns)


def test_a_request_within_the_limits_is_sent_at_once_and_one_above_them_waits_for_the_oldest() -> None:
    pace = RateLimits()

    found = [pace.turn("key", 1, now_ms, rpm=2, tpm=None).at_ms for now_ms in (0, 10_000, 20_000, 20_000)]

    assert found == [0, 10_000, 60_000, 70_000]
    assert pace.turn("other", 1, 20_000, rpm=2, tpm=None).at_ms == 20_000


def test_a_turn_that_was_not_taken_is_given_to_somebody_else() -> None:
    pace = RateLimits()
    pace.turn("key", 1, 0, rpm=1, tpm=None)
    late = pace.turn("key", 1, 0, rpm=1, tpm=None)

    pace.give_back("key", late)

    assert pace.turn("key", 1, 5, rpm=1, tpm=None).at_ms == WINDOW_MS


def test_a_pause_lasts_until_the_latest_moment_that_was_asked_for() -> None:
    pace = RateLimits()
    pace.pause("key", 500)
    pace.pause("key", 300)

    assert (pace.paused_until_ms("key"), pace.paused_until_ms("other")) == (500, 0)
