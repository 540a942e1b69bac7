"""Limits on requests to models: only time in which the process ran counts."""

import anyio
import pytest

from engine.models.awake import MAX_TICK_S, AwakeTimer
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def cut_off(gaps_s: list[float], limit_s: float) -> bool:
    """Whether a limit is reached when the ticks come with these gaps."""
    clock = Clock()
    awake = AwakeTimer(clock)
    with awake.limit(limit_s) as scope:
        for gap_s in gaps_s:
            clock.now_s += gap_s
            awake.tick()
        return scope.cancel_called


async def test_time_in_which_the_loop_stood_still_does_not_count() -> None:
    assert not await cut_off([3600.0], 3)
    assert not await cut_off([3600.0, MAX_TICK_S], 3)
    assert await cut_off([0.1] * 31, 3)
    assert not await cut_off([0.1] * 29, 3)


async def test_time_before_a_limit_began_does_not_count() -> None:
    clock = Clock()
    awake = AwakeTimer(clock)
    with awake.limit(0.25) as first:
        clock.now_s += 0.125
        awake.tick()
        with awake.limit(0.25) as second:
            clock.now_s += 0.125
            awake.tick()

            assert (first.cancel_called, second.cancel_called) == (True, False)


async def test_what_takes_too_long_is_cut_off_and_what_comes_later_too() -> None:
    awake = AwakeTimer()
    async with anyio.create_task_group() as group:
        group.start_soon(awake.run)
        for _ in range(2):
            with anyio.fail_after(PATIENCE_S):
                with awake.limit(0.1) as scope:
                    await anyio.sleep_forever()
            assert scope.cancelled_caught
        group.cancel_scope.cancel()
