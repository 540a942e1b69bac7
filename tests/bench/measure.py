"""How a number comes about: several rounds, the thing and its floor in turns, wall clock and processor time.

Nothing here asserts. A pair is interleaved, so that whatever else the machine does meets both alike. What was made
before is frozen, so that no collection walks it: in an engine of our own none does either.
"""

import gc
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(slots=True)
class Series:
    """What one thing took, round by round, in seconds."""

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    """Processor time of this process, all threads."""

    def add(self, wall_s: float, cpu_s: float) -> None:
        """Note one round."""
        self.wall_s.append(wall_s)
        self.cpu_s.append(cpu_s)

    @contextmanager
    def timing(self, times: int = 1) -> Iterator[None]:
        """Note what the block takes, divided by how many times it does the thing."""
        cpu_ns, wall_ns = time.process_time_ns(), time.perf_counter_ns()
        yield
        wall_s, cpu_s = (time.perf_counter_ns() - wall_ns) / 1e9, (time.process_time_ns() - cpu_ns) / 1e9
        self.add(wall_s / times, cpu_s / times)

    def per(self, pieces: float) -> "Series":
        """Return the same for one of `pieces` that each round consisted of."""
        return Series([one / pieces for one in self.wall_s], [one / pieces for one in self.cpu_s])


def settle() -> None:
    """Collect what is garbage, and leave the rest out of every collection to come."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def interleaved(
    measured: Callable[[], Any],
    floor: Callable[[], Any] | None,
    rounds: int,
    *,
    before: Callable[[], Any] = lambda: None,
    times: int = 1,
) -> tuple[Series, Series]:
    """Return what `measured` and `floor` take, each `rounds` times and in turns, after one round of each unmeasured.

    Args:
        measured: What is judged.
        floor: The bare operation under it.
        rounds: How many of each.
        before: Called before each of both, not measured.
        times: How often each of both does its thing.
    """
    found = Series(), Series()
    calls = (measured, floor) if floor is not None else (measured,)
    for turn in range(rounds + 1):
        for call, series in zip(calls, found, strict=False):
            before()
            settle()
            with series.timing(times) if turn else Series().timing():
                call()
    return found


async def interleaved_async(
    measured: Callable[[], Awaitable[Any]],
    floor: Callable[[], Awaitable[Any]] | None,
    rounds: int,
    *,
    warm: int = 1,
) -> tuple[Series, Series]:
    """As `interleaved`, in a loop that runs."""
    found = Series(), Series()
    calls = (measured, floor) if floor is not None else (measured,)
    for turn in range(rounds + warm):
        if turn == warm:
            settle()
        for call, series in zip(calls, found, strict=False):
            with series.timing() if turn >= warm else Series().timing():
                await call()
    return found


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value that `share` (0 to 1) of `values` are at or below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Noise:
    """How unsteady the machine is: a fixed loop on the processor, timed again and again during a run."""

    def __init__(self) -> None:
        self.wall_s: list[float] = []

    def sample(self, times: int = 10) -> None:
        """Time the loop some more."""
        for _ in range(times):
            began_ns = time.perf_counter_ns()
            total = 0
            for number in range(60_000):
                total += number
            self.wall_s.append((time.perf_counter_ns() - began_ns) / 1e9)

    @property
    def median_ms(self) -> float:
        """What the loop takes."""
        return median(self.wall_s) * 1e3

    @property
    def spread(self) -> float:
        """From the 5th to the 95th percentile, in parts of the median."""
        return (percentile(self.wall_s, 0.95) - percentile(self.wall_s, 0.05)) / median(self.wall_s)
