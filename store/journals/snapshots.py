"""Snapshots: folded states for a faster start; never needed for correctness.

The last three are kept, and older ones at intervals of at most 5,000 events: a past state is folded from the nearest
snapshot before it, which takes 10 to 20 µs an event.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from store.errors import Deposed
from store.journals.compression import packed, unpacked
from store.journals.statements import NEWEST_SEQ, SNAPSHOT_AT_OR_BEFORE
from store.layout.connection import translated

if TYPE_CHECKING:
    import aiosqlite

LAST_KEPT = 3
FARTHEST_EVENTS = 5_000
"""An older snapshot is dropped if its neighbours are no farther apart than this."""

_SAVE = """
INSERT OR REPLACE INTO snapshots (seq, body)
SELECT :seq, :body WHERE (SELECT token FROM lease) = :token AND :seq <= (SELECT ifnull(max(seq), 0) FROM journal)
"""
_THIN_OUT = f"""
WITH newest AS (SELECT seq, row_number() OVER (ORDER BY seq DESC) AS place FROM
                (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT {LAST_KEPT + 2}))
DELETE FROM snapshots
 WHERE seq = (SELECT seq FROM newest WHERE place = {LAST_KEPT + 1})
   AND (SELECT seq FROM newest WHERE place = {LAST_KEPT})
       - ifnull((SELECT seq FROM newest WHERE place = {LAST_KEPT + 2}), 0) <= {FARTHEST_EVENTS}
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
        stored = await anyio.to_thread.run_sync(packed, body)
        with anyio.CancelScope(shield=True), translated(self._path):
            await self._writer.execute_fetchall(_SAVE, {"seq": seq, "body": stored, "token": self._token})
            await self._writer.execute_fetchall(_THIN_OUT, (self._token,))
            ((token, saved),) = await self._writer.execute_fetchall(
                "SELECT (SELECT token FROM lease), EXISTS (SELECT 1 FROM snapshots WHERE seq = ?)", (seq,)
            )
        if token != self._token:
            raise Deposed(self._token, token)
        if not saved:
            raise ValueError(f"cannot save a snapshot at {seq}: the journal does not reach it")

    async def latest(self, at_seq: int | None = None) -> tuple[int, bytes] | None:
        """The newest snapshot, or the newest at or before a record.

        A snapshot that cannot be unpacked is passed over: an older one only costs time.

        Returns:
            Its seq and the encoded state, or None.
        """
        bound = NEWEST_SEQ if at_seq is None else at_seq
        while True:
            with translated(self._path):
                found = list(await self._reader.execute_fetchall(SNAPSHOT_AT_OR_BEFORE, (bound,)))
            if not found:
                return None
            body = await anyio.to_thread.run_sync(unpacked, found[0][1])
            if body is not None:
                return found[0][0], body
            bound = found[0][0] - 1
