"""Summaries of one journal for the time bar; those of full blocks are read once.

`read` runs in a thread, with a reader of its own; it replaces the result in one assignment, so that another thread may
call `spans`.
"""

from collections.abc import Iterable

from dashboard.views.event_log import Entry
from dashboard.views.measures.idle_gaps import quiet_gaps
from dashboard.views.measures.time_bar_columns import spans_of
from store import Reader
from store.journals.records import BlockSummary, EventSpan
from store.layout.migrations import BLOCK

MAX_REFINED_BLOCKS = 200
"""Maximum blocks that one `read` splits, the newest first: a tenth of a second."""


class Summaries:
    """The whole history of one file, as spans."""

    def __init__(self) -> None:
        self._blocks: list[EventSpan] = []
        self._fine: dict[int, tuple[int, list[EventSpan]]] = {}
        """By the first event of a block: the step in milliseconds, and the parts."""
        self._spans: list[EventSpan] = []

    def read(self, reader: Reader, *, columns: int) -> None:
        """Read new blocks, and split those that last longer than a column of the bar.

        Args:
            columns: Maximum columns of a bar of the whole history.
        """
        full = [span for span in self._blocks if span.last_seq % BLOCK == 0]
        after = full[-1].last_seq // BLOCK if full else 0
        self._blocks = [*full, *map(_span, reader.blocks(after))]
        if not self._blocks:
            return
        self._refine(reader, columns)
        if any(quiet_gaps(self._spans)):  # without them a column is shorter
            self._refine(reader, columns)

    def _refine(self, reader: Reader, columns: int) -> None:
        idle_ms = sum(gap.duration_ms for gap in quiet_gaps(self._spans))
        column_ms = max(1, (self._blocks[-1].last_ms - self._blocks[0].first_ms - idle_ms) // columns)
        wide = [block for block in reversed(self._blocks) if block.last_ms - block.first_ms > column_ms]
        self._fine = {block.first_seq: self._fine[block.first_seq] for block in wide if block.first_seq in self._fine}
        stale = [block for block in wide if not self._is_fine(block, column_ms)]
        for block in stale[:MAX_REFINED_BLOCKS]:
            self._fine[block.first_seq] = column_ms, reader.spans(block.first_seq, block.last_seq, step_ms=column_ms)
        self._spans = [part for block in self._blocks for part in self._parts(block)]

    def spans(self, recent: Iterable[Entry] = ()) -> list[EventSpan]:
        """Return all spans that were read, then those of newer events of the feed."""
        last_seq = self._spans[-1].last_seq if self._spans else 0
        return [*self._spans, *spans_of(recent, last_seq)]

    def _is_fine(self, block: EventSpan, column_ms: int) -> bool:
        step_ms, parts = self._fine.get(block.first_seq, (0, []))
        return bool(parts) and step_ms <= column_ms and parts[-1].last_seq == block.last_seq

    def _parts(self, block: EventSpan) -> list[EventSpan]:
        _, parts = self._fine.get(block.first_seq, (0, []))
        return parts if parts and parts[-1].last_seq == block.last_seq else [block]


def _span(block: BlockSummary) -> EventSpan:
    first_seq = block.number * BLOCK + 1
    return EventSpan(first_seq, first_seq + sum(block.counts.values()) - 1, block.first_ms, block.last_ms, block.counts)
