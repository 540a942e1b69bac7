"""Reads pages of the journal with their hashes, so that an altered or missing row is detected when it is read.

All folded records are read this way. Rows before a snapshot are not read; only `verify` checks them. A hash costs 1 to
2 µs a row, a tenth of folding it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from store.errors import CorruptFile
from store.journals.records import Record, record_hash
from store.journals.statements import RECORD_COLUMNS

LINKED_PAGE = f"""
SELECT value, 0, '', x'', NULL, NULL, NULL, (SELECT value FROM about WHERE key = 'anchor_hash')
  FROM about WHERE key = 'anchor_seq' AND value = :after
UNION ALL
SELECT * FROM (SELECT {RECORD_COLUMNS}, hash FROM journal WHERE seq >= :after ORDER BY seq
                LIMIT :limit + EXISTS (SELECT 1 FROM journal WHERE seq = :after))
"""
"""Records after a seq, each with its hash, preceded by the record at that seq or by the start of the chain."""


def find_fault(previous_hash: bytes, last_seq: int, record: Record, stored_hash: object) -> tuple[int, str] | None:
    """Return the seq and fault of a record that does not follow the last one, by their hashes; None if it does."""
    if record.seq != last_seq + 1:
        return last_seq + 1, f"missing: the next record is {record.seq}"
    try:
        if record_hash(previous_hash, record.seq, record) == stored_hash:
            return None
    except (TypeError, ValueError):  # a field of another type, or with a NUL
        pass
    return record.seq, "altered: its hash does not fit"


def read_linked_page(rows: Iterable[Any], path: Path | None, *, after_seq: int) -> list[Record]:
    """Return the records in the rows of `LINKED_PAGE`; raises CorruptFile if one was altered, or is missing."""
    records: list[Record] = []
    last_seq, previous_hash = after_seq, None
    for seq, at_ms, kind, body, run_id, task_id, agent_id, stored_hash in rows:
        if previous_hash is None and seq == after_seq:
            previous_hash = stored_hash
            continue
        record = Record(seq, at_ms, kind, body, run_id, task_id, agent_id)
        fault = (
            (after_seq, "missing")
            if previous_hash is None
            else find_fault(previous_hash, last_seq, record, stored_hash)
        )
        if fault is not None:
            raise CorruptFile(path or Path(":memory:"), f"event {fault[0]} is {fault[1]}")
        records.append(record)
        last_seq, previous_hash = seq, stored_hash
    return records
