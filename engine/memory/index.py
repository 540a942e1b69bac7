"""Finds insights of a state that it follows by itself: by tags and segments at once, by words once texts are read."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from anyio import Lock
from anyio.lowlevel import checkpoint

from engine.core.discovery.words import stems
from engine.core.entities.memory import Insight
from engine.core.records.records import JsonValue
from engine.core.records.values import StoredValue, as_text
from engine.core.specs.memory import InsightQuery
from engine.core.state import State
from engine.memory.sets import InsightSets, number_of
from engine.memory.texts import InsightTexts

PIECE_INSIGHTS, PIECE_CHARACTERS = 25, 5_000
"""Texts that are indexed at a time; stemming 5,000 characters of unknown words takes 30 ms."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a query found."""

    ids: Sequence[str]
    """The best, best first."""
    total: int
    """How many match."""


class InsightIndex:
    """An index of the insights of one state after another, for one reader.

    Args:
        read_text: Returns a value that the state holds by reference.
    """

    def __init__(self, read_text: Callable[[StoredValue], Awaitable[JsonValue]]) -> None:
        self._read_text = read_text
        self._sets = InsightSets()
        self._texts = InsightTexts()
        self._unread: dict[int, Insight] = {}
        """Insights whose texts are not indexed yet."""
        self._reading = Lock()

    async def search(
        self,
        state: State,
        query: InsightQuery,
        *,
        root_id: str | None,
        agent_id: str | None = None,
        now_ms: int,
        limit: int | None = None,
    ) -> Found:
        """Return what matches: with words the best first, else, and of equals, the most important, then the newest.

        A text without a word, such as an emoji alone, is as an empty one. The state may change meanwhile; the answer
        is that of its end.

        Args:
            state: Where to look; what changed since the last search is brought up to date first.
            query: What to look for.
            root_id: The supervisor at the top of a team, whose insights are searched; None searches all teams.
            agent_id: Only what this agent may read; None reads everything.
            now_ms: The present time, in UTC milliseconds.
            limit: How many at most, in place of the query's own limit.
        """
        words = stems(query.text)
        if words:
            async with self._reading:
                await self._index_texts(state)
        self._follow(state)
        points = self._texts.points(words) if words else None
        matches = self._sets.matching(
            query,
            root_id=root_id,
            agent_id=agent_id,
            now_ms=now_ms,
            having_words=None if points is None else set(points),
        )
        most = query.limit if limit is None else limit
        best = self._sets.best(matches, most) if points is None else self._sets.best_matches(matches, points, most)
        return Found([f"m{number}" for number in best], len(matches))

    def _follow(self, state: State) -> None:
        new, gone = self._sets.follow(state)
        for insight in gone:
            if self._unread.pop(number_of(insight.id), None) is None:
                self._texts.remove(number_of(insight.id))
        self._unread.update((number_of(insight.id), insight) for insight in new)

    async def _index_texts(self, state: State) -> None:
        """Index what is not indexed yet, a piece at a time, and let others run between the pieces."""
        self._follow(state)
        while self._unread:
            await checkpoint()
            piece: dict[int, tuple[Insight, str]] = {}
            characters = 0
            for number, insight in [*islice(self._unread.items(), PIECE_INSIGHTS)]:
                piece[number] = insight, as_text(await self._read_text(insight.text))
                characters += len(piece[number][1])
                if characters > PIECE_CHARACTERS:
                    break
            # Another search may have brought the sets up to date while the texts were read.
            still = {n: each for n, each in piece.items() if self._unread.get(n) is each[0]}
            self._texts.add((number, insight.tags, text) for number, (insight, text) in still.items())
            for number in still:
                del self._unread[number]
            self._follow(state)
