"""Reads a store from any process, with or without an engine; never writes.

Calls block, so they belong in a thread. Pages are bounded and fetched whole: an open cursor would keep SQLite from
truncating the write-ahead log.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Iterable
from itertools import starmap
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from store.errors import NoSuchSeq, StoreError
from store.journals import statements
from store.journals.blocks import find_ranges, read_blocks, read_spans
from store.journals.chain import LINKED_PAGE, read_linked_page
from store.journals.compression import decompress
from store.journals.records import BlockSummary, EngineInfo, EventSpan, Record, SnapshotInfo, StandbyInfo
from store.layout.connection import SQLITE_ERRORS, to_store_error, translate_errors
from store.layout.file_check import open_checked
from store.layout.files import Files
from store.layout.filesystem import has_no_room
from store.layout.migrations import DATABASE, LIVE
from store.layout.sidecar_files import read_about
from store.leadership.lease import monotonic_ms
from store.leadership.lock import is_held
from store.leadership.process import Process, boot_id
from store.leadership.standbys import standbys_beside
from store.wall_clock import wall_ms


class Reader:
    """An open file, for one thread at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the database at `path`.

        Raises:
            MissingFile, MissingFolder, NoPermission, ReadOnlyFolder: If it cannot be reached.
            NotOurFile, NewerFile, CorruptFile: If the file is not a usable database.
        """
        self._files = Files.of(path)
        self._live: sqlite3.Connection | None = None
        self._live_file: tuple[int, int] | None = None
        self._open()
        with translate_errors(self.path):
            self.file_id = str(read_about(self._connection)["file_id"])

    def _open(self) -> None:
        self._last_fingerprint = self._fingerprint()
        self._connection, self._immutable = open_checked(self.path, DATABASE)
        self._version = self._data_version()

    @property
    def path(self) -> Path:
        """The database, through links."""
        return self._files.database

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()
        self._close_live()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def last_seq(self) -> int:
        """Seq of the newest record, 0 when there is none."""
        return int(self._value("SELECT ifnull(max(seq), 0) FROM journal"))

    def newest_ms(self) -> int:
        """Time of the newest record, in UTC milliseconds of the engine that wrote it; 0 when there is none."""
        rows = self._rows("SELECT at_ms FROM journal ORDER BY seq DESC LIMIT 1")
        return int(rows[0][0]) if rows else 0

    def first_seq(self) -> int:
        """Seq of the oldest record, 0 if there is none."""
        return int(self._value("SELECT ifnull(min(seq), 0) FROM journal"))

    def records(self, after_seq: int, limit: int = 500, **conditions: Unpack[statements.Conditions]) -> list[Record]:
        """Records after `after_seq` that meet every condition given, oldest first, at most `limit` of them."""
        return self._page(after_seq + 1, statements.NEWEST_SEQ, limit, conditions)

    def linked_records(self, after_seq: int, limit: int = 500) -> list[Record]:
        """Records after `after_seq`, oldest first, each checked against the hash of the one before it.

        Raises:
            CorruptFile: If one was altered, or is missing.
        """
        rows = self._rows(LINKED_PAGE, {"after": after_seq, "limit": limit})
        return read_linked_page(rows, self.path, after_seq=after_seq)

    def outlines(
        self, after_seq: int, limit: int, *, kinds: Collection[str], bodies_of: Collection[str] = ()
    ) -> list[Record]:
        """Records after `after_seq` of some kinds, oldest first, without bodies but for those of a few kinds.

        Takes a third of the time of `records`; for charts of a whole history.
        """
        parameters = {"kinds": json.dumps(list(kinds)), "bodied": json.dumps(list(bodies_of))}
        rows = list[Any]()
        with translate_errors(self.path):
            ranges = find_ranges(self._connection, kinds, after_seq + 1, statements.NEWEST_SEQ)
        for first, last in ranges:
            rows += self._rows(
                statements.OUTLINES, {**parameters, "low": first, "high": last, "limit": limit - len(rows)}
            )
            if len(rows) >= limit:
                break
        return list(starmap(Record, rows))

    def records_before(
        self, seq: int, limit: int = 500, *, after_seq: int = 0, **conditions: Unpack[statements.Conditions]
    ) -> list[Record]:
        """The `limit` records nearest before `seq`, and after `after_seq`, that meet every condition; newest last."""
        return self._page(after_seq + 1, seq - 1, limit, conditions, newest_first=True)[::-1]

    def blocks(self, first: int = 0) -> list[BlockSummary]:
        """Return the summary of each block from `first` to the newest event.

        Empty blocks, before the oldest event, are left out. 5 ms for a million events.
        """
        with translate_errors(self.path):
            return read_blocks(self._connection, first)

    def spans(self, first_seq: int, last_seq: int, *, step_ms: int) -> list[EventSpan]:
        """Return the counts between two events, inclusive, in time steps of `step_ms`."""
        with translate_errors(self.path):
            return read_spans(self._connection, first_seq, last_seq, step_ms=step_ms)

    def record(self, seq: int) -> Record:
        """One record.

        Raises:
            NoSuchSeq: If the journal does not have it.
        """
        rows = self._rows(f"SELECT {statements.RECORD_COLUMNS} FROM journal WHERE seq = ?", (seq,))
        if not rows:
            raise NoSuchSeq(seq)
        return Record(*rows[0])

    def seq_at(self, at_ms: int) -> int:
        """Seq of the newest record at or before `at_ms`, UTC milliseconds; if there is none, the seq before the oldest.

        Times never decrease in a journal, so this is a binary search: some twenty reads for a million records.
        """
        low, high = max(0, self.first_seq() - 1), self.last_seq()
        while low < high:
            middle = (low + high + 1) // 2
            if self.record(middle).at_ms <= at_ms:
                low = middle
            else:
                high = middle - 1
        return low

    def hash_of(self, seq: int) -> bytes | None:
        """The chained hash of a record; None if the journal does not contain it."""
        rows = self._rows("SELECT hash FROM journal WHERE seq = ?", (seq,))
        return bytes(rows[0][0]) if rows else None

    def bodies(self, seqs: Iterable[int]) -> dict[int, bytes]:
        """Bodies of records by seq, without those that the journal does not contain."""
        return dict(
            self._rows(
                "SELECT seq, CAST(body AS BLOB) FROM journal WHERE seq IN (SELECT value FROM json_each(?))",
                (json.dumps(list(seqs)),),
            )
        )

    def snapshot(self, at_seq: int | None = None, *, after_seq: int = -1) -> tuple[int, bytes] | None:
        """The newest snapshot (at or before `at_seq`) that can be unpacked: its seq and the state, or None.

        Args:
            at_seq: The newest record that it may include; None for the newest snapshot.
            after_seq: Ignore snapshots up to this record, for a caller that has a state as recent.
        """
        bound = statements.NEWEST_SEQ if at_seq is None else at_seq
        while rows := self._rows(statements.SNAPSHOT_BETWEEN, (after_seq, bound)):
            seq, compressed = rows[0]
            if (body := decompress(compressed)) is not None:
                return seq, body
            bound = seq - 1
        return None

    def snapshots(self) -> list[SnapshotInfo]:
        """All snapshots, newest first."""
        return [SnapshotInfo(*row) for row in self._rows(statements.SNAPSHOTS)]

    def has_changed(self) -> bool:
        """Return whether the database was written since the last call, or since it was opened."""
        if self._immutable:
            return self._reopen_if_changed()
        previous_version, self._version = self._version, self._data_version()
        return self._version != previous_version

    def engine(self) -> EngineInfo | None:
        """The present or last holder of the lease; None if there never was one."""
        lease = self._rows("SELECT token, pid, started, boot_id, host, since_ms, ended_ms FROM lease")
        if not lease or lease[0][1] is None:
            return None
        token, pid, started, boot, host, since_ms, ended_ms = lease[0]
        heartbeat_age_ms, loop_age_ms, heard_ms = self._heartbeat(token)
        is_alive = is_held(self._files.lock)
        if is_alive is None:
            is_alive = ended_ms is None and Process(pid, started, boot, host).is_running_here()
        return EngineInfo(
            pid=pid,
            alive=is_alive,
            since_ms=since_ms,
            token=token,
            heartbeat_age_ms=heartbeat_age_ms,
            loop_age_ms=loop_age_ms,
            host=host,
            ended_ms=ended_ms,
            started=started,
            boot_id=boot,
            heard_ms=heard_ms,
            ahead_ms=0 if heartbeat_age_ms is None or heard_ms is None else heard_ms + heartbeat_age_ms - wall_ms(),
            no_room=is_alive and has_no_room(self._files.database),
        )

    def standbys(self) -> list[StandbyInfo]:
        """Standby engines, those that wait longest first."""
        return standbys_beside(self._files)

    def live(self) -> dict[str, str]:
        """Live texts by key, without recent outputs; after a kill, the last ones."""
        return dict(self._live_rows("SELECT key, text FROM texts WHERE key < 'tape:' OR key >= 'tape;'"))

    def recent_outputs(self) -> dict[str, str]:
        """The recent output of each task, under keys with the prefix `tape:`, in one consistent read."""
        return dict(self._live_rows("SELECT key, text FROM texts WHERE key >= 'tape:' AND key < 'tape;'"))

    def size_bytes(self) -> int:
        """Size of the database with its write-ahead log."""
        return sum(path.stat().st_size for path in (self.path, self._files.wal) if path.exists())

    def _page(
        self, low: int, high: int, limit: int, conditions: statements.Conditions, *, newest_first: bool = False
    ) -> list[Record]:
        """Records between two seqs, inclusive; blocks without any of the kinds are skipped."""
        condition, parameters = statements.build_condition(conditions)
        order = "seq DESC" if newest_first else "seq"
        query = f"SELECT {statements.RECORD_COLUMNS} FROM journal WHERE seq BETWEEN :low AND :high{condition}"
        ranges = [(low, high)]
        rows = list[Any]()
        kinds = conditions.get("kinds")
        if kinds is not None and conditions.get("run_id") is None:
            with translate_errors(self.path):
                ranges = find_ranges(self._connection, kinds, low, high)
        for first, last in reversed(ranges) if newest_first else ranges:
            bounds = {"low": first, "high": last, "limit": limit - len(rows)}
            rows += self._rows(f"{query} ORDER BY {order} LIMIT :limit", {**bounds, **parameters})
            if len(rows) == limit:
                break
        return list(starmap(Record, rows))

    def _rows(self, sql: str, parameters: Any = ()) -> list[Any]:
        try:  # not `translate_errors`, which took a quarter of the time of a poll
            return self._connection.execute(sql, parameters).fetchall()
        except SQLITE_ERRORS as error:
            raise to_store_error(error, self.path) from error

    def _value(self, sql: str) -> Any:
        return self._rows(sql)[0][0]

    def _data_version(self) -> int:
        return int(self._value("PRAGMA data_version"))

    def _reopen_if_changed(self) -> bool:
        """Reopen an immutable connection, which does not see changes itself, once size or time of the file differ."""
        if self._fingerprint() == self._last_fingerprint:
            return False
        self._connection.close()
        self._open()
        return True

    def _fingerprint(self) -> tuple[int, int, bool] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns, self._files.wal.exists()

    def _heartbeat(self, token: int) -> tuple[int | None, int | None, int | None]:
        """Ages of the heartbeat and of the loop's last tick (None if from another boot), and the engine's time then."""
        rows = self._live_rows("SELECT token, boot_id, beat_ms, loop_ms, at_ms FROM heartbeat")
        if not rows or rows[0][0] != token:
            return None, None, None
        now_ms, (_, boot, beat_ms, loop_ms, at_ms) = monotonic_ms(), rows[0]
        if boot != boot_id():
            return None, None, at_ms
        return max(0, now_ms - beat_ms), None if loop_ms is None else max(0, now_ms - loop_ms), at_ms

    def _live_rows(self, sql: str) -> list[Any]:
        """Rows of the live file; none if it is missing, foreign or damaged, because then no engine writes it."""
        try:
            return self._live_connection().execute(sql).fetchall()
        except (*SQLITE_ERRORS, StoreError, OSError):
            self._close_live()
            return []

    def _live_connection(self) -> sqlite3.Connection:
        status = self._files.live.stat()
        if self._live is None or self._live_file != (status.st_dev, status.st_ino):
            self._close_live()
            self._live, _ = open_checked(self._files.live, LIVE)
            self._live_file = (status.st_dev, status.st_ino)
        return self._live

    def _close_live(self) -> None:
        if self._live is not None:
            self._live.close()
            self._live = None
