"""Delegates the items of a lead to workers in waves, and collects the results.

A lead may have a time limit (option `within_s`): it then takes the files in an order of which any prefix is a sample,
and its section says how many it did not reach.
"""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice, zip_longest
from time import monotonic
from typing import Any

import anyio

from engine.errors import first_of
from engine.runtimes.functions.context import Context

WAVE = 24
"""Items of a wave: few enough for a quick cancellation."""
TIMED_WAVE = 6
"""Items of a wave under a time limit, at whose end the open waves are still waited for."""
LANES = 2
"""Waves at once: enough to keep all workers busy while one wave waits for its last item."""


@dataclass(slots=True)
class Gathered:
    """The results of all items of one kind."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    """`{"file", "error"}` each, from failed items and from failed files of items that came back."""
    cut_short: bool = False
    """Cancelled, or out of time, before every item was handed out."""

    def add(self, other: "Gathered") -> None:
        """Add the results of other items."""
        self.entries += other.entries
        self.failures += other.failures
        self.cut_short |= other.cut_short


@dataclass(slots=True)
class Clock:
    """The time limit of a lead; without the option `within_s` there is none.

    Each reading is a recorded step, so that a restart makes the same decisions. The clock goes on from the last one,
    not from when the lead began: a fork or an engine that is started later has the time that was left.
    """

    ctx: Context
    now_s: Callable[[], float] = monotonic
    _used_s: float = 0.0
    _read_s: float = 0.0
    """When `_used_s` was read."""

    def __post_init__(self) -> None:
        self._read_s = self.now_s()

    @property
    def has_end(self) -> bool:
        return "within_s" in self.ctx.task.options

    async def is_over(self, wave: str) -> bool:
        """Whether the time is over before a wave."""
        if not self.has_end:
            return False

        def used_s(_wave: str) -> float:
            return round(self._used_s + self.now_s() - self._read_s, 1)

        used = float(await self.ctx.step("seconds used", used_s, wave))
        if used > self._used_s:  # lanes read it in turns; what an earlier attempt recorded comes in any order
            self._used_s, self._read_s = used, self.now_s()
        within_s: Any = self.ctx.task.options["within_s"]
        return used >= float(within_s)


async def gather(
    ctx: Context, capability: str, items: Iterable[dict[str, Any]], *, failed_as: Callable[[dict[str, Any]], str],
    clock: Clock, total: int | None = None,
) -> Gathered:  # fmt: skip
    """Delegate items to the agents of a capability, in waves, and collect the results in the order of the items.

    A result with "entries" adds each of them, another counts as one entry. `failed_as` names the file to blame when an
    item fails as a whole. No wave begins when the time of `clock` is over; `total` is how many items there are, where
    that is known.
    """
    waves = enumerate(_waves(items, TIMED_WAVE if clock.has_end else WAVE))
    came: dict[int, tuple[list[dict[str, Any]], list[Any]]] = {}
    cut_short = False

    async def lane() -> None:
        nonlocal cut_short
        for number, wave in waves:
            if ctx.cancelled or await clock.is_over(f"{capability} {number}"):
                cut_short = True
                return
            came[number] = (wave, await ctx.map(capability, wave, return_failures=True))
            ctx.progress(sum(len(wave) for wave, _ in came.values()), total or 0)

    await together(*[lane] * LANES)
    gathered = Gathered(cut_short=cut_short)
    for _, (wave, results) in sorted(came.items()):
        for item, result in zip(wave, results, strict=True):
            _sort_in(gathered, result, failed_as(item))
    return gathered


def _waves(items: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    left = iter(items)
    while wave := list(islice(left, size)):
        yield wave


async def together(*parts: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run coroutines concurrently; of several errors the first one is raised alone."""
    try:
        async with anyio.create_task_group() as group:
            for part in parts:
                group.start_soon(part)
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None


def in_order(ctx: Context, names: Sequence[str]) -> list[str]:
    """Return names unchanged; under a time limit, in an order of which any prefix is a sample.

    Folders take turns, so that a small one is not missed beside a large one.
    """
    if "within_s" not in ctx.task.options:
        return list(names)
    folders: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: sha256(name.encode()).digest()):
        folders.setdefault(name.rpartition("/")[0].partition("/")[0], []).append(name)
    turns = zip_longest(*(files for _, files in sorted(folders.items())))
    return [name for turn in turns for name in turn if name is not None]


def _sort_in(gathered: Gathered, result: Any, file: str) -> None:
    """A failed item comes back in its place as an error with `reason`; a result is a mapping."""
    if not isinstance(result, Mapping):
        # What a worker raises begins with the file; without it, the same reason from several leads is one line.
        reason = str(getattr(result, "reason", result)).removeprefix(f"{file}: ")
        gathered.failures.append({"file": file, "error": reason})
    elif "entries" in result:
        gathered.entries += result["entries"]
        gathered.failures += result["failures"]
    else:
        gathered.entries.append(dict(result))
