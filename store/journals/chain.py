"""Reads pages of the journal with their hashes, so that a changed or missing row is found where it is read.

What is folded is read through this. Rows before a snapshot are not read, and only `verify` looks at them. A hash costs
1 to 2 µs a row, a tenth of folding it.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from store.errors import CorruptFile
from store.journals.records import Record, linked
from store.journals.statements import RECORD_COLUMNS

LINKED_PAGE = f"""
SELECT value, 0, '', x'', NULL, NULL, NULL, (SELECT value FROM about WHERE key = 'anchor_hash')
  FROM about WHERE key = 'anchor_seq' AND value = :after
UNION ALL
SELECT * FROM (SELECT {RECORD_COLUMNS}, hash FROM journal WHERE seq >= :after ORDER BY seq
                LIMIT :limit + EXISTS (SELECT 1 FROM journal WHERE seq = :after))
"""
"""Records after a seq, each with its hash, behind the one that they follow: a record, or the start of the chain."""


def fault_of(previous: bytes, last_seq: int, record: Record, stored: object) -> tuple[int, str] | None:
    """Return which record is wrong and how, where one does not follow the last; None where it does.

    Args:
        previous: Hash of the last record.
        stored: Hash that the file has for `record`.
    """
    if record.seq != last_seq + 1:
        return last_seq + 1, f"missing: the next record is {record.seq}"
    try:
        if linked(previous, record.seq, record) == stored:
            return None
    except (TypeError, ValueError):  # a field of another type, or with a NUL
        pass
    return record.seq, "altered: its hash does not fit"


def linked_records(rows: Iterable[Any], path: Path | None, *, after_seq: int) -> list[Record]:
    """Return the records in the rows of `LINKED_PAGE`.

    Raises:
        CorruptFile: If one was altered, or is missing.
    """
    records: list[Record] = []
    last_seq, previous = after_seq, None
    for seq, at_ms, kind, body, run_id, task_id, agent_id, stored in rows:
        if previous is None and seq == after_seq:
            previous = stored
            continue
        record = Record(seq, at_ms, kind, body, run_id, task_id, agent_id)
        fault = (after_seq, "missing") if previous is None else fault_of(previous, last_seq, record, stored)
        if fault is not None:
            raise CorruptFile(path or Path(":memory:"), f"event {fault[0]} is {fault[1]}")
        records.append(record)
        last_seq, previous = seq, stored
    return records
