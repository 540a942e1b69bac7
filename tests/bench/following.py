"""How soon an event of the engine is in the state of another process, by its own clock: both read the same one."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import anyio

from engine.core.commands import Order, Ping
from store import open_store
from store.layout.opening import Store
from tests.bench.histories import rows_of
from tests.bench.measure import Series
from tests.bench.report import Row
from tests.world import World, agent, team_world

BUSY_S, IDLE_S = 0.005, 0.4


def rows(quick: bool) -> Iterator[Row]:
    """Measure a stream of events, and single ones after a silence."""
    for what, gap_s, events, budget_ms in (
        ("busy, 200 a second", BUSY_S, 200 if quick else 1_000, 25.0),
        ("from idle", IDLE_S, 10 if quick else 60, 60.0),
    ):
        took = _followed("feed", gap_s, events)
        floor = _followed("bare", gap_s, max(10, events // 2))
        yield Row(
            what=f"an event folded in another process; {what}",
            took=took,
            floor=floor,
            floor_is="ask a bare connection for the newest seq each millisecond",
            budget=budget_ms,
            at_p95=True,
        )


def _followed(how: str, gap_s: float, events: int) -> Series:
    """Append events one by one; return how long after each append another process had it."""
    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(_measured, Path(folder) / "team.db", how, gap_s, events)


async def _measured(path: Path, how: str, gap_s: float, events: int) -> Series:
    world = team_world(agent("a", "parse"))
    async with open_store(path) as store:
        await store.journal.append(1, rows_of(world.journal))
        command = [sys.executable, "-P", "-m", "tests.bench.follower", how, str(path)]
        async with await anyio.open_process(command, stdout=subprocess.PIPE, stderr=None) as follower:
            assert follower.stdout is not None
            said = await follower.stdout.receive()
            appended = await _append_slowly(store, world, gap_s, events)
            await anyio.sleep(0.3)
            follower.terminate()
            said += b"".join([chunk async for chunk in follower.stdout])
    seen: dict[int, float] = {}
    for line in said.split(b"\n")[:-1]:
        seq, at_s = json.loads(line)
        seen[seq] = at_s
    took = Series()
    for seq, at_s in appended.items():
        later = [at for other, at in seen.items() if other >= seq]
        took.add(max(0.0, min(later) - at_s), 0.0)
    return took


async def _append_slowly(store: Store, world: World, gap_s: float, events: int) -> dict[int, float]:
    appended: dict[int, float] = {}
    for number in range(events):
        happened = world.say(Order(id=f"ping{number}", command=Ping(), sender="bench"))
        await store.journal.append(store.journal.last_seq + 1, rows_of(happened))
        appended[store.journal.last_seq] = time.monotonic()
        await anyio.sleep(gap_s * (0.7 + 0.6 * (number % 7) / 7))
    return appended
