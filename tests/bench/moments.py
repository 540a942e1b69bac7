"""Past moments of a long file as states: anywhere, one event on, one event back, and the time bar over all of it.

How far a moment is from the snapshot before it does not depend on the length of the file, so a third of a million
events, which are quick to make, say what a million would.
"""

import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio

from dashboard.reading.past import Past
from dashboard.reading.summaries import Summaries
from dashboard.views.measures.time_bar_columns import time_bar
from engine.core.commands import Submit
from engine.core.encoding.codec import encode_state
from engine.host.host import SNAPSHOT_EVENTS
from store import Reader, open_store
from tests.bench.histories import rows_of, succeed
from tests.bench.measure import Series
from tests.bench.report import Row
from tests.world import agent, team_world

AGENTS, PAGE = 1_000, 500
COLUMNS = 110


def rows(quick: bool) -> Iterator[Row]:
    """Measure teams with a thousand and ten thousand open tasks."""
    for tasks in (1_000, 10_000):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "team.db"
            anyio.run(write, path, 40_000 if quick else 300_000, tasks)
            what = f"1,000 agents, {tasks:,} open tasks"
            yield from _moments(path, what, 10 if quick else 60)
            yield _bar(path, what, 3 if quick else 15)


async def write(path: Path, events: int, tasks: int) -> None:
    """Write a journal of so many events or a few more, with the snapshots that an engine takes."""
    crew = [agent(f"a{number}", "parse") for number in range(AGENTS)]
    world = team_world(*crew, max_parallel=AGENTS, max_agents=AGENTS, participants=["a0"])
    async with open_store(path, durability="normal") as store:
        saved = 0

        async def flush() -> None:
            nonlocal saved
            done = store.journal.last_seq
            for first in range(0, len(world.journal), PAGE):
                await store.journal.append(done + first + 1, rows_of(world.journal[first : first + PAGE]))
            world.journal.clear()
            if world.state.seq - saved >= SNAPSHOT_EVENTS:
                saved = world.state.seq
                await store.snapshots.save(saved, encode_state(world.state))

        while world.state.seq < events:
            world.order(Submit(request="look at all of it"))
            lead = next(iter(world.started))
            world.ask(lead, "parse", [f"item {number}" for number in range(tasks)])
            while keys := [key for key in world.started if key != lead]:
                for key in keys:
                    world.now_ms += 3
                    succeed(world, key)
                    if len(world.journal) >= PAGE:
                        await flush()
            succeed(world, lead)
            world.starts.clear()
        await flush()


def _moments(path: Path, what: str, rounds: int) -> Iterator[Row]:
    news, draw = threading.Event(), random.Random(7)
    past = Past(path, ready=news.set)
    past.start()
    with Reader(path) as reader:
        last = reader.last_seq()

    def anywhere() -> Series:
        return _took(past, news, [partial(past.to_seq, draw.randint(1, last)) for _ in range(rounds)])

    def steps(by: int) -> Series:
        return _took(past, news, [partial(past.by_events, by)] * rounds)

    yield Row(what=f"a past moment anywhere; {what}", took=anywhere(), budget=170.0, at_p95=True)
    yield Row(what=f"the event before it; {what}", took=steps(-1), budget=100.0, at_p95=True)
    yield Row(what=f"the event after it; {what}", took=steps(1), budget=20.0, at_p95=True)
    past.stop()


def _took(past: Past, news: threading.Event, asks: list[Callable[[], None]]) -> Series:
    took = Series()
    for ask in asks:
        began_s, cpu_s = time.perf_counter(), time.process_time()
        ask()
        while past.busy:
            news.wait(1.0)
            news.clear()
            past.advance()
        took.add(time.perf_counter() - began_s, time.process_time() - cpu_s)
    return took


def _bar(path: Path, what: str, rounds: int) -> Row:
    took, found = Series(), Summaries()
    with Reader(path) as reader:
        found.read(reader, columns=COLUMNS)
        for _ in range(rounds):
            began_s, cpu_s = time.perf_counter(), time.process_time()
            found.read(reader, columns=COLUMNS)
            time_bar(found.spans(), width=COLUMNS)
            took.add(time.perf_counter() - began_s, time.process_time() - cpu_s)
    return Row(what=f"the time bar, read on and drawn; {what}", took=took, budget=10.0)
