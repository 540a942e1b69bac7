"""Clocks: never back, and a virtual one that moves when nothing else can."""

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.clock import Clock, RealClock, VirtualClock
from engine.host.timers import Timers


def test_a_real_clock_never_tells_a_time_before_the_journal() -> None:
    clock = RealClock()
    ahead_ms = clock.now_ms() + 1_000_000

    clock.begin(ahead_ms)

    assert clock.now_ms() >= ahead_ms


@pytest.mark.anyio
async def test_a_real_clock_returns_at_or_after_the_moment() -> None:
    clock = RealClock()
    due_ms = clock.now_ms() + 3

    await clock.sleep_until(due_ms)

    assert clock.now_ms() >= due_ms


@pytest.mark.anyio
async def test_a_real_clock_does_not_wait_for_the_past() -> None:
    with anyio.fail_after(5):
        await RealClock().sleep_until(0)


async def woken(clock: Clock, delays_ms: list[int]) -> list[tuple[int, int]]:
    """Let one sleeper wait for each delay; return who woke when, in their order."""
    began_ms, order = clock.now_ms(), []

    async def sleep(place: int, delay_ms: int) -> None:
        await clock.sleep_until(began_ms + delay_ms)
        order.append((clock.now_ms() - began_ms, place))

    async with anyio.create_task_group() as group:
        group.start_soon(clock.drive)
        async with anyio.create_task_group() as sleepers:
            for place, delay_ms in enumerate(delays_ms):
                sleepers.start_soon(sleep, place, delay_ms)
        group.cancel_scope.cancel()
    return order


@settings(max_examples=25)
@given(st.lists(st.integers(0, 10**9), max_size=20))
def test_sleepers_of_a_virtual_clock_wake_in_order_each_at_its_moment(delays_ms: list[int]) -> None:
    order = anyio.run(woken, VirtualClock(), delays_ms)

    assert order == sorted((delay_ms, place) for place, delay_ms in enumerate(delays_ms))


@pytest.mark.anyio
async def test_time_stands_still_while_it_is_held() -> None:
    clock = VirtualClock()
    began_ms, woke = clock.now_ms(), anyio.Event()

    async def sleep() -> None:
        await clock.sleep_until(began_ms + 1)
        woke.set()

    async with anyio.create_task_group() as group:
        group.start_soon(clock.drive)
        clock.hold()
        group.start_soon(sleep)
        for _ in range(100):
            await anyio.lowlevel.checkpoint()
        assert clock.now_ms() == began_ms

        clock.release()
        await woke.wait()
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_a_sleeper_that_is_cancelled_moves_nothing() -> None:
    clock = VirtualClock()
    began_ms = clock.now_ms()

    async with anyio.create_task_group() as group:
        group.start_soon(clock.drive)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await clock.sleep_until(began_ms + 10)
        await clock.sleep_until(began_ms + 5)
        group.cancel_scope.cancel()

    assert clock.now_ms() == began_ms + 5


async def fired(delays_ms: list[int], taken_back: set[int]) -> list[tuple[int, int]]:
    """Set a timer for each delay, take some back, and return which fired when."""
    clock = VirtualClock()
    timers, began_ms, order = Timers(clock), clock.now_ms(), []
    last = anyio.Event()

    def call(place: int) -> None:
        order.append((clock.now_ms() - began_ms, place))

    async with anyio.create_task_group() as group:
        group.start_soon(clock.drive)
        group.start_soon(timers.run)
        clock.hold()
        handles = [
            timers.at(began_ms + delay_ms, lambda place=place: call(place))  # type: ignore[misc]
            for place, delay_ms in enumerate(delays_ms)
        ]
        for place in taken_back & set(range(len(handles))):
            handles[place]()
            handles[place]()
        timers.at(began_ms + 10**6 + 1, last.set)
        clock.release()
        await last.wait()
        group.cancel_scope.cancel()
    return order


@settings(max_examples=25)
@given(st.lists(st.integers(0, 10**6), max_size=100), st.sets(st.integers(0, 99)))
def test_timers_fire_once_in_order_unless_taken_back(delays_ms: list[int], taken_back: set[int]) -> None:
    order = anyio.run(fired, delays_ms, taken_back)

    assert order == sorted((delay_ms, place) for place, delay_ms in enumerate(delays_ms) if place not in taken_back)
