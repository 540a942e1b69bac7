"""The index of insights: it gives what a plain scan of the state gives, whatever happened before."""

import math
from copy import deepcopy

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.discovery.words import stems
from engine.core.events import Event, InsightsForgotten, PartRecorded, Remembered
from engine.core.fold import fold
from engine.core.fold.memory import note_reads
from engine.core.queries.team.memory import may_read
from engine.core.records.records import JsonValue, field_names
from engine.core.records.values import StoredValue, TextRef
from engine.core.specs.memory import InsightQuery
from engine.core.state import Insight
from engine.memory import Found, InsightIndex
from engine.memory.texts import MAX_MATCHES, MAX_WORDS
from tests.depth import examples
from tests.story import member
from tests.world import LONG, World, agent, team_world

NOW_MS = 1_000_000_000
SOMETHING = PartRecorded(hash="h", value=None)
TAGS = ["sea", "red tide", "ünï", "a:b"]
WORDS = ["tides", "salt", "harbour", "the", "c++", "DON'T", "naïve", 'NEAR("', "\0", "🎉", "*", "AND", "топ", LONG]
texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
tag_lists = st.lists(st.sampled_from(TAGS), max_size=3)
queries = st.builds(
    InsightQuery,
    text=texts,
    any_of=tag_lists,
    all_of=tag_lists,
    segment=st.sampled_from([None, "private", "results", "plans"]),
    min_importance=st.sampled_from([0, 0.5]),
    max_age_s=st.sampled_from([None, 3.0]),
    exclude_own=st.booleans(),
    unused=st.booleans(),
    superseded=st.booleans(),
    limit=st.integers(1, 5),
)


class Pool:
    """A team whose insights come and go as a test says; each event is folded, and texts are read from it."""

    def __init__(self) -> None:
        self.world: World = team_world(agent("ada"), agent("bob"))
        self.state = self.world.state
        self.authors = [member(self.world, "ada").id, member(self.world, "bob").id, None]
        self.root_id = self.state.roots[0].id
        self._events: dict[int, Event] = {}
        self._last_seq = self.state.seq

    async def read_text(self, value: StoredValue) -> JsonValue:
        await anyio.lowlevel.checkpoint()
        return getattr(self._events[value.seq], value.path) if isinstance(value, TextRef) else value

    def write(
        self,
        text: str,
        *,
        tags: list[str] | None = None,
        by: str | None = None,
        segment: str = "results",
        importance: float = 0.5,
        supersedes: str | None = None,
        expires_ms: int | None = None,
    ) -> str:
        insight_id = f"m{self.state.minted.get('m', 0) + 1}"
        event = Remembered(
            agent_id=by,
            supervisor_id=self.root_id,
            insight_id=insight_id,
            text=text,
            tags=tags or [],
            segment=segment,
            importance=importance,
            supersedes=supersedes,
            expires_ms=expires_ms,
            at_ms=NOW_MS - 10_000 + 1_000 * len(self._events),
        )
        self._fold(event)
        return insight_id

    def forget(self, *ids: str) -> None:
        self._fold(InsightsForgotten(ids=list(ids), why="person", at_ms=NOW_MS))

    def read(self, insight_id: str) -> None:
        note_reads(self.state, "a1", [insight_id])
        self._fold(SOMETHING)

    def _fold(self, event: Event) -> None:
        while self.state.seq < self._last_seq:  # no two histories share a seq
            fold(self.state, [SOMETHING])
        fold(self.state, [event])
        self._last_seq = self.state.seq
        self._events[self.state.seq] = event


def plain_scan(pool: Pool, query: InsightQuery, agent_id: str | None) -> Found:
    """Return what a query means, without an index."""
    state, texts = pool.state, {each.id: anyio.run(pool.read_text, each.text) for each in pool.state.insights.values()}

    def fits(insight: Insight) -> bool:
        is_over = insight.superseded_by is not None or (insight.expires_ms is not None and insight.expires_ms <= NOW_MS)
        return (
            (agent_id is None or may_read(state, state.agents[agent_id], insight))
            and (query.superseded or not is_over)
            and (not query.any_of or not set(query.any_of).isdisjoint(insight.tags))
            and set(query.all_of) <= set(insight.tags)
            and query.segment in (None, insight.segment)
            and insight.importance >= query.min_importance
            and (query.max_age_s is None or insight.at_ms >= NOW_MS - query.max_age_s * 1000)
            and not (query.exclude_own and insight.agent_id == agent_id)
            and not (query.unused and insight.reads)
        )

    points = bm25({id: (" ".join(state.insights[id].tags), str(text)) for id, text in texts.items()}, query.text)
    ranks = {
        each.id: (-round(points.get(each.id, 0) * (0.5 + each.importance), 6), -each.importance, -int(each.id[1:]))
        for each in state.insights.values()
        if fits(each) and (each.id in points or not stems(query.text))
    }
    return Found(sorted(ranks, key=lambda id: ranks[id])[: query.limit], len(ranks))


