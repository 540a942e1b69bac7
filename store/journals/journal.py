"""The engine's side of the journal, an append-only record.

A batch is one statement, hence atomic. The token and the end of the journal are checked inside that statement, so that
a deposed engine cannot write between the check and the insert.
See docs/reference/files.md.
"""

import json
import sqlite3
from collections.abc import Callable, Sequence
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from store.errors import Deposed, NoSuchSeq, SeqTaken
from store.journals.chain import LINKED_PAGE, read_linked_page
from store.journals.records import Record, Row, record_hash
from store.journals.statements import RECORD_COLUMNS
from store.layout.connection import translate_errors

if TYPE_CHECKING:
    import aiosqlite

_APPEND = """
INSERT INTO journal (seq, at_ms, kind, run_id, task_id, agent_id, body, hash)
SELECT :first + key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
       json_extract(value, '$[3]'), json_extract(value, '$[4]'),
       CAST(substr(:bodies, json_extract(value, '$[5]'), json_extract(value, '$[6]')) AS TEXT),
       substr(:hashes, 1 + 16 * key, 16)
  FROM json_each(:heads)
 WHERE (SELECT token FROM lease) = :token
   AND (SELECT ifnull(max(seq), (SELECT value FROM about WHERE key = 'anchor_seq')) FROM journal) = :first - 1
"""

_MAX_BATCH_ROWS = 2_000
_END = """
SELECT ifnull(max(seq), (SELECT value FROM about WHERE key = 'anchor_seq')),
       ifnull((SELECT hash FROM journal ORDER BY seq DESC LIMIT 1),
              (SELECT value FROM about WHERE key = 'anchor_hash')),
       (SELECT token FROM lease)
  FROM journal
"""


def append_records(connection: sqlite3.Connection, rows: Sequence[Row], anchor: bytes, *, token: int) -> None:
    """Append the first records of a file that is not visible to other processes yet.

    Args:
        rows: The rows, in order.
        anchor: Start of the hash chain.
        token: Token of the file's lease.
    """
    for start in range(0, len(rows), _MAX_BATCH_ROWS):
        batch, anchor = _encode_batch(start + 1, rows[start : start + _MAX_BATCH_ROWS], anchor)
        connection.execute(_APPEND, {**batch, "token": token})


def read_end(connection: sqlite3.Connection) -> tuple[int, bytes]:
    """Seq and hash of the last record of an open file."""
    seq, last_hash, _ = connection.execute(_END).fetchone()
    return int(seq), bytes(last_hash)


