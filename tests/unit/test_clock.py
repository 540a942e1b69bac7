"""Clocks: never back, and a virtual one that moves when nothing else can."""

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given
from hypothesis import strategies as st

from engine.host.timers import Timers
from engine.platform.clock import Clock, RealClock, VirtualClock, boot_ns
from tests.patience import PATIENCE_S


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
    with anyio.fail_after(PATIENCE_S):
        await RealClock().sleep_until(0)


class Computer:
    """The clocks of a computer that is suspended and whose time is set; one of them counts suspended time or not."""

    def __init__(self, *, counts_suspended: bool) -> None:
        self.wall_ms = 1_700_000_000_000
        self.steady_ms = 5_000
        self.awake_ms = 5_000
        self._counts_suspended = counts_suspended
        self.clock = RealClock(
            wall_ns=lambda: self.wall_ms * 1_000_000,
            steady_ns=lambda: self.steady_ms * 1_000_000,
            awake_ns=lambda: self.awake_ms * 1_000_000,
            look_s=0.001,
        )

    def run(self, ms: int) -> None:
        self.wall_ms += ms
        self.steady_ms += ms
        self.awake_ms += ms

    def suspend(self, ms: int) -> None:
        self.wall_ms += ms
        self.steady_ms += ms if self._counts_suspended else 0

    def set_time(self, ms: int) -> None:
        """Set the wall clock, forward or back."""
        self.wall_ms += ms


days = st.integers(0, 3 * 86_400_000)
lives = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["run", "suspend"]), days),
        st.tuples(st.just("set_time"), st.integers(-86_400_000, 86_400_000)),
        st.tuples(st.just("begin"), st.integers(1_690_000_000_000, 1_710_000_000_000)),
    )
)


@given(lives, st.booleans())
def test_a_real_clock_never_goes_back_nor_stays_behind_the_time_of_day(
    life: list[tuple[str, int]], counts_suspended: bool
) -> None:
    computer = Computer(counts_suspended=counts_suspended)
    last_ms = computer.clock.now_ms()
    for what, ms in life:
        getattr(computer.clock if what == "begin" else computer, what)(ms)
        now_ms = computer.clock.now_ms()
        assert now_ms >= last_ms
        assert now_ms >= computer.wall_ms - RealClock.AHEAD_MS
        if what in ("run", "suspend"):
            passed_ms = now_ms - last_ms
            assert passed_ms <= ms + RealClock.AHEAD_MS or now_ms == computer.wall_ms
        last_ms = now_ms


def test_setting_the_time_back_moves_nothing() -> None:
    computer = Computer(counts_suspended=True)
    before_ms = computer.clock.now_ms()

    computer.set_time(-3_600_000)
    computer.run(1_000)

    assert computer.clock.now_ms() == before_ms + 1_000


@pytest.mark.parametrize("counts_suspended", [True, False])
@pytest.mark.anyio
async def test_what_came_due_while_the_computer_was_suspended_is_due_at_once(counts_suspended: bool) -> None:
    computer = Computer(counts_suspended=counts_suspended)
    due_ms = computer.clock.now_ms() + 3_600_000
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(computer.clock.sleep_until, due_ms)
            await checkpoint()
            computer.suspend(8 * 3_600_000)

    assert computer.clock.now_ms() == computer.wall_ms


@pytest.mark.parametrize("counts_suspended", [True, False])
def test_a_real_clock_tells_once_for_how_long_the_computer_slept(counts_suspended: bool) -> None:
    computer = Computer(counts_suspended=counts_suspended)
    clock = computer.clock
    computer.run(5_000)
    assert clock.take_slept_ms() == 0

    computer.suspend(3_600_000)
    computer.run(100)

    assert clock.take_slept_ms() == 3_600_000
    computer.run(10_000)
    assert clock.take_slept_ms() == 0
    computer.suspend(60_000)
    clock.begin(0)  # whoever began then was not at work before
    assert clock.take_slept_ms() == 0


def test_this_computer_has_a_clock_that_is_never_set() -> None:
    assert boot_ns() <= boot_ns()


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


@given(st.lists(st.integers(0, 10**6), max_size=100), st.sets(st.integers(0, 99)))
def test_timers_fire_once_in_order_unless_taken_back(delays_ms: list[int], taken_back: set[int]) -> None:
    order = anyio.run(fired, delays_ms, taken_back)

    assert order == sorted((delay_ms, place) for place, delay_ms in enumerate(delays_ms) if place not in taken_back)