def bm25(documents: dict[str, tuple[str, str]], text: str) -> dict[str, float]:
    """Return the points of documents, each tags and a text, that have one of the telling words of `text`."""
    words = {id: (stems(tags), stems(body)) for id, (tags, body) in documents.items()}
    having = {word: {id for id, both in words.items() if word in both[0] + both[1]} for word in stems(text)}
    telling: list[str] = []
    matches = 0
    for word in sorted((word for word in having if having[word]), key=lambda word: (len(having[word]), word)):
        matches += len(having[word])
        if len(telling) < MAX_WORDS and (not telling or matches <= MAX_MATCHES):
            telling.append(word)
    mean = sum(len(tags) + len(body) for tags, body in words.values()) / max(1, len(words))
    points: dict[str, float] = {}
    for word in telling:
        hits = len(having[word])
        rarity = math.log((len(words) - hits + 0.5) / (hits + 0.5))
        for id in having[word]:
            tags, body = words[id]
            times, length = 3 * tags.count(word) + body.count(word), len(tags) + len(body)
            share = times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / mean))
            points[id] = points.get(id, 0) + share * (rarity if rarity > 0 else 1e-6)
    return points


def search(index: InsightIndex, pool: Pool, query: InsightQuery, agent_id: str | None = None) -> Found:
    async def run() -> Found:
        return await index.search(pool.state, query, root_id=pool.root_id, agent_id=agent_id, now_ms=NOW_MS)

    return anyio.run(run)


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_the_index_gives_what_a_plain_scan_gives_after_any_changes(data: st.DataObject) -> None:
    pool = Pool()
    index = InsightIndex(pool.read_text)
    earlier = deepcopy(pool.state)

    def change() -> None:
        nonlocal earlier
        ids = [*pool.state.insights]
        match data.draw(
            st.sampled_from(["write"] * 4 + ["supersede", "forget", "read", "keep", "go back", "rewind", "copy"])
        ):
            case "supersede" if ids:
                old = pool.state.insights[data.draw(st.sampled_from(ids))]
                if old.superseded_by is None and old.segment != "private":
                    pool.write(data.draw(texts), segment=old.segment, supersedes=old.id)
            case "forget" if ids:
                pool.forget(*data.draw(st.sets(st.sampled_from(ids), min_size=1, max_size=3)))
            case "read" if ids:
                pool.read(data.draw(st.sampled_from(ids)))
            case "keep":
                earlier = deepcopy(pool.state)
            case "go back":
                pool.state, earlier = earlier, pool.state
            case "rewind":
                for name in field_names(earlier):
                    setattr(pool.state, name, getattr(deepcopy(earlier), name))
            case "copy":
                pool.state = deepcopy(pool.state)
            case _:
                by = data.draw(st.sampled_from(pool.authors))
                pool.write(
                    data.draw(texts),
                    tags=data.draw(tag_lists),
                    by=by,
                    segment=data.draw(st.sampled_from(["results", "plans", *(["private"] if by else [])])),
                    importance=data.draw(st.sampled_from([0, 0.5, 0.9])),
                    expires_ms=data.draw(st.sampled_from([None, None, NOW_MS, NOW_MS + 1])),
                )

    for _ in range(data.draw(st.integers(1, 8))):
        for _ in range(data.draw(st.integers(0, 4))):
            change()
        query, agent_id = data.draw(queries), data.draw(st.sampled_from(pool.authors))
        assert search(index, pool, query, agent_id) == plain_scan(pool, query, agent_id)


def test_words_rank_by_rarity_and_importance_and_equals_by_importance_and_age() -> None:
    pool = Pool()
    pool.write("tides at noon", importance=0.2)
    pool.write("tides at dawn", tags=["tides"], importance=0.6)
    pool.write("tides at dusk", importance=0.9)
    pool.write("tides at dusk", importance=0.9)
    for _ in range(6):
        pool.write("the harbour", importance=1)

    found = search(InsightIndex(pool.read_text), pool, InsightQuery(text="When is noon, and when do TIDES turn?"))

    assert found == Found(["m1", "m2", "m4", "m3"], 4)


@pytest.mark.parametrize(
    "text", ['"', "NEAR(salt", "salt AND", "tags:salt", "-salt*", "salt\0", "🎉 salt", "x " * 9_990]
)
def test_no_text_of_a_query_is_syntax(text: str) -> None:
    pool = Pool()
    pool.write("salt")

    assert search(InsightIndex(pool.read_text), pool, InsightQuery(text=text[:10_000])).total == ("x" not in text)


def test_what_comes_and_goes_while_texts_are_read_is_in_the_answer_as_it_is_then() -> None:
    pool = Pool()
    ids = [pool.write(f"{LONG} tides {number}") for number in range(200)]
    index = InsightIndex(pool.read_text)

    async def run() -> list[Found]:
        answers: list[Found] = []

        async def ask(text: str) -> None:
            query = InsightQuery(text=text, limit=100)
            answers.append(await index.search(pool.state, query, root_id=pool.root_id, now_ms=NOW_MS))

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "tides")
            group.start_soon(ask, "tides")
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
            pool.forget(*ids[:150])
            pool.write("tides")
            group.start_soon(ask, "")
        return answers

    first, *others = anyio.run(run)

    assert first.total == 51
    assert [answer.total for answer in others] == [51, 51]
    assert set(first.ids) == pool.state.insights.keys()
