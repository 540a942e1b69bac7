"""Block summaries of the journal: counts by kind and times for every `BLOCK` events.

A trigger writes the summary of a block with its last event (`migrations.py`); the block that is not full is counted on
demand. Readers can count events and skip to rare kinds without scanning the journal.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Collection
from itertools import groupby
from operator import itemgetter

from store.journals.records import BlockSummary, EventSpan, Record
from store.layout.migrations import BLOCK

_FULL_BLOCKS = """
SELECT block, CAST(kind AS TEXT), CAST(count AS INTEGER), CAST(first_ms AS INTEGER), CAST(last_ms AS INTEGER)
  FROM blocks WHERE block >= ? AND block < ? ORDER BY block, kind
"""
_OPEN_BLOCK = """
SELECT :block, CAST(kind AS TEXT), count(*), CAST(min(at_ms) AS INTEGER), CAST(max(at_ms) AS INTEGER)
  FROM journal WHERE seq > :after AND seq <= :last
 GROUP BY kind ORDER BY kind
"""
_BLOCKS_WITH_KINDS = """
SELECT DISTINCT block FROM blocks
 WHERE kind IN (SELECT value FROM json_each(?)) AND block >= ? AND block < ? ORDER BY block
"""
_SPANS = """
SELECT CAST(at_ms AS INTEGER) / :step, CAST(kind AS TEXT), count(*), min(seq), max(seq),
       CAST(min(at_ms) AS INTEGER), CAST(max(at_ms) AS INTEGER) FROM journal
 WHERE seq BETWEEN :first AND :last GROUP BY 1, 2 ORDER BY 1, 2
"""
_BLOCK_COUNTS = "SELECT kind, count FROM blocks WHERE block = ?"
_LAST_SEQ = "SELECT ifnull(max(seq), 0) FROM journal"


def read_blocks(connection: sqlite3.Connection, first: int) -> list[BlockSummary]:
    """Return the summaries of the blocks from `first` up to the newest event."""
    (last_seq,) = connection.execute(_LAST_SEQ).fetchone()
    full = last_seq // BLOCK  # blocks before this one are complete and never change
    rows = connection.execute(_FULL_BLOCKS, (first, full)).fetchall()
    if first <= full:
        rows += connection.execute(_OPEN_BLOCK, {"block": full, "after": full * BLOCK, "last": last_seq}).fetchall()
    return [
        BlockSummary(
            number=number,
            counts={kind: count for _, kind, count, _, _ in block_rows},
            first_ms=min(first_ms for *_, first_ms, _ in block_rows),
            last_ms=max(last_ms for *_, last_ms in block_rows),
        )
        for number, block_rows in ((number, list(group)) for number, group in groupby(rows, itemgetter(0)))
    ]


def read_spans(connection: sqlite3.Connection, first_seq: int, last_seq: int, *, step_ms: int) -> list[EventSpan]:
    """Return the counts between two events, inclusive, in time steps of `step_ms`; 1 ms of work for each block."""
    rows = connection.execute(_SPANS, {"first": first_seq, "last": last_seq, "step": max(1, step_ms)}).fetchall()
    return [
        EventSpan(
            first_seq=min(row[3] for row in step_rows),
            last_seq=max(row[4] for row in step_rows),
            first_ms=min(row[5] for row in step_rows),
            last_ms=max(row[6] for row in step_rows),
            counts={row[1]: row[2] for row in step_rows},
        )
        for step_rows in (list(group) for _, group in groupby(rows, itemgetter(0)))
    ]


def find_ranges(connection: sqlite3.Connection, kinds: Collection[str], low: int, high: int) -> list[tuple[int, int]]:
    """Return the ranges of seqs, inclusive and in order, that may contain events of some kinds."""
    (last_seq,) = connection.execute(_LAST_SEQ).fetchone()
    full, high = last_seq // BLOCK, min(high, last_seq)
    parameters = (json.dumps(list(kinds)), max(0, low - 1) // BLOCK, min(full, (high - 1) // BLOCK + 1))
    ranges: list[tuple[int, int]] = []
    for number in [*(block for (block,) in connection.execute(_BLOCKS_WITH_KINDS, parameters).fetchall()), full]:
        first, last = max(low, number * BLOCK + 1), min(high, (number + 1) * BLOCK)
        if ranges and ranges[-1][1] == first - 1:
            first = ranges.pop()[0]
        if first <= last:
            ranges.append((first, last))
    return ranges


class Recount:
    """Counts the events of a whole journal again, and compares with the stored summaries."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._counts: Counter[str] = Counter()

    def differs(self, record: Record) -> bool:
        """Count a record; True if it completes a block whose stored summary differs."""
        self._counts[record.kind] += 1
        if record.seq % BLOCK:
            return False
        stored_counts = dict(self._connection.execute(_BLOCK_COUNTS, (record.seq // BLOCK - 1,)).fetchall())
        counts, self._counts = dict(self._counts), Counter()
        return stored_counts != counts
