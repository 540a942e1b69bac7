"""What an engine keeps of insights for its attempts: the index, and who waits for one."""

from collections.abc import Callable

from engine.core.entities.memory import Insight
from engine.core.specs.memory import InsightQuery
from engine.memory import InsightIndex
from engine.runtimes.attempts.pending import Pending


class InsightDesk:
    """The index of an engine's insights, and the attempts that wait for one."""

    def __init__(self, index: InsightIndex) -> None:
        self.index = index
        self._waits: dict[int, tuple[InsightQuery, Pending[None]]] = {}

    def expect(self, query: InsightQuery, pending: Pending[None]) -> Callable[[], object]:
        """Set `pending` once an insight was written that a query may match; returns a function that ends this."""
        self._waits[id(pending)] = query, pending
        return lambda: self._waits.pop(id(pending), None)

    def notice(self, insight: Insight) -> None:
        """Wake those who may have waited for an insight; they search again, which looks at rights and words too."""
        tags = set(insight.tags)
        for query, pending in self._waits.values():
            is_tagged = tags.issuperset(query.all_of) and (not query.any_of or not tags.isdisjoint(query.any_of))
            if is_tagged and query.segment in (None, insight.segment) and insight.importance >= query.min_importance:
                pending.put(None)
