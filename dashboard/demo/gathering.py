"""Delegates the items of a lead to workers in waves, and collects the results.

A lead may have a time limit (option `within_s`): it then takes the files in an order of which any prefix is a sample,
and its section says that it was cut short.
"""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice, zip_longest
from time import monotonic
from typing import Any

import anyio

from engine.errors import first_of
from engine.runtimes.functions.context import Context

WAVE, TIMED_WAVE = 24, 6
"""Items of a wave: few enough for a quick cancellation; under a time limit the open waves are still waited for."""
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


@dataclass(slots=True)
class LeadTimeLimit:
    """The time limit of a lead; without the option `within_s` there is none.

    Each reading is a recorded step, so that a restart makes the same decisions. The clock goes on from the last one,
    not from when the lead began: a fork or an engine that is started later has the time that was left.
    """

    ctx: Context
    now_s: Callable[[], float] = monotonic
    _used_s: float = field(default=0.0, init=False)
    _read_s: float = field(default=0.0, init=False)
    """When `_used_s` was read."""

    def __post_init__(self) -> None:
        self._read_s = self.now_s()

    @property
    def is_set(self) -> bool:
        return "within_s" in self.ctx.task.options

    async def check(self, wave: str) -> bool:
        """Record the time used before a wave, and return whether it is over."""
        if not self.is_set:
            return False
        used = float(
            await self.ctx.step("seconds used", lambda _: round(self._used_s + self.now_s() - self._read_s, 1), wave)
        )
        if used > self._used_s:  # lanes read it in turns; what an earlier attempt recorded comes in any order
            self._used_s, self._read_s = used, self.now_s()
        within_s: Any = self.ctx.task.options["within_s"]
        return used >= float(within_s)


async def gather(
    limit: LeadTimeLimit, capability: str, items: Iterable[dict[str, Any]], *, total: int = 0, into: Gathered
) -> None:
    """Delegate items to the agents of a capability, in waves, and add the results in the order of the items.

    A result adds its `entries`; one without is itself an entry. A failed item is named by its title.

    Args:
        limit: No wave begins when its time is over.
        total: The number of items, for the progress; 0 if it is not known.
        into: Gets the results.
    """
    ctx, remaining = limit.ctx, iter(items)
    size = TIMED_WAVE if limit.is_set else WAVE
    # The lanes share this iterator, so each wave is taken once.
    waves = enumerate(iter(lambda: list(islice(remaining, size)), []))
    results: dict[int, list[tuple[dict[str, Any], Any]]] = {}

    async def lane() -> None:
        for number, wave in waves:
            if ctx.cancelled or await limit.check(f"{capability} {number}"):
                into.cut_short = True
                return
            outputs = await ctx.map(capability, wave, return_failures=True)
            results[number] = list(zip(wave, outputs, strict=True))
            ctx.progress(sum(map(len, results.values())), total)

    await together(*[lane] * LANES)
    for item, result in (pair for number in sorted(results) for pair in results[number]):
        if isinstance(result, Exception):
            # What a worker raises begins with the file; without it, the same reason from several leads is one line.
            reason = str(getattr(result, "reason", result)).removeprefix(f"{item['title']}: ")
            into.failures.append({"file": item["title"], "error": reason})
        else:
            into.entries += result.get("entries", [result])
            into.failures += result.get("failures", [])


async def together(*parts: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run coroutines concurrently; of several errors the first one is raised alone."""
    try:
        async with anyio.create_task_group() as group:
            for part in parts:
                group.start_soon(part)
    except BaseExceptionGroup as errors:
        raise first_of(errors) from None


def in_sample_order(names: Sequence[str]) -> list[str]:
    """Return names in an order of which any prefix is a sample: folders take turns, however small they are."""
    folders: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: sha256(name.encode()).digest()):
        folders.setdefault(name.rpartition("/")[0].partition("/")[0], []).append(name)
    turns = zip_longest(*(files for _, files in sorted(folders.items())))
    return [name for turn in turns for name in turn if name is not None]