class Journal:
    """Append to the journal and read it; made by `open_store`."""

    def __init__(
        self,
        writer: "aiosqlite.Connection",
        reader: "aiosqlite.Connection",
        *,
        path: Path | None,
        token: int,
        end: tuple[int, bytes],
        on_append: Callable[[int], None] = lambda seq: None,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._path = path
        self._token = token
        self._last_seq, self._last_hash = end
        self._on_append = on_append
        self._is_end_known = True
        self._lock = anyio.Lock(fast_acquire=True)

    @property
    def last_seq(self) -> int:
        """Seq of the last record that was appended, 0 before the first."""
        return self._last_seq

    async def append(self, first_seq: int, rows: Sequence[Row]) -> None:
        """Add a batch at the end of the journal: all of it, or nothing.

        Cancelling the caller does not stop a write that has begun.

        Args:
            first_seq: Seq of the first row; one more than `last_seq`.
            rows: The rows, in order. Bodies are UTF-8 JSON.

        Raises:
            SeqTaken: If the journal does not end at `first_seq - 1`.
            Deposed: If another engine has raised the token.
            DiskFull: If there is no room; the same batch can be tried again.
            ValueError: If a kind or id holds a NUL.
        """
        async with self._lock:
            if not self._is_end_known:
                await self._reload_end()
            if first_seq != self._last_seq + 1:
                raise SeqTaken(first_seq, self._last_seq)
            if rows:
                with anyio.CancelScope(shield=True), translate_errors(self._path):
                    await self._write(first_seq, rows)

    async def _write(self, first_seq: int, rows: Sequence[Row]) -> None:
        batch, last_hash = _encode_batch(first_seq, rows, self._last_hash)
        last_seq = first_seq + len(rows) - 1
        # If the wait is interrupted, the outcome is unknown, and the next append reads the end of the journal first.
        self._is_end_known = False
        # A single statement: each call into SQLite's thread waits for the loop, which is busy deciding.
        cursor = await self._writer.execute(_APPEND, {**batch, "token": self._token})
        if cursor.rowcount != len(rows):
            await self._reload_end()
            raise SeqTaken(first_seq, self._last_seq)
        self._last_seq, self._last_hash = last_seq, last_hash
        self._is_end_known = True
        self._on_append(last_seq)

    async def _reload_end(self) -> None:
        """Read the end of the journal and the token from the file."""
        with translate_errors(self._path):
            ((seq, last_hash, token),) = await self._writer.execute_fetchall(_END)
        if token != self._token:
            raise Deposed(self._token, token)
        self._last_seq, self._last_hash = seq, bytes(last_hash)
        self._is_end_known = True

    async def read(self, after_seq: int, limit: int = 500) -> list[Record]:
        """At most `limit` records after `after_seq`, oldest first; raises CorruptFile if one is missing or altered."""
        with translate_errors(self._path):
            rows = await self._reader.execute_fetchall(LINKED_PAGE, {"after": after_seq, "limit": limit})
        return read_linked_page(rows, self._path, after_seq=after_seq)

    async def records_of_kind(self, kind: str, run_id: str | None = None) -> list[Record]:
        """Records of one kind, of one run or of all, oldest first; without a run the whole journal is scanned."""
        condition, values = ("run_id = ? AND kind = ?", (run_id, kind)) if run_id is not None else ("kind = ?", (kind,))
        with translate_errors(self._path):
            rows = await self._reader.execute_fetchall(
                f"SELECT {RECORD_COLUMNS} FROM journal WHERE {condition} ORDER BY seq", values
            )
        return list(starmap(Record, rows))

    async def records_of_task(self, task_id: str) -> list[Record]:
        """Records about a task, oldest first; the whole journal is scanned."""
        with translate_errors(self._path):
            rows = await self._reader.execute_fetchall(
                f"SELECT {RECORD_COLUMNS} FROM journal WHERE task_id = ? ORDER BY seq", (task_id,)
            )
        return list(starmap(Record, rows))

    async def body(self, seq: int) -> bytes:
        """Body of one record; raises NoSuchSeq if the journal does not have it."""
        with translate_errors(self._path):
            rows = list(
                await self._reader.execute_fetchall("SELECT CAST(body AS BLOB) FROM journal WHERE seq = ?", (seq,))
            )
        if not rows:
            raise NoSuchSeq(seq)
        return bytes(rows[0][0])


def _encode_batch(first_seq: int, rows: Sequence[Row], last_hash: bytes) -> tuple[dict[str, Any], bytes]:
    """Make the parameters of one append.

    Bodies and hashes are passed as two blobs and split by SQLite: no escaping, and bodies stay the same byte for byte.

    Returns:
        The parameters, and the hash of the last row.
    """
    heads = []
    bodies = []
    hashes = []
    offset = 1
    for seq, row in enumerate(rows, first_seq):
        last_hash = record_hash(last_hash, seq, row)
        hashes.append(last_hash)
        bodies.append(row.body)
        heads.append((row.at_ms, row.kind, row.run_id, row.task_id, row.agent_id, offset, len(row.body)))
        offset += len(row.body)
    # `substr` of an empty blob is NULL in SQLite, so the blob must not be empty.
    bodies.append(b"\n")
    parameters = {
        "first": first_seq,
        "heads": json.dumps(heads, ensure_ascii=False),
        "bodies": b"".join(bodies),
        "hashes": b"".join(hashes),
    }
    return parameters, last_hash
