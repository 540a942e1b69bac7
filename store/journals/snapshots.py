"""Snapshots: folded states for a faster start; never needed for correctness.

The last three are kept, and older ones at intervals of at most 5,000 events: a past state is folded from the nearest
snapshot before it, which takes 10 to 20 µs an event.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from store.errors import Deposed
from store.journals.compression import compress, decompress
from store.journals.statements import NEWEST_SEQ, SNAPSHOT_AT_OR_BEFORE
from store.layout.connection import translate_errors

if TYPE_CHECKING:
    import aiosqlite

RECENT_SNAPSHOTS = 3
MAX_GAP_EVENTS = 5_000
"""An older snapshot is dropped if its neighbours are no farther apart than this."""

_SAVE = """
INSERT OR REPLACE INTO snapshots (seq, body)
SELECT :seq, :body WHERE (SELECT token FROM lease) = :token AND :seq <= (SELECT ifnull(max(seq), 0) FROM journal)
"""
_THIN_OUT = f"""
WITH newest AS (SELECT seq, row_number() OVER (ORDER BY seq DESC) AS place FROM
                (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT {RECENT_SNAPSHOTS + 2}))
DELETE FROM snapshots
 WHERE seq = (SELECT seq FROM newest WHERE place = {RECENT_SNAPSHOTS + 1})
   AND (SELECT seq FROM newest WHERE place = {RECENT_SNAPSHOTS})
       - ifnull((SELECT seq FROM newest WHERE place = {RECENT_SNAPSHOTS + 2}), 0) <= {MAX_GAP_EVENTS}
   AND (SELECT token FROM lease) = ?
"""
"""Considers only the snapshot that has just left the last three: each older one was considered when it did."""


class Snapshots:
    """Save and find snapshots; made by `open_store`."""

    def __init__(
        self, writer: "aiosqlite.Connection", reader: "aiosqlite.Connection", *, path: Path | None, token: int
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._path = path
        self._token = token

    async def save(self, seq: int, body: bytes) -> None:
        """Store the state as it was after record `seq`.

        Args:
            seq: A record that is in the journal.
            body: The encoded state; compressed here, off the loop.

        Raises:
            ValueError: If the journal does not reach `seq`.
            Deposed: If another engine has raised the token.
            DiskFull: If there is no room.
        """
        compressed = await anyio.to_thread.run_sync(compress, body)
        with anyio.CancelScope(shield=True), translate_errors(self._path):
            await self._writer.execute_fetchall(_SAVE, {"seq": seq, "body": compressed, "token": self._token})
            await self._writer.execute_fetchall(_THIN_OUT, (self._token,))
            ((token, is_saved),) = await self._writer.execute_fetchall(
                "SELECT (SELECT token FROM lease), EXISTS (SELECT 1 FROM snapshots WHERE seq = ?)", (seq,)
            )
        if token != self._token:
            raise Deposed(self._token, token)
        if not is_saved:
            raise ValueError(f"cannot save a snapshot at {seq}: the journal does not reach it")

    async def latest(self, at_seq: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot, or the newest at or before a record.

        A snapshot that cannot be decompressed is skipped: with an older one the start only takes longer.

        Returns:
            Its seq and the encoded state, or None.
        """
        bound = NEWEST_SEQ if at_seq is None else at_seq
        while True:
            with translate_errors(self._path):
                rows = list(await self._reader.execute_fetchall(SNAPSHOT_AT_OR_BEFORE, (bound,)))
            if not rows:
                return None
            body = await anyio.to_thread.run_sync(decompress, rows[0][1])
            if body is not None:
                return rows[0][0], body
            bound = rows[0][0] - 1
