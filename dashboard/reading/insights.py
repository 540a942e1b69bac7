"""Searches the insights of a state for the screen and the command line, and reads their texts; all of it blocks."""

import anyio

from dashboard.views.knowledge.memory import FoundInsights, parse_insight_filter
from engine.core.records.records import JsonValue
from engine.core.records.values import StoredValue, as_text
from engine.core.specs.memory import InsightQuery
from engine.core.state import State
from engine.memory import Found, InsightIndex
from engine.reading.texts import resolve_value
from store import Reader


class InsightSearch:
    """The index of one reader of a team; one thread at a time may use it."""

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self._index = InsightIndex(self._read)

    def search(self, reader: Reader, state: State, query: InsightQuery, *, now_ms: int, limit: int) -> Found:
        """Return the insights of all teams that match, private ones too.

        Args:
            reader: The open file of the team.
            state: What is searched; nothing else changes it meanwhile.
            query: What to look for.
            now_ms: The present time, in UTC milliseconds.
            limit: How many at most.
        """
        self._reader = reader

        async def search() -> Found:
            return await self._index.search(state, query, root_id=None, now_ms=now_ms, limit=limit)

        return anyio.run(search)

    def filtered(self, reader: Reader, state: State, needle: str, now_ms: int) -> FoundInsights:
        """Return the insights that pass a filter of the Memory screen."""
        row_filter = parse_insight_filter(needle)
        found = self.search(reader, state, row_filter.query, now_ms=now_ms, limit=len(state.insights))
        return FoundInsights(needle, [each for each in found.ids if row_filter.fits(state.insights[each])])

    async def _read(self, value: StoredValue) -> JsonValue:
        assert self._reader is not None
        return text_of(self._reader, value)


def text_of(reader: Reader, value: StoredValue) -> str:
    """Return the text of an insight; empty if the journal does not have it any more."""
    try:
        return as_text(resolve_value(value, lambda seq: reader.bodies([seq])[seq]))
    except KeyError:
        return ""


def copy_insights(state: State) -> State:
    """Return the insights of a state that goes on changing, for a thread."""
    return State(seq=state.seq, at_ms=state.at_ms, insights=dict(state.insights), minted=dict(state.minted))
