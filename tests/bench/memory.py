"""Shared memory at ten thousand insights: searches by tags and by words, the index itself, and opening the team."""

import random
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import anyio

from engine.core.encoding.codec import encode_state
from engine.core.events import Event, InsightsForgotten, Remembered
from engine.core.fold import fold
from engine.core.records.records import JsonValue
from engine.core.records.values import StoredValue, TextRef
from engine.core.specs.memory import InsightQuery
from engine.core.state import State
from engine.memory import InsightIndex
from engine.reading.folding import fold_file
from tests.bench.databases import written
from tests.bench.measure import Series, interleaved, interleaved_async, settle
from tests.bench.report import Row
from tests.world import agent, team_world

INSIGHTS = 10_000
_DRAWS = random.Random(3)
_TAGS = tuple(f"tag{number}" for number in range(100))
_WORDS = tuple(f"word{number}" for number in range(8_000))
_RARITY = [1 / (3 + place) for place in range(len(_WORDS))]


class Pool:
    """A team with many insights, and their texts beside it."""

    def __init__(self) -> None:
        self.world = team_world(agent("ada"))
        self.state: State = self.world.state
        self.texts: dict[int, str] = {}
        for number in range(INSIGHTS):
            self.write(number)

    def write(self, number: int) -> None:
        event = Remembered(
            supervisor_id=self.state.roots[0].id,
            author="ada",
            insight_id=f"m{self.state.minted.get('m', 0) + 1}",
            text=" ".join(_drawn(40)),
            tags=_DRAWS.sample(_TAGS, 3),
            segment=f"segment{number % 5}",
            importance=round(_DRAWS.random(), 2),
            at_ms=self.world.now_ms,
        )
        self.fold(event)
        self.texts[self.state.seq] = event.text

    def fold(self, event: Event) -> None:
        fold(self.state, [event])
        self.world.journal.append(event)

    async def read_text(self, value: StoredValue) -> JsonValue:
        return self.texts[value.seq] if isinstance(value, TextRef) else value

    def search(self, index: InsightIndex, query: InsightQuery) -> Callable[[], Awaitable[object]]:
        """Return a search by an agent of the team."""
        root_id, agent_id, now_ms = self.state.roots[0].id, next(iter(self.state.agents)), self.world.now_ms

        async def search() -> object:
            return await index.search(self.state, query, root_id=root_id, agent_id=agent_id, now_ms=now_ms)

        return search


def _drawn(count: int) -> Sequence[str]:
    """Draw words as often as they are in a language."""
    return _DRAWS.choices(_WORDS, _RARITY, k=count)


def rows(quick: bool) -> Iterator[Row]:
    """Measure searches of an index that has everything, what follows a change, and what is slow the first time."""
    pool = Pool()
    index = InsightIndex(pool.read_text)
    yield from anyio.run(_first, pool, index)
    rounds = 100 if quick else 400
    yield anyio.run(_by_tags, pool, index, rounds)
    yield anyio.run(_by_text, pool, index, rounds)
    yield from anyio.run(_after_changes, pool, index, rounds // 4)
    yield _opening(pool, 5 if quick else 15)


async def _first(pool: Pool, index: InsightIndex) -> list[Row]:
    """Measure the first search by words, which reads every text, and how long others wait for it at most."""
    took, stands = Series(), Series()
    settle()
    async with anyio.create_task_group() as group:

        async def tick() -> None:
            while True:
                began_s, cpu_s = time.perf_counter(), time.process_time()
                await anyio.lowlevel.checkpoint()
                stands.add(time.perf_counter() - began_s, time.process_time() - cpu_s)

        group.start_soon(tick)
        await anyio.lowlevel.checkpoint()
        with took.timing():
            await pool.search(index, InsightQuery(text="word7"))()
        group.cancel_scope.cancel()
    longest = Series([max(stands.wall_s)], [max(stands.cpu_s)])
    what = f"the first search by words among {INSIGHTS:,} insights"
    return [
        Row(what=what, took=took, unit="s", budget=3.0, computes=True),
        Row(what=f"the longest that others wait for {what}", took=longest, budget=100.0, computes=True),
    ]


async def _by_tags(pool: Pool, index: InsightIndex, rounds: int) -> Row:
    by_tag = {tag: {each.id for each in pool.state.insights.values() if tag in each.tags} for tag in _TAGS}
    tags = iter([_DRAWS.sample(_TAGS, 3) for _ in range(2 * (rounds + 1))])

    async def search() -> None:
        first, second, third = next(tags)
        await pool.search(index, InsightQuery(any_of=[first, second], all_of=[third]))()

    async def bare() -> None:
        first, second, third = next(tags)
        sorted((by_tag[first] | by_tag[second]) & by_tag[third])

    took, floor = await interleaved_async(search, bare, rounds)
    return Row(
        what=f"search {INSIGHTS:,} insights by tags, any of two and all of one",
        took=took,
        floor=floor,
        floor_is="the same sets, put together and sorted",
        budget=0.3,
        computes=True,
    )


async def _by_text(pool: Pool, index: InsightIndex, rounds: int) -> Row:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE texts USING fts5 (words, tokenize='ascii')")
    database.executemany("INSERT INTO texts (rowid, words) VALUES (?, ?)", pool.texts.items())
    texts = iter([_drawn(4) for _ in range(2 * (rounds + 1))])

    async def search() -> None:
        await pool.search(index, InsightQuery(text=" ".join(next(texts))))()

    async def bare() -> None:
        sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10"
        database.execute(sql, (" OR ".join(next(texts)),)).fetchall()

    took, floor = await interleaved_async(search, bare, rounds)
    database.close()
    return Row(
        what=f"search {INSIGHTS:,} insights by four words",
        took=took,
        floor=floor,
        floor_is="ask FTS5 for the ten best with one of them",
        budget=3.0,
        computes=True,
    )


async def _after_changes(pool: Pool, index: InsightIndex, rounds: int) -> list[Row]:
    found = []
    search = pool.search(index, InsightQuery(any_of=[_TAGS[0]], text="word900"))

    def write() -> None:
        pool.write(0)

    def forget() -> None:
        pool.fold(InsightsForgotten(ids=[next(iter(pool.state.insights))], why="room", at_ms=pool.world.now_ms))

    for verb, change in (("written", write), ("forgotten", forget)):
        took = Series()
        settle()
        for _ in range(rounds):
            change()
            with took.timing():
                await search()
        found.append(Row(what=f"search after one of {INSIGHTS:,} was {verb}", took=took, budget=10.0, computes=True))
    return found


def _opening(pool: Pool, rounds: int) -> Row:
    bare = team_world(agent("ada"))
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            written(Path(folder) / f"{len(world.journal)}.db", world.journal, snapshot=encode_state(world.state))
            for world in (pool.world, bare)
        ]
        took, floor = interleaved(lambda: fold_file(paths[0]), lambda: fold_file(paths[1]), rounds)
    return Row(
        what=f"open a team with {INSIGHTS:,} insights",
        took=took,
        floor=floor,
        floor_is="open the same without",
        floors=1.0,
        budget=60.0,
        computes=True,
    )
